"""What a summarizer is, and how messages look to it."""

from collections.abc import Sequence
from typing import Protocol

from ctxbench.conversation.model import Message, content_text

SUMMARY = "summary"
"""The role in which an earlier summary is shown to a summarizer; no provider knows it."""


class Summarizer(Protocol):
    """Writes the text that replaces old messages."""

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        """A text of at most `max_tokens` tokens; None or blank when it has none to give.

        Raises:
            ModelError: the model behind it failed.
            CompressionFailed: what it wrote cannot be used, and why.
        """
        ...


def transcript(messages: Sequence[Message], *, tool_calls: bool = True) -> str:
    """The messages as text: `[role] content`, a blank line between two.

    The original module shows an assistant message that only calls tools as empty;
    with `tool_calls` the calls stand there as `name(arguments)`.
    """
    return "\n".join(f"{label(message.role)}{_body(message, tool_calls)}\n" for message in messages)


def label(role: str) -> str:
    """What stands before a message's text; an earlier summary has labels of its own."""
    return "" if role == SUMMARY else f"[{role}] "


def _body(message: Message, tool_calls: bool) -> str:
    lines = [content_text(message)]
    if tool_calls:
        lines += [f"{call.function.name}({call.function.arguments})" for call in message.tool_calls]
    return "\n".join(line for line in lines if line)
