"""Messages of which only some of the text is kept."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ctxbench.context.draft import Draft
from ctxbench.conversation.model import Message

Span = tuple[int, int]
"""Start and end of a piece of a message's text."""


def shorten(message: Message, spans: Sequence[Span]) -> Message:
    """The message with these spans of its text; what stands between two stays where it has no letter or digit.

    Content that is no string is kept as it is, unless there are no spans. Tool calls stay.
    """
    if spans and not isinstance(message.content, str):
        return message
    text = message.content if isinstance(message.content, str) else ""
    parts: list[str] = []
    end = 0
    for first, last in spans:
        between = text[end:first]
        if parts:
            parts.append(" " if any(map(str.isalnum, between)) else between)
        parts.append(text[first:last])
        end = last
    short = "".join(parts)
    if short == message.content:
        return message
    return msgspec.structs.replace(message, content=short or (None if message.tool_calls else ""))


def shortened(draft: Draft, units: Iterable[int], spans: Mapping[int, Sequence[Span]]) -> dict[int, Message]:
    """The messages of the units (by number), each with its spans of text, which need no order."""
    return {
        index: shorten(draft.messages[index], sorted(spans.get(index, ())))
        for number in units
        for index in draft.units[number]
    }


def frames(draft: Draft) -> dict[int, int]:
    """The size that each unit not chosen yet has without any text: roles and tool calls."""
    return {
        number: draft.meter.size([shorten(draft.messages[index], ()) for index in unit])
        for number, unit in enumerate(draft.units)
        if not draft.has(unit)
    }
