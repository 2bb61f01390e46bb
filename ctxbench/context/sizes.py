"""Running estimates of sessions, so that a growing history costs its new messages only."""

from collections import OrderedDict
from collections.abc import Sequence

from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.base import AdditiveEstimator

REMEMBERED_SESSIONS = 1024
"""Sessions whose running sum is kept; a session beyond that is summed up again."""


class SessionSizes:
    """Estimates whole histories for a strategy.

    With an additive estimator the sum over the messages seen last time is kept. That the
    history still begins with them is checked by comparison, which is fast because
    storages in memory return the same objects; a rewritten history is summed up anew.
    """

    def __init__(self, strategy: CompressionStrategy) -> None:
        self._strategy = strategy
        estimator = getattr(strategy, "estimator", None)
        self._estimator = estimator if isinstance(estimator, AdditiveEstimator) else None
        self._seen: OrderedDict[str, tuple[Sequence[Message], int]] = OrderedDict()

    def estimate(self, session_id: str, messages: Sequence[Message]) -> int:
        """Estimated tokens of the session's messages."""
        if self._estimator is None:
            return self._strategy.estimate_tokens(messages)
        seen, size = self._seen.get(session_id, ((), 0))
        if messages[: len(seen)] != seen:
            seen, size = (), 0
        size += self._estimator.sizes(messages[len(seen) :])
        self._seen.pop(session_id, None)  # so that it comes last; another thread may have forgotten it meanwhile
        self._seen[session_id] = messages, size
        while len(self._seen) > REMEMBERED_SESSIONS:
            self._seen.popitem(last=False)
        return self._estimator.tokens(size)

    def forget(self, session_id: str) -> None:
        """Drop what is remembered of a session."""
        self._seen.pop(session_id, None)
