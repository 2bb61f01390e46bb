"""All estimators over the same strings: golden values, hand-worked values, properties."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.estimators.bytes4 import Bytes4
from ctxbench.tokens.estimators.chars4 import Chars4
from ctxbench.tokens.estimators.cjk_x3 import CjkX3
from ctxbench.tokens.estimators.script_divisor import ScriptDivisor
from tests.conftest import DATA

GOLDEN = [json.loads(line) for line in (DATA / "token_counts.jsonl").read_text("utf-8").splitlines()]
ESTIMATORS = [Chars4(), Bytes4(), CjkX3(), ScriptDivisor()]

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["id"])
def test_golden_estimates(row: dict[str, object]) -> None:
    text, expected = str(row["text"]), row["estimates"]
    assert isinstance(expected, dict)
    assert Chars4().estimate_text(text) == expected["chars4"]
    assert Bytes4().estimate_text(text) == expected["bytes4"]


@pytest.mark.parametrize(
    ("text", "chars4", "bytes4", "cjk_x3", "script_divisor"),
    [
        ("", 0, 0, 0, 0),
        ("abc", 0, 0, 1, 0),  # 3/4; 3/4; 3/2; 3/4
        ("abcdefgh", 2, 2, 4, 2),
        ("你好吗", 0, 2, 4, 1),  # 3 characters: 3/4; 9 bytes/4; 3*3/2; 3/2
        ("ab你好", 1, 2, 4, 1),  # 4/4; 8/4; (3*2 + 2)/2; 2/2 + 2/4
        ("한글ひらカタ", 1, 4, 9, 3),  # 6 cjk: 6/4; 18/4; 18/2; 6/2
        ("。、ー", 0, 2, 1, 0),  # marks are of no CJK script
        ("🚀", 0, 1, 0, 0),
    ],
)
def test_hand_worked(text: str, chars4: int, bytes4: int, cjk_x3: int, script_divisor: int) -> None:
    assert [one.estimate_text(text) for one in ESTIMATORS] == [chars4, bytes4, cjk_x3, script_divisor]


def test_messages_are_divided_once_and_fixed_parts_are_added() -> None:
    call = Message("assistant", None, tool_calls=(ToolCall("id is not counted", FunctionCall("find", '{"a":1}')),))
    messages = [Message("user", "abc", name="not counted"), call]
    characters = len("user") + len("abc") + len("assistant") + len("find") + len('{"a":1}')
    assert Chars4().estimate(messages) == characters // 4
    # user 4//2 + abc 3//2 + 4; assistant 9//2 + find 4//2 + arguments 7//2 + 4 + 8
    assert CjkX3().estimate(messages) == (2 + 1 + 4) + (4 + 2 + 3 + 4 + 8)


any_text = st.text(st.characters(), max_size=200)  # lone surrogates included


@each_estimator
@given(text=any_text)
def test_never_negative_and_never_raises(estimator: AdditiveEstimator, text: str) -> None:
    assert estimator.estimate_text(text) >= 0
    assert estimator.estimate([Message("user", text)]) >= 0


@each_estimator
@given(text=any_text, more=any_text)
def test_never_falls_when_text_is_appended(estimator: AdditiveEstimator, text: str, more: str) -> None:
    assert estimator.estimate_text(text + more) >= estimator.estimate_text(text)


@each_estimator
@given(st.lists(any_text.map(lambda text: Message("user", text)), max_size=5), st.integers(0, 5))
def test_a_running_sum_is_the_same_as_the_whole(
    estimator: AdditiveEstimator, messages: list[Message], cut: int
) -> None:
    running = estimator.sizes(messages[:cut]) + estimator.sizes(messages[cut:])
    assert estimator.tokens(running) == estimator.estimate(messages)


def test_no_text_is_measured_twice() -> None:
    seen: list[str] = []

    class Spy(Chars4):
        def size_of_text(self, text: str) -> int:
            seen.append(text)
            return super().size_of_text(text)

    spy = Spy()
    for _ in range(3):
        spy.estimate([Message("user", "one"), Message("user", "two")])
    assert sorted(seen) == ["one", "two", "user"]
