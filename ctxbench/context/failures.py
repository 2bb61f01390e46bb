"""How a compression can fail. A failure is an outcome to be recorded, not a crash."""

from collections.abc import Sequence
from typing import Literal

from ctxbench.conversation.model import Message

FailureKind = Literal["error", "empty", "over_long", "truncated", "misbehaved", "cannot_fit", "rate_limited"]


class CompressionFailed(Exception):
    """A strategy could not compress; the context manager's policy decides what happens.

    `kind` is `error` (the summarizer raised), `empty` (it wrote nothing), `over_long`
    (longer than what it should replace), `truncated` (cut off before its first sentence
    ended), `misbehaved` (somebody's strategy or summarizer broke its contract), `cannot_fit`
    (what must stay is over the budget) or `rate_limited` (too many summaries were asked for).
    `final`: trying again would give the same.
    """

    def __init__(self, kind: FailureKind, detail: str, *, final: bool = False) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.final = final


class CannotFit(CompressionFailed):
    """What must stay is over the budget; `messages` is the smallest context that there is."""

    def __init__(self, messages: Sequence[Message], sizes: dict[str, int], max_tokens: int) -> None:
        parts = ", ".join(f"{name} {tokens:,} tokens" for name, tokens in sizes.items())
        super().__init__("cannot_fit", f"{parts}; the budget is {max_tokens:,}", final=True)
        self.messages = list(messages)
