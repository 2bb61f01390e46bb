import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbench.context.adapters.library import Sent
from ctxbench.context.adapters.semantic_kernel import (
    SemanticKernelSummary,
    SemanticKernelTruncation,
    from_semantic_kernel,
    to_semantic_kernel,
)
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.conversation.validity import broken_rules
from ctxbench.errors import CtxbenchError
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

SUMMARY = Message("assistant", "They looked for docks.")


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=3))
def test_what_semantic_kernel_leaves_as_it_was_comes_back_as_it_was(history: list[Message]) -> None:
    sent = Sent(history, to_semantic_kernel)
    back = from_semantic_kernel([copy.deepcopy(item) for item in sent.items], sent)
    assert [id(message) for message in back] == [id(message) for message in history]


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=6), st.integers(1, 4), st.integers(0, 2))
def test_truncation_gives_back_messages_it_was_given(history: list[Message], target: int, threshold: int) -> None:
    strategy = SemanticKernelTruncation(Words(), target_count=target, threshold_count=threshold)
    assert in_order(strategy.compress(history, 10), history)


def test_a_message_of_the_librarys_own_is_read_by_its_fields() -> None:
    from semantic_kernel.contents import ChatMessageContent, FunctionCallContent, FunctionResultContent, TextContent

    call = FunctionCallContent(id="c", name="find", arguments={"dock": 1})
    result = FunctionResultContent(id="c", name="find", result="Dock 1.")
    items = [
        ChatMessageContent("assistant", items=[TextContent(text="Wait."), call]),
        ChatMessageContent("tool", items=[result]),
    ]
    assert from_semantic_kernel(items, Sent([], to_semantic_kernel)) == [
        Message("assistant", "Wait.", tool_calls=(ToolCall("c", FunctionCall("find", '{"dock":1}')),)),
        Message("tool", "Dock 1.", tool_call_id="c"),
    ]


@pytest.mark.parametrize(
    ("target", "threshold", "first"),
    [
        (10, 10, 9),  # the last nine begin at 12, within a turn that began at 9
        (7, 0, 14),  # the last six begin at 15, a result: its call stays too
        (7, 1, 14),  # one more may stay; the question at 13 would be the second
        (7, 2, 13),
        (9, 0, 13),
    ],
)
def test_the_system_message_and_the_last_messages_stay(target: int, threshold: int, first: int) -> None:
    truncation = SemanticKernelTruncation(Words(), target_count=target, threshold_count=threshold)
    assert places(truncation.compress(TALK, 20)) == [0, *range(first, 21)]
    summary = SemanticKernelSummary(Words(), Writes(), target_count=target, threshold_count=threshold)
    kept = summary.compress(TALK, 20)
    assert (places(kept), kept[1]) == ([0, -1, *range(first, 21)], SUMMARY)


def test_nothing_happens_up_to_the_threshold() -> None:
    assert SemanticKernelTruncation(Words(), target_count=11).compress(TALK, 20) == TALK
    assert SemanticKernelSummary(Words(), Writes(), target_count=11).compress(TALK, 20) == TALK


def test_the_budget_changes_nothing() -> None:
    strategy = SemanticKernelTruncation(Words())
    assert strategy.compress(TALK, 1) == strategy.compress(TALK, 1000)


def test_a_second_system_message_goes_and_is_not_summarised() -> None:
    talk = [*TALK[:1], Message("system", "Be kind."), *TALK[1:]]
    kept = SemanticKernelTruncation(Words()).compress(talk, 20)
    assert [message.content for message in kept if message.is_system] == ["Be brief."]
    writes = Writes()
    SemanticKernelSummary(Words(), writes).compress(talk, 20)
    assert places(writes.shown) == [1, 4, 5, 8]


def test_with_a_system_message_a_target_of_one_leaves_nothing_else() -> None:
    kept = SemanticKernelTruncation(Words(), target_count=1).compress(TALK, 20)
    assert places(kept) == [0]


def test_a_long_run_of_calls_stays_whole_and_loses_its_question() -> None:
    run = [
        message
        for number in range(12)
        for message in (
            Message("assistant", None, tool_calls=(ToolCall(f"c{number}", FunctionCall("find", "{}")),)),
            Message("tool", "Dock.", tool_call_id=f"c{number}"),
        )
    ]
    talk = [*TALK[:2], *run]
    kept = SemanticKernelTruncation(Words()).compress(talk, 20)
    assert kept == [TALK[0], *run]
    assert "no_user_message" in broken_rules(kept)
    assert SemanticKernelSummary(Words(), Writes()).compress(talk, 20) == [TALK[0], SUMMARY, *run]


def test_the_summarizer_sees_calls_and_results_only_when_asked() -> None:
    writes = Writes()
    SemanticKernelSummary(Words(), writes).compress(TALK, 20)
    assert places(writes.shown) == [1, 4, 5, 8]
    SemanticKernelSummary(Words(), writes, include_function_content=True).compress(TALK, 20)
    assert places(writes.shown) == list(range(1, 9))


def test_of_parallel_calls_the_summarizer_sees_the_last_result_first() -> None:
    calls = (ToolCall("a", FunctionCall("find", "{}")), ToolCall("b", FunctionCall("find", "{}")))
    asks = [
        Message("assistant", None, tool_calls=calls),
        Message("tool", "One.", tool_call_id="a"),
        Message("tool", "Two.", tool_call_id="b"),
    ]
    writes = Writes()
    strategy = SemanticKernelSummary(Words(), writes, target_count=3, threshold_count=0, include_function_content=True)
    strategy.compress([*TALK[:2], *asks, TALK[4], TALK[5], TALK[8]], 5)
    assert writes.shown == [TALK[1], asks[0], asks[2], asks[1], TALK[4]]


def test_where_only_calls_and_results_are_old_nothing_goes() -> None:
    talk = [TALK[0], TALK[2], TALK[3], TALK[17], TALK[20]]
    assert SemanticKernelSummary(Words(), Writes(), target_count=3, threshold_count=0).compress(talk, 5) == talk


def test_counts_that_the_library_refuses_are_refused_at_once() -> None:
    with pytest.raises(CtxbenchError, match=r"^strategy.target_count is 0; give 1 or more$"):
        SemanticKernelTruncation(Words(), target_count=0)
    with pytest.raises(CtxbenchError, match=r"^strategy.threshold_count is -1; give 0 or more$"):
        SemanticKernelSummary(Words(), Writes(), threshold_count=-1)


@pytest.mark.parametrize(
    "strategy",
    [SemanticKernelTruncation(Words()), SemanticKernelSummary(Words(), Writes())],
    ids=lambda strategy: strategy.name,
)
def test_callers(strategy: SemanticKernelTruncation) -> None:
    check_callers(strategy, 20)


def test_failures() -> None:
    check_failures(lambda writes: SemanticKernelSummary(Words(), writes), 20)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "strategy=semantic_kernel_truncation needs semantic-kernel: pip install 'ctxbench[semantic-kernel]'"
    check_missing(monkeypatch, "semantic_kernel.contents", lambda estimator: SemanticKernelTruncation(estimator), says)
