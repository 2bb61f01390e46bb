"""hybrid: decides for each context whether the cheap strategy or the thorough one compresses it.

By `messages`: the phase of a conversation, the thorough one from so many messages on. By
`tokens`: the same by length. By `cost`: the thorough one while what a summarizer would read,
spread over the turns until the next compression, is at most a share of a request. By
`session`: the thorough one for sessions whose id matches a pattern.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal

from ctxbench.context.strategies.base import CompressionStrategy, EstimatorStrategy
from ctxbench.context.window import check_count
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError, unknown_name
from ctxbench.tokens.estimators.base import Estimator

By = Literal["messages", "tokens", "cost", "session"]
TURNS = 10
"""Requests that a summary is expected to last for."""


class Hybrid(EstimatorStrategy):
    """`cheap` or `thorough`, decided `by` the `threshold` (a count, or a share for cost) or the `sessions` patterns."""

    def __init__(
        self,
        estimator: Estimator,
        cheap: CompressionStrategy,
        thorough: CompressionStrategy,
        by: By = "tokens",
        threshold: float = 2000,
        sessions: Sequence[str] = (),
    ) -> None:
        super().__init__(estimator)
        if by not in ("messages", "tokens", "cost", "session"):
            raise unknown_name("strategy.by", by, ["messages", "tokens", "cost", "session"])
        if by == "session" and not sessions:
            raise CtxbenchError("strategy.by=session needs strategy.sessions, a list of patterns such as [support-*]")
        self.cheap, self.thorough = cheap, thorough
        self.by = by
        self.threshold = threshold
        check_count("strategy.threshold", int(threshold))
        self.sessions = list(sessions)

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """What the chosen strategy makes of it."""
        chosen = self.thorough if self.is_thorough(messages, max_tokens, session_id) else self.cheap
        return chosen.compress(messages, max_tokens, session_id=session_id)

    def is_thorough(self, messages: Sequence[Message], max_tokens: int, session_id: str | None) -> bool:
        """The decision."""
        if self.by == "messages":
            return len(messages) >= self.threshold
        if self.by == "session":
            return any(fnmatchcase(session_id or "", pattern) for pattern in self.sessions)
        tokens = self.estimate_tokens(messages)
        if self.by == "tokens":
            return tokens >= self.threshold
        return tokens / TURNS <= self.threshold * max_tokens
