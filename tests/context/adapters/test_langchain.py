import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbench.context.adapters.langchain import LangchainSummary, LangchainTrim, from_langchain, to_langchain
from ctxbench.context.adapters.library import Sent
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.conversation.validity import broken_rules
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

HEADING = "Here is a summary of the conversation to date:\n\n"


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=3))
def test_what_langchain_leaves_as_it_was_comes_back_as_it_was(history: list[Message]) -> None:
    sent = Sent(history, to_langchain)
    back = from_langchain([copy.deepcopy(item) for item in sent.items], sent)
    assert [id(message) for message in back] == [id(message) for message in history]


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=5), st.integers(1, 30))
def test_trimming_gives_back_messages_it_was_given(history: list[Message], budget: int) -> None:
    assert in_order(LangchainTrim(Words(), start_on=None).compress(history, budget), history)


def test_a_message_of_the_librarys_own_is_read_by_its_fields() -> None:
    from langchain_core.messages import AIMessage, ToolMessage

    call = {"id": "c", "name": "find", "args": {"dock": 1}}
    back = from_langchain(
        [AIMessage("Wait.", tool_calls=[call]), ToolMessage("Dock 1.", tool_call_id="c")], Sent([], to_langchain)
    )
    assert back == [
        Message("assistant", "Wait.", tool_calls=(ToolCall("c", FunctionCall("find", '{"dock":1}')),)),
        Message("tool", "Dock 1.", tool_call_id="c"),
    ]


def test_trimming_keeps_the_system_message_and_what_fits_from_a_user_message_on() -> None:
    # 22 - 2 words for the system message: two turns; with 21 the second turn's question no longer fits.
    assert places(LangchainTrim(Words()).compress(TALK, 22)) == [0, *range(13, 21)]
    assert places(LangchainTrim(Words()).compress(TALK, 21)) == [0, *range(17, 21)]


def test_without_a_start_trimming_leaves_a_result_without_its_call() -> None:
    kept = LangchainTrim(Words(), start_on=None).compress(TALK, 7)  # 2 + the last result and answer
    assert places(kept) == [0, 19, 20]
    assert "orphan_tool_result" in broken_rules(kept)


def test_a_second_system_message_is_trimmed_like_others() -> None:
    talk = [*TALK[:1], Message("system", "Be kind."), *TALK[1:]]
    assert [message.content for message in LangchainTrim(Words()).compress(talk, 12) if message.is_system] == [
        "Be brief."
    ]


def test_the_end_can_be_asked_to_be_a_user_or_tool_message() -> None:
    kept = LangchainTrim(Words(), end_on=["human", "tool"]).compress(TALK, 19)
    assert places(kept) == [0, *range(13, 20)]  # 2 + 10 + 7


def test_part_of_a_message_may_be_kept() -> None:
    kept = LangchainTrim(Words(), allow_partial=True, start_on=None).compress(
        [Message("user", "one two\nthree four")], 2
    )
    assert kept == [Message("user", "three four")]


def test_the_summary_is_a_user_message_before_the_recent_messages() -> None:
    writes = Writes()
    kept = LangchainSummary(Words(), writes, keep_messages=5).compress(TALK, 20)
    assert places(kept) == [0, -1, *range(16, 21)]
    assert kept[1] == Message("user", HEADING + "They looked for docks.")
    assert places(writes.shown) == list(range(1, 16))


def test_a_result_that_would_lose_its_call_takes_it_along() -> None:
    kept = LangchainSummary(Words(), Writes(), keep_messages=2).compress(TALK, 20)
    assert places(kept) == [0, -1, 18, 19, 20]
    assert "orphan_tool_result" not in broken_rules(kept)


def test_the_summarizer_sees_the_most_recent_tokens_only() -> None:
    writes = Writes("Docks.")
    LangchainSummary(Words(), writes, keep_messages=4, trim_tokens=10).compress(TALK, 20)
    assert places(writes.shown) == [13, 14, 15, 16]


def test_a_system_message_within_the_messages_is_summarised() -> None:
    kept = LangchainSummary(Words(), Writes(), keep_messages=4, system_apart=False).compress(TALK, 20)
    assert places(kept) == [-1, 17, 18, 19, 20]


def test_nothing_is_summarised_under_the_budget_or_when_all_is_recent() -> None:
    assert LangchainSummary(Words(), Writes()).compress(TALK, 53) == TALK
    assert LangchainSummary(Words(), Writes(), keep_messages=20).compress(TALK, 20) == TALK


def test_callers() -> None:
    check_callers(LangchainTrim(Words()), 20)
    check_callers(LangchainSummary(Words(), Writes(), keep_messages=5), 20)


def test_failures() -> None:
    check_failures(lambda writes: LangchainSummary(Words(), writes, keep_messages=5), 20)


@pytest.mark.parametrize(
    ("module", "make", "name"),
    [
        ("langchain_core.messages", lambda estimator: LangchainTrim(estimator), "langchain_trim"),
        ("langchain.agents.middleware", lambda estimator: LangchainSummary(estimator, Writes()), "langchain_summary"),
    ],
)
def test_without_the_package(monkeypatch: pytest.MonkeyPatch, module: str, make: object, name: str) -> None:
    says = f"strategy={name} needs langchain: pip install 'ctxbench[langchain]'"
    check_missing(monkeypatch, module, make, says)  # type: ignore[arg-type]
