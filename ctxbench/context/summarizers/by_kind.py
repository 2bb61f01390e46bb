"""by_kind: looks at the old messages and lets the summarizer for their kind write.

What the kinds are is decided here, from the messages alone; each kind's prompt is its
summarizer's matter.
"""

from collections.abc import Mapping, Sequence

from ctxbench.context.summarizers.base import Summarizer
from ctxbench.conversation.model import Message, content_text
from ctxbench.errors import unknown_name
from ctxbench.text.kinds import kind_of

KINDS = ("technical", "tools", "talk")

TECHNICAL_SHARE = 0.1
"""Share of messages with code or logs from which messages are technical. Engineers mostly talk: in `datasets/core`
code reviews have 0.20 and more, migrations 0.13 and more, all others 0.05 and less."""
TOOL_SHARE = 0.2
"""Share of messages that call tools or are their results."""


class SummarizerByKind:
    """`summarizers` by kind, one of `KINDS`; `default` writes for kinds that have none."""

    def __init__(self, summarizers: Mapping[str, Summarizer], default: Summarizer) -> None:
        for kind in summarizers:
            if kind not in KINDS:
                raise unknown_name("kind of conversation", kind, list(KINDS))
        self.summarizers, self.default = dict(summarizers), default

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        """The text of the summarizer that is for messages of this kind."""
        return self.summarizers.get(kind_of_talk(messages), self.default).summarize(messages, max_tokens)


def kind_of_talk(messages: Sequence[Message]) -> str:
    """`technical` (code, logs), else `tools` (calls and results), else `talk`."""
    if sum(map(_is_technical, messages)) >= TECHNICAL_SHARE * max(1, len(messages)):
        return "technical"
    tools = sum(message.role == "tool" or bool(message.tool_calls) for message in messages)
    return "tools" if tools >= TOOL_SHARE * max(1, len(messages)) else "talk"


def _is_technical(message: Message) -> bool:
    """JSON tells nothing in a tool's result: nearly all of them are JSON."""
    text = content_text(message)
    kind = kind_of(text)
    return "```" in text or kind in ("code", "log") or (kind == "json" and message.role != "tool")
