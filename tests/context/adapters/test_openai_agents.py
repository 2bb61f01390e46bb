import copy

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbench.context.adapters.openai_agents import OpenAiAgentsSession, OpenAiAgentsTrimmer, from_items, to_items
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from tests.context.adapters.conformance import TALK, Words, check_callers, check_missing, places
from tests.conversation.strategies import messages


@settings(max_examples=20, deadline=None)
@given(st.lists(messages, max_size=3))
def test_what_the_sdk_leaves_as_it_was_comes_back_as_it_was(history: list[Message]) -> None:
    items = [item for index, message in enumerate(history) for item in to_items(message, index)]
    back = from_items(copy.deepcopy(items), history)
    assert [id(message) for message in back] == [id(message) for message in history]


@settings(max_examples=5, deadline=None)
@given(st.lists(messages.filter(lambda message: message.role not in ("tool", "assistant")), min_size=1, max_size=5))
def test_a_session_loses_nothing_of_a_message(history: list[Message]) -> None:
    """Without calls: the SDK drops a call without a result, and one of two with the same id."""
    kept = OpenAiAgentsSession(Words(), system_apart=False).compress(history, 1)
    assert [id(message) for message in kept] == [id(message) for message in history]


@pytest.mark.parametrize(
    ("limit", "kept"),
    [(3, range(17, 21)), (2, range(18, 21)), (1, range(20, 21)), (5, range(16, 21)), (50, range(1, 21))],
)
def test_the_last_items_are_sent_without_a_result_that_lost_its_call(limit: int, kept: range) -> None:
    # The last message is the new input and does not count.
    assert places(OpenAiAgentsSession(Words(), limit=limit).compress(TALK, 22)) == [0, *kept]


def test_a_system_message_within_the_session_goes_first() -> None:
    assert places(OpenAiAgentsSession(Words(), limit=3, system_apart=False).compress(TALK, 22)) == [17, 18, 19, 20]


def test_a_message_may_lose_its_text_and_keep_its_calls() -> None:
    calls = (ToolCall("a", FunctionCall("find", '{"n":  1}')), ToolCall("b", FunctionCall("find", "{}")))
    asks = Message("assistant", "Let me look.", tool_calls=calls, extra={"x": 1})
    results = [Message("tool", "One.", tool_call_id="a"), Message("tool", "Two.", tool_call_id="b")]
    talk = [Message("user", "Where?"), asks, *results, Message("user", "And?")]
    kept = OpenAiAgentsSession(Words(), limit=4).compress(talk, 1)
    assert kept == [msgspec.structs.replace(asks, content=None), *results, talk[4]]


def test_results_of_older_turns_become_previews() -> None:
    talk = [
        msgspec.structs.replace(message, content=f"{message.content}{'z' * 600}") if message.role == "tool" else message
        for message in TALK
    ]
    kept = OpenAiAgentsTrimmer(Words(), max_output_chars=300, preview_chars=50).compress(talk, 22)
    assert len(kept) == len(talk)
    changed = [place for place, (old, new) in enumerate(zip(talk, kept, strict=True)) if old != new]
    assert changed == [3, 7, 11]  # not those of the last two turns
    assert all("Dock" in str(kept[place].content) and len(str(kept[place].content)) <= 300 for place in changed)
    assert [kept[place].tool_call_id for place in changed] == ["call_0", "call_1", "call_2"]


def test_short_results_are_left() -> None:
    assert OpenAiAgentsTrimmer(Words()).compress(TALK, 22) == TALK


def test_callers() -> None:
    check_callers(OpenAiAgentsSession(Words(), limit=3), 22)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "strategy=openai_agents_session needs openai-agents: pip install 'ctxbench[openai-agents]'"
    check_missing(monkeypatch, "agents", lambda estimator: OpenAiAgentsSession(estimator), says)
