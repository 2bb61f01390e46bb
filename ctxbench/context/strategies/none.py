"""none: sends everything, whatever the budget. What an application without compression does."""

from collections.abc import Sequence

from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.conversation.model import Message


class NoCompression(EstimatorStrategy):
    """Keeps all messages."""

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """A copy of the input."""
        return list(messages)
