"""What stands or falls together: a tool call with its results, a turn with its answers.

Strategies choose units, never single messages of a pair. Which ones is their matter.
"""

from collections.abc import Container, Sequence

from ctxbench.conversation.model import Message

Unit = list[int]
"""Indices of messages, ascending."""


def split_units(messages: Sequence[Message], optional: Container[int] = ()) -> list[Unit]:
    """The units in their order; system messages are in none, unless their indices are `optional`.

    A message that calls tools and all results of its calls are one unit, also where other
    messages stand between them; any other message is one by itself.
    """
    found: list[Unit] = []
    callers: dict[str | None, Unit] = {}
    for index, message in enumerate(messages):
        if message.is_system and index not in optional:
            continue
        if message.role == "tool" and message.tool_call_id in callers:
            callers[message.tool_call_id].append(index)
            continue
        unit = [index]
        found.append(unit)
        callers.update((call.id, unit) for call in message.tool_calls)
    return found


def split_turns(messages: Sequence[Message], units: Sequence[Unit]) -> list[list[Unit]]:
    """The units by turn: what the user says, in one or several messages, and all that answers it."""
    turns: list[list[Unit]] = []
    answered = True
    for unit in units:
        is_user = messages[unit[0]].role == "user"
        if not turns or (is_user and answered):
            turns.append([])
        answered = not is_user
        turns[-1].append(unit)
    return turns


def last_user(messages: Sequence[Message]) -> int | None:
    """The index of the last user message: what has to be answered now."""
    return next((index for index in range(len(messages) - 1, -1, -1) if messages[index].role == "user"), None)
