import copy

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbench.context.adapters.strands import StrandsSliding, StrandsSummary, from_strands, to_strands
from ctxbench.context.failures import CompressionFailed
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from tests.context.adapters.conformance import (
    TALK,
    Words,
    Writes,
    check_callers,
    check_failures,
    check_missing,
    in_order,
    places,
)
from tests.conversation.strategies import messages

SUMMARY = Message("user", "They looked for docks.")


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=3))
def test_what_strands_leaves_as_it_was_comes_back_as_it_was(history: list[Message]) -> None:
    back = from_strands(copy.deepcopy(to_strands(history)), history)
    assert [id(message) for message in back] == [id(message) for message in history]


@settings(max_examples=20, deadline=None)
@given(st.lists(messages.filter(lambda message: not message.is_system), max_size=5), st.integers(0, 4))
def test_a_window_gives_back_messages_it_was_given(history: list[Message], window: int) -> None:
    assert in_order(StrandsSliding(Words(), window_size=window).compress(history, 10_000), history)


def test_a_message_of_the_librarys_own_is_read_by_its_fields() -> None:
    use = {"toolUseId": "c", "name": "find", "input": {"dock": 1}}
    assert from_strands([{"role": "assistant", "content": [{"text": "Wait."}, {"toolUse": use}]}], []) == [
        Message("assistant", "Wait.", tool_calls=(ToolCall("c", FunctionCall("find", '{"dock":1}')),))
    ]


def test_the_results_of_one_turn_are_one_message() -> None:
    calls = (ToolCall("a", FunctionCall("find", "{}")), ToolCall("b", FunctionCall("find", "{}")))
    talk = [
        Message("assistant", None, tool_calls=calls),
        Message("tool", "One.", tool_call_id="a"),
        Message("tool", "Two.", tool_call_id="b"),
    ]
    assert [len(turn["content"]) for turn in to_strands(talk)] == [2, 2]
    assert from_strands(to_strands(talk), talk) == talk


@pytest.mark.parametrize(("window", "kept"), [(8, range(13, 21)), (7, range(17, 21)), (20, range(1, 21))])
def test_the_window_begins_with_a_question(window: int, kept: range) -> None:
    assert places(StrandsSliding(Words(), window_size=window).compress(TALK, 52)) == [0, *kept]


def test_over_the_budget_whole_turns_go() -> None:
    # 52 words, each turn ten: two turns must go.
    assert places(StrandsSliding(Words()).compress(TALK, 32)) == [0, *range(9, 21)]


def test_over_the_budget_long_results_are_cut_first() -> None:
    text = "a" * 200 + " " + "b " * 100 + "c" * 200
    talk = msgspec.convert(TALK, list[Message])
    talk[3] = msgspec.structs.replace(talk[3], content=text)
    kept = StrandsSliding(Words()).compress(talk, 100)
    cut = f"{'a' * 200}...\n\n... [truncated: 201 chars removed] ...\n\n...{'c' * 200}"
    assert kept == [*talk[:3], msgspec.structs.replace(talk[3], content=cut), *talk[4:]]
    without = StrandsSliding(Words(), should_truncate_results=False).compress(talk, 100)
    assert without == [talk[0], *talk[5:]]


def test_a_cut_that_makes_a_result_longer_does_not_end_it() -> None:
    talk = msgspec.convert(TALK, list[Message])
    talk[3] = msgspec.structs.replace(talk[3], content="d" * 401)  # one character less, and words about it
    assert StrandsSliding(Words()).compress(talk, 42) == [talk[0], *talk[5:]]


def test_one_turn_over_the_budget_is_a_failure() -> None:
    with pytest.raises(CompressionFailed, match="^error: strands: .*Unable to trim") as caught:
        StrandsSliding(Words()).compress(TALK, 5)
    assert caught.value.final


def test_the_oldest_third_becomes_a_user_message() -> None:
    writes = Writes()
    kept = StrandsSummary(Words(), writes).compress(TALK, 45)
    assert (places(kept), kept[1]) == ([0, -1, *range(8, 21)], SUMMARY)  # 6 of 20, then past the result
    assert places(writes.shown) == list(range(1, 8))


def test_an_earlier_summary_is_summarised_again() -> None:
    writes = Writes()
    kept = StrandsSummary(Words(), writes).compress(TALK, 35)
    assert places(kept) == [0, -1, *range(12, 21)]
    assert (writes.shown[0], places(writes.shown)) == (SUMMARY, [-1, 8, 9, 10, 11])


def test_too_few_messages_are_a_failure() -> None:
    with pytest.raises(CompressionFailed, match="insufficient messages"):
        StrandsSummary(Words(), Writes()).compress(TALK, 20)


def test_a_summary_that_makes_nothing_shorter_ends_it() -> None:
    talk = [Message("user", "one two"), *TALK[1:]]
    kept = StrandsSummary(Words(), Writes("three four"), preserve_recent_messages=20).compress(talk, 10)
    assert kept == [Message("user", "three four"), *TALK[1:]]


@pytest.mark.parametrize(
    "strategy", [StrandsSliding(Words()), StrandsSummary(Words(), Writes())], ids=lambda strategy: strategy.name
)
def test_callers(strategy: StrandsSliding) -> None:
    check_callers(strategy, 35)


def test_failures() -> None:
    check_failures(lambda writes: StrandsSummary(Words(), writes), 45)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "strategy=strands_sliding needs strands: pip install 'ctxbench[strands]'"
    check_missing(monkeypatch, "strands.agent.conversation_manager", lambda estimator: StrandsSliding(estimator), says)
