import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbench.context.adapters.library import Sent
from ctxbench.context.adapters.llamaindex import (
    LlamaIndexBuffer,
    LlamaIndexMemory,
    LlamaIndexSummary,
    from_llamaindex,
    to_llamaindex,
)
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.conversation.validity import broken_rules
from ctxbench.tokens.estimators.chars4 import Chars4
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

SUMMARY = Message("system", "They looked for docks.")


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=3))
def test_what_llamaindex_leaves_as_it_was_comes_back_as_it_was(history: list[Message]) -> None:
    sent = Sent(history, to_llamaindex)
    back = from_llamaindex([copy.deepcopy(item) for item in sent.items], sent)
    assert [id(message) for message in back] == [id(message) for message in history]


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=5), st.integers(1, 30))
def test_a_buffer_gives_back_messages_it_was_given(history: list[Message], budget: int) -> None:
    kept = LlamaIndexBuffer(Words(), system_apart=False).compress(history, budget)
    assert in_order(kept, history)
    assert kept == history[len(history) - len(kept) :]


@settings(max_examples=5, deadline=None)
@given(st.lists(messages, max_size=4))
def test_a_memory_loses_nothing_of_a_message_in_its_database(history: list[Message]) -> None:
    assert in_order(LlamaIndexMemory(Words(), system_apart=False).compress(history, 100_000), history)


def test_a_message_of_the_librarys_own_is_read_by_its_fields() -> None:
    from llama_index.core.base.llms.types import ToolCallBlock
    from llama_index.core.llms import ChatMessage, TextBlock

    call = ToolCallBlock(tool_call_id="c", tool_name="find", tool_kwargs={"dock": 1})
    items = [
        ChatMessage(role="assistant", blocks=[TextBlock(text="Wait."), call]),
        ChatMessage(role="tool", content="Dock 1.", additional_kwargs={"tool_call_id": "c"}),
    ]
    assert from_llamaindex(items, Sent([], to_llamaindex)) == [
        Message("assistant", "Wait.", tool_calls=(ToolCall("c", FunctionCall("find", '{"dock":1}')),)),
        Message("tool", "Dock 1.", tool_call_id="c"),
    ]


def test_the_buffer_keeps_what_fits_from_a_user_message_on() -> None:
    # 22 - 2 words for the system message: two turns; with 21 the second turn no longer fits.
    assert places(LlamaIndexBuffer(Words()).compress(TALK, 22)) == [0, *range(13, 21)]
    assert places(LlamaIndexBuffer(Words()).compress(TALK, 21)) == [0, *range(17, 21)]


def test_a_result_that_stands_last_may_lose_its_call() -> None:
    kept = LlamaIndexBuffer(Words()).compress(TALK[:20], 6)
    assert places(kept) == [0, 19]
    assert "orphan_tool_result" in broken_rules(kept)


def test_a_system_message_within_the_buffer_goes_first() -> None:
    assert places(LlamaIndexBuffer(Words(), system_apart=False).compress(TALK, 22)) == list(range(13, 21))


def test_the_arguments_of_a_call_cost_the_buffer_nothing() -> None:
    call = ToolCall("c", FunctionCall("write", '"' + "x" * 4000 + '"'))
    talk = [
        Message("user", "Hi"),
        Message("assistant", None, tool_calls=(call,)),
        Message("tool", "Done.", tool_call_id="c"),
    ]
    strategy = LlamaIndexBuffer(Chars4())
    kept = strategy.compress(talk, 100)
    assert kept == talk
    assert strategy.estimate_tokens(kept) > 1000


def test_the_summary_is_a_system_message_and_comes_on_top() -> None:
    writes = Writes()
    kept = LlamaIndexSummary(Words(), writes).compress(TALK, 22)
    assert (places(kept), kept[1]) == ([0, -1, *range(13, 21)], SUMMARY)
    assert Words().estimate(kept) == 22 + 4


def test_the_summarizer_is_not_shown_the_calls() -> None:
    writes = Writes()
    LlamaIndexSummary(Words(), writes).compress(TALK, 34)
    assert writes.shown == [
        Message(
            "user",
            "user: Where is order 0?\n\ntool: Dock 0.\n\nassistant: At dock 0.\n\n"
            "user: Where is order 1?\n\ntool: Dock 1.\n\nassistant: At dock 1.",
        )
    ]


def test_what_would_begin_within_a_turn_is_summarised_too() -> None:
    assert places(LlamaIndexSummary(Words(), Writes()).compress(TALK, 21)) == [0, -1, *range(17, 21)]


def test_the_memory_drops_whole_turns_as_they_come() -> None:
    # A turn is 11 (no text in the call, two words in the result's fields), the queue's share 0.7 x 38 = 26.6.
    assert places(LlamaIndexMemory(Words(), token_flush_size=5).compress(TALK, 40)) == [0, *range(13, 21)]


def test_the_memory_drops_more_at_once_by_default() -> None:
    # 70 % of 38 are flushed when the third and the fifth turn do not fit, up to those turns' questions.
    assert places(LlamaIndexMemory(Words()).compress(TALK, 40)) == [0, *range(17, 21)]


@pytest.mark.parametrize(
    "strategy",
    [LlamaIndexBuffer(Words()), LlamaIndexSummary(Words(), Writes()), LlamaIndexMemory(Words())],
    ids=lambda strategy: strategy.name,
)
def test_callers(strategy: LlamaIndexBuffer) -> None:
    check_callers(strategy, 22)


def test_failures() -> None:
    check_failures(lambda writes: LlamaIndexSummary(Words(), writes), 22)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "strategy=llamaindex_buffer needs llama-index: pip install 'ctxbench[llama-index]'"
    check_missing(monkeypatch, "llama_index.core.memory", lambda estimator: LlamaIndexBuffer(estimator), says)
