"""All estimators over the same strings: golden values, hand-worked values, properties."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.estimators.bytes4 import Bytes4
from ctxbench.tokens.estimators.calibrated import Calibrated
from ctxbench.tokens.estimators.chars4 import Chars4
from ctxbench.tokens.estimators.cjk_x3 import CjkX3
from ctxbench.tokens.estimators.framed import Framed
from ctxbench.tokens.estimators.gemini_cli import GeminiCli
from ctxbench.tokens.estimators.langchain_approx import LangchainApprox
from ctxbench.tokens.estimators.observed import Observed
from ctxbench.tokens.estimators.scaled import Scaled
from ctxbench.tokens.estimators.script_divisor import ScriptDivisor
from ctxbench.tokens.estimators.strands import Strands
from ctxbench.tokens.estimators.tokenx import Tokenx
from ctxbench.tokens.tokenizers import CachedTokenizer
from tests.conftest import DATA

GOLDEN = [json.loads(line) for line in (DATA / "token_counts.jsonl").read_text("utf-8").splitlines()]
WORDS = CachedTokenizer("words", lambda texts: [len(text.split()) for text in texts])
COUNTERS: list[AdditiveEstimator] = [Chars4(), Bytes4(), CjkX3(), ScriptDivisor()]
ESTIMATORS: list[AdditiveEstimator] = [
    *COUNTERS, GeminiCli(), LangchainApprox(), Strands(), Tokenx(), Scaled(WORDS, 1.5), Framed(Chars4()),
    Observed(Bytes4()), Calibrated(),
]  # fmt: skip

each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["id"])
def test_golden_estimates(row: dict[str, object]) -> None:
    text, expected = str(row["text"]), row["estimates"]
    assert isinstance(expected, dict)
    assert Chars4().estimate_text(text) == expected["chars4"]
    assert Bytes4().estimate_text(text) == expected["bytes4"]
    assert Tokenx().estimate_text(text) == expected["tokenx"]
    assert LangchainApprox().estimate([Message("user", text)]) == expected["langchain_approx_user_message"]


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
    assert [one.estimate_text(text) for one in COUNTERS] == [chars4, bytes4, cjk_x3, script_divisor]


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


@pytest.mark.parametrize("estimator", [*COUNTERS, GeminiCli(), Strands()], ids=lambda one: type(one).__name__)
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


CALL = Message("assistant", None, tool_calls=(ToolCall("c1", FunctionCall("find", '{"a":1}')),))


@pytest.mark.parametrize(
    ("text", "tokens"), [("abcd", 1), ("abc", 0), ("é", 1), ("éa", 1), ("🚀", 3), ("好" * 100_001, 25_000)]
)
def test_gemini_cli(text: str, tokens: int) -> None:
    assert GeminiCli().estimate_text(text) == tokens  # quarter tokens: 1 ASCII, 6 a UTF-16 unit; long: units / 4


def test_langchain_counts_the_python_form_of_calls() -> None:
    form = "[{'name': 'find', 'args': {'a': 1}, 'id': 'c1', 'type': 'tool_call'}]"
    assert LangchainApprox().estimate([CALL]) == -(-(len(form) + len("assistant")) // 4) + 3
    result = Message("tool", "ok", name="find", tool_call_id="c1")
    assert LangchainApprox().estimate([result]) == -(-len("oktoolfindc1") // 4) + 3


def test_strands_counts_json_twice_as_dense() -> None:
    assert Strands().estimate([Message("user", "abcde")]) == 1 + 2  # "user", "abcde"
    assert Strands().estimate([CALL]) == 3 + 2 + 4  # "assistant"; "find"; {"a":1} has 7 characters
    assert Strands().estimate([Message("tool", "abcde")]) == 1 + 3  # a result counts as JSON


def test_scaled_rounds_once_and_has_a_least() -> None:
    messages = [Message("user", "one two"), Message("user", "three")]  # 2 roles and 3 words
    assert Scaled(WORDS, 1.5).estimate(messages) == 8
    assert Scaled(WORDS, 1.1, rounding="down").estimate(messages) == 5
    assert Scaled(WORDS, 1.1, rounding="down", least=1).estimate([]) == 1


def test_framed_adds_messages_and_the_request() -> None:
    messages = [Message("user", "abcd")] * 3
    assert Framed(Chars4(), 3, 3).estimate(messages) == 24 // 4 + 3 * 3 + 3
    assert Framed(Chars4(), 3, 3).estimate([]) == 0


def test_observed_scales_by_what_was_billed_within_bounds() -> None:
    messages = [Message("user", "a" * 36)]  # 10 tokens
    estimator = Observed(Chars4())
    assert estimator.estimate(messages) == 10
    estimator.observe(messages, 25)
    assert estimator.estimate(messages) == 25
    assert estimator.estimate(messages * 2) == 50
    assert estimator.fresh().estimate(messages) == 10
    estimator.observe(messages, 1000)
    assert estimator.estimate(messages) == 40  # at most four times
    estimator.observe(messages, 0)
    estimator.observe([], 5)
    assert estimator.estimate(messages) == 40  # nothing to learn from
