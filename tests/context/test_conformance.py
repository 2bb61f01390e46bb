"""What every strategy must keep, whoever wrote it: each is built from its configuration and run on generated chats."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxbench.app import composed
from ctxbench.context.failures import CannotFit, CompressionFailed
from ctxbench.context.manager import ContextManager
from ctxbench.context.storage.base import pack
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.context.units import last_user
from ctxbench.conversation.model import Conversation, FunctionCall, Message, ToolCall
from ctxbench.conversation.validity import broken_rules
from ctxbench.parts import manager_factory
from ctxbench.resources import group_options
from ctxbench.tokens.tokenizers import count_messages
from ctxbench.tokens.vocab import tiktoken_encoding

TOKENIZER = tiktoken_encoding("o200k_base")
YOUR_OWN = {
    "path": ["strategy.path=tests.context.own.NewestHalf"],
    "callable": ["strategy.target=tests.context.own.tail"],
}
NAMES = list(group_options("strategy"))
CHECKED = [
    name
    for name in NAMES
    if name not in YOUR_OWN and "exact_check: true" in group_options("strategy")[name].read_text()
]

SENTENCES = (
    "The order HX-48213 goes to 14 Harbour Lane on Friday.",
    "Never touch the table billing_2019; the limit is 4,500 rows.",
    "我们决定把会议改到三月十四日下午三点,地点是东门。",
    "الموعد النهائي هو 15 مايو، ولا تستخدم البريد.",
    "जयपुर की ट्रेन 12 तारीख को सुबह 6:40 पर है।",
    "打ち合わせは金曜日の10時に決まりました。",
    "Could you tell me which colours there are?",
    '{"status": "ok", "rows": [1, 2, 3], "id": "A-77"}',
    "ok 👍🏽", "", "Tak, dobrze. " * 12,
)  # fmt: skip
text = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4).map(" ".join)


@st.composite
def chats(draw: st.DrawFn, least: int = 1) -> list[Message]:
    """System messages, then turns: a user message, perhaps parallel tool calls with results, an answer."""
    messages = [Message("system", draw(text)) for _ in range(draw(st.integers(0, 2)))]
    for turn in range(draw(st.integers(least, 14))):
        messages.append(Message("user", draw(text)))
        for step in range(draw(st.integers(0, 2))):
            names = [f"call_{turn}_{step}_{number}" for number in range(draw(st.integers(1, 3)))]
            calls = tuple(ToolCall(name, FunctionCall("look_up", '{"key": "A-77"}')) for name in names)
            messages.append(Message("assistant", draw(text | st.none()), tool_calls=calls))
            messages += [Message("tool", draw(text), tool_call_id=name) for name in names]
        if draw(st.booleans()):
            messages.append(Message("assistant", draw(text.filter(str.strip))))
    return messages


@cache
def manager_of(name: str) -> Callable[[Conversation, int], ContextManager]:
    config, _ = composed([f"strategy={name}", *YOUR_OWN.get(name, [])])
    return manager_factory(config)


def strategy_of(name: str) -> CompressionStrategy:
    return manager_of(name)(Conversation("one", "en", "test", []), 100).strategy


def compressed(name: str, messages: Sequence[Message], budget: int) -> list[Message] | None:
    """None where the strategy says that it cannot."""
    try:
        return strategy_of(name).compress(messages, budget, session_id="s")
    except CompressionFailed:
        return None


def tokens(messages: Sequence[Message]) -> int:
    return count_messages(TOKENIZER, messages)


LIBRARY_FAULTS = {
    "langchain_summary": {"grows"},
    "langchain_trim": {"last user", "system"},
    "llamaindex_buffer": {"last user", "pairs"},
    "llamaindex_summary": {"last user", "grows"},
    "pydantic_ai_summary": {"grows"},
    "semantic_kernel_summary": {"last user", "system"},
    "semantic_kernel_truncation": {"last user", "system"},
    "strands_sliding": {"last user"},
    "strands_summary": {"grows"},
}
"""What other people's strategies are known not to keep; a fault that is not told here fails the test."""

examples = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
shares = st.floats(0.1, 0.9)


@pytest.mark.parametrize("name", NAMES)
@examples
@given(messages=chats(), share=shares)
def test_a_strategy_keeps_the_contract(name: str, messages: list[Message], share: float) -> None:
    budget = max(1, int(share * tokens(messages)))
    before = [pack(message) for message in messages]
    context = compressed(name, messages, budget)
    assert [pack(message) for message in messages] == before, "it changed its input"
    if context is None:
        return
    assert compressed(name, messages, budget) == context, "it is not deterministic"
    again = compressed(name, context, budget)
    assert set(faults(messages, context, again)) <= LIBRARY_FAULTS.get(name, set())


def faults(messages: list[Message], context: list[Message], again: list[Message] | None) -> Iterator[str]:
    """What a context, and that of the context itself, did not keep."""
    places = [index for message in context for index, old in enumerate(messages) if old is message]
    others = [index for index in places if not messages[index].is_system]
    if others != sorted(others):
        yield "order"
    if [m for m in context if m.is_system and m in messages] != [m for m in messages if m.is_system]:
        yield "system"
    if {"orphan_tool_result", "unanswered_tool_call"} & set(broken_rules(context)):
        yield "pairs"
    latest = last_user(messages)
    if latest is None or messages[latest] not in context:
        yield "last user"
    if again is not None and tokens(again) > tokens(context):
        yield "grows"


@pytest.mark.parametrize("name", CHECKED)
@examples
@given(messages=chats(), share=shares)
def test_the_budget_is_kept_or_what_is_in_the_way_is_told(name: str, messages: list[Message], share: float) -> None:
    budget = max(1, int(share * tokens(messages)))
    told: CompressionFailed | None = None
    context = list[Message]()
    try:
        context = strategy_of(name).compress(messages, budget)
    except CompressionFailed as failure:
        told = failure
    if isinstance(told, CannotFit):
        latest = last_user(messages)
        must_stay = [message for index, message in enumerate(messages) if message.is_system or index == latest]
        assert told.messages == must_stay
        assert tokens(must_stay) > budget
    else:
        assert tokens(context) <= budget
        assert told is None or told.kind in ("empty", "over_long")


@pytest.mark.parametrize("name", NAMES)
@settings(examples, max_examples=3)
@given(messages=chats(least=6))
def test_a_context_over_the_budget_is_reported(name: str, messages: list[Message]) -> None:
    budget = tokens(messages) // 4
    manager = manager_of(name)(Conversation("one", "en", "test", messages), budget)
    for message in messages:
        manager.add_message("s", message)
    context = manager.build_context("s")
    said = manager.stats("s").over_budget == 1
    assert said == (manager.strategy.estimate_tokens(context.messages) > budget)
    manager.clear("s")


@pytest.mark.parametrize("name", NAMES)
def test_eight_threads_may_share_it(name: str) -> None:
    chats_of = [
        [Message(("user", "assistant")[place % 2], f"{SENTENCES[(place + number) % 8]} {place}") for place in range(31)]
        for number in range(8)
    ]
    alone = [compressed(name, chat, 150) for chat in chats_of]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda chat: compressed(name, chat, 150), chats_of * 2))
    assert together == alone * 2
