"""What a compression strategy is.

To add one: a class with these two methods in a file of its own here, and a file of
its settings in `configs/strategy/`. What a strategy dropped, kept and added is found
by comparing its input and its output; it keeps no record itself.
"""

from collections.abc import Sequence
from typing import Protocol

from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.base import Estimator


class CompressionStrategy(Protocol):
    """Turns a context into a smaller one.

    It never changes its input, never drops a system message, and keeps no state but
    its settings, so that several threads may share it.
    """

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """The messages to send instead; raises `CompressionFailed` when it cannot."""
        ...

    def estimate_tokens(self, messages: Sequence[Message]) -> int:
        """The tokens of messages, as this strategy sees them."""
        ...


class EstimatorStrategy:
    """A base for strategies that count with an estimator."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator

    def estimate_tokens(self, messages: Sequence[Message]) -> int:
        """The estimator's count."""
        return self.estimator.estimate(messages)
