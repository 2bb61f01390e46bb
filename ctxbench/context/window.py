"""Splits a context into what strategies treat differently: system messages, old, recent.

The one rule that matters here: a tool call and its results are kept or dropped
together. Nothing here decides how many messages to keep.
"""

from collections.abc import Sequence

from ctxbench.context.units import last_user
from ctxbench.conversation.model import SYSTEM_ROLES, Message
from ctxbench.errors import CtxbenchError


def split_system(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """The system messages and the others, each in their order."""
    system = [message for message in messages if message.role in SYSTEM_ROLES]  # a property call costs twice
    if not system:
        return system, list(messages)
    return system, [message for message in messages if not message.is_system]


def split_recent(messages: Sequence[Message], count: int, *, pair_tools: bool) -> tuple[list[Message], list[Message]]:
    """The old messages and the `count` most recent ones; no system messages are given.

    With `pair_tools` more may be recent: see `recent_start`. Then the last user message is
    recent, too, even if a long run of tool calls has followed it: it is what has to be answered.
    """
    start = recent_start(messages, count, pair_tools=pair_tools)
    asked = last_user(messages) if pair_tools and count else None
    if asked is None or asked >= start:
        return list(messages[:start]), list(messages[start:])
    return [*messages[:asked], *messages[asked + 1 : start]], [messages[asked], *messages[start:]]


def recent_start(messages: Sequence[Message], count: int, *, pair_tools: bool) -> int:
    """Index at which the `count` most recent messages begin (`len(messages)` for 0).

    With `pair_tools` the index moves back until no tool result from there on has its
    call before it, so that more than `count` messages may be recent. The nearest call
    with a result's id is its call: some providers use an id again. A result without
    any call moves nothing.
    """
    start = max(0, len(messages) - count)
    if not pair_tools or start == len(messages):
        return start
    wanted: set[str | None] = set()  # results from `start` on whose call is not found yet
    for message in reversed(messages[start:]):
        _note(message, wanted)
    passed: set[str | None] = set()  # the same for results that are kept only if `start` moves
    for index in range(start - 1, -1, -1):
        if not wanted:
            break
        message = messages[index]
        _note(message, passed)
        if any(call.id in wanted for call in message.tool_calls):
            start = index
            wanted |= passed
            wanted.difference_update(call.id for call in message.tool_calls)
            passed.clear()
    return start


def _note(message: Message, open_results: set[str | None]) -> None:
    """Going backwards: a result opens the search for its call, the call closes it."""
    if message.role == "tool":
        open_results.add(message.tool_call_id)
    for call in message.tool_calls:
        open_results.discard(call.id)


def check_count(name: str, value: int) -> int:
    """The value, refused when it is negative."""
    if value < 0:
        raise CtxbenchError(f"{name} is {value}; give 0 or more")
    return value
