import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbench.context.adapters.library import Sent
from ctxbench.context.adapters.pydantic_ai import (
    PydanticAiSliding,
    PydanticAiSummary,
    _Parts,
    from_pydantic_ai,
    from_transcript,
    to_pydantic_ai,
)
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


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=3))
def test_what_pydantic_ai_leaves_as_it_was_comes_back_as_it_was(history: list[Message]) -> None:
    sent = Sent(history, _Parts(history))
    back = from_pydantic_ai(copy.deepcopy(to_pydantic_ai(sent)), sent)
    assert [id(message) for message in back] == [id(message) for message in history]


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=5), st.integers(0, 4))
def test_a_window_gives_back_messages_it_was_given(history: list[Message], keep: int) -> None:
    assert in_order(PydanticAiSliding(Words(), keep_messages=keep).compress(history, 1), history)


def test_a_message_of_the_librarys_own_is_read_by_its_fields() -> None:
    from pydantic_ai import messages as classes

    history = [
        classes.ModelRequest([classes.SystemPromptPart("Be brief."), classes.UserPromptPart("Where?")]),
        classes.ModelResponse([classes.TextPart("Wait."), classes.ToolCallPart("find", {"dock": 1}, "c")]),
        classes.ModelRequest([classes.ToolReturnPart("find", "Dock 1.", "c")]),
    ]
    assert from_pydantic_ai(history, Sent([], _Parts([]))) == [
        Message("system", "Be brief."),
        Message("user", "Where?"),
        Message("assistant", "Wait.", tool_calls=(ToolCall("c", FunctionCall("find", '{"dock":1}')),)),
        Message("tool", "Dock 1.", tool_call_id="c"),
    ]


@pytest.mark.parametrize(("keep", "kept"), [(4, [17, 18, 19, 20]), (3, [18, 19, 20]), (2, [18, 19, 20]), (0, [20])])
def test_the_window_keeps_the_first_request_and_the_last_ones_with_their_calls(keep: int, kept: list[int]) -> None:
    # The first request holds the system message and the first question.
    assert places(PydanticAiSliding(Words(), keep_messages=keep).compress(TALK, 22)) == [0, 1, *kept]


def test_without_the_first_request_the_system_message_is_lost() -> None:
    strategy = PydanticAiSliding(Words(), keep_messages=4, preserve_first_user_message=False)
    assert places(strategy.compress(TALK, 22)) == [17, 18, 19, 20]


def test_a_request_is_all_between_two_answers() -> None:
    twice = [Message("user", "One."), Message("user", "Two."), Message("assistant", "Three."), Message("user", "Four.")]
    assert PydanticAiSliding(Words(), keep_messages=3).compress(twice, 1) == twice


def test_the_summary_is_a_user_message_after_the_first_one() -> None:
    kept = PydanticAiSummary(Words(), Writes(), keep_messages=4).compress(TALK, 22)
    assert places(kept) == [0, 1, -1, 17, 18, 19, 20]
    assert kept[2] == Message("user", "They looked for docks.")


def test_the_summarizer_is_shown_the_transcript_as_messages() -> None:
    writes = Writes()
    PydanticAiSummary(Words(), writes, keep_messages=4).compress(TALK, 22)
    assert [message.content for message in writes.shown] == [message.content for message in TALK[:17]]
    assert writes.shown[2].tool_calls[0].function == FunctionCall("find", '{"dock":  0}')
    assert [message.role for message in writes.shown] == [message.role for message in TALK[:17]]


def test_a_long_result_is_cut_for_the_summarizer() -> None:
    writes = Writes("Docks.")
    talk = [*TALK[:3], Message("tool", "y" * 3000, tool_call_id="call_0"), *TALK[4:]]
    PydanticAiSummary(Words(), writes, keep_messages=4, tool_return_max_chars=100).compress(talk, 22)
    assert 0 < len(str(writes.shown[3].content)) <= 100


def test_tags_within_a_message_end_no_message() -> None:
    writes = Writes("Docks.")
    talk = [TALK[0], Message("user", "a\n</message>\nb"), *TALK[2:]]
    PydanticAiSummary(Words(), writes, keep_messages=4).compress(talk, 22)
    assert writes.shown[1] == Message("user", "a\n&lt;/message>\nb")


def test_a_transcript_of_another_form_is_one_message() -> None:
    assert from_transcript("free text") == [Message("user", "free text")]


@pytest.mark.parametrize(
    "strategy",
    [PydanticAiSliding(Words(), keep_messages=4), PydanticAiSummary(Words(), Writes(), keep_messages=4)],
    ids=lambda strategy: strategy.name,
)
def test_callers(strategy: PydanticAiSliding) -> None:
    check_callers(strategy, 22)


def test_failures() -> None:
    check_failures(lambda writes: PydanticAiSummary(Words(), writes, keep_messages=4), 22)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "strategy=pydantic_ai_sliding needs pydantic-ai: pip install 'ctxbench[pydantic-ai]'"
    check_missing(monkeypatch, "pydantic_ai_harness.compaction", lambda estimator: PydanticAiSliding(estimator), says)
