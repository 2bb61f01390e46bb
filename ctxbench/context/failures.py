"""How a compression can fail. A failure is an outcome to be recorded, not a crash."""

from typing import Literal

FailureKind = Literal["error", "empty", "over_long", "truncated"]


class CompressionFailed(Exception):
    """A strategy could not compress; the context manager's policy decides what happens.

    `kind` is `error` (the summarizer raised), `empty` (it wrote nothing), `over_long`
    (longer than what it should replace) or `truncated` (cut off before its first sentence
    ended). `final`: trying again would give the same.
    """

    def __init__(self, kind: FailureKind, detail: str, *, final: bool = False) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.final = final
