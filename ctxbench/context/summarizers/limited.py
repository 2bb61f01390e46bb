"""Writes no more summaries in a time than allowed, over all sessions and threads that have the same limit.

Nothing waits: what is over the limit fails at once, and the context manager's policy
decides what is sent instead.
"""

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.strategies import MovingWindowRateLimiter

_lock = Lock()


class LimitedSummarizer:
    """`summarizer`, asked at most as often as `limit` says, such as `30/minute`.

    `counted_in` is where summaries are counted: in this process, or in a server that
    several processes share (`redis://HOST:PORT`, and what else the package limits knows).
    """

    def __init__(self, summarizer: Summarizer, limit: str, counted_in: str = "memory://") -> None:
        self.summarizer, self.limit, self._counted_in = summarizer, str(limit), counted_in
        self._item = _parsed(self.limit)
        with _lock:
            self._limiter = _limiter(counted_in)

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        """The summarizer's text; raises `CompressionFailed` of kind `rate_limited` when it is not its time."""
        wait_s = self._wait_s()
        if wait_s:
            what = f"the limit is {self.limit} summaries; try again in {wait_s} s"
            raise CompressionFailed("rate_limited", what, final=True)
        return self.summarizer.summarize(messages, max_tokens)

    def _wait_s(self) -> int:
        """0, and one summary is counted; or the seconds until the next one is allowed."""
        from limits.errors import StorageError

        try:
            with _lock:
                if self._limiter.hit(self._item, "summaries"):
                    return 0
                reset = self._limiter.get_window_stats(self._item, "summaries").reset_time
        except StorageError as error:
            raise _unusable(self._counted_in, error.storage_error) from None
        return max(1, math.ceil(reset - time.time()))


def _parsed(limit: str) -> "RateLimitItem":
    from limits import parse_many

    try:
        items = parse_many(limit)
    except ValueError:
        items = []
    if len(items) != 1 or items[0].amount < 1:
        raise CtxbenchError(f"rate_limit is {limit!r}; give summaries per time, such as 30/minute or 500/hour")
    return items[0]


@lru_cache
def _limiter(counted_in: str) -> "MovingWindowRateLimiter":
    from limits.storage import storage_from_string
    from limits.strategies import MovingWindowRateLimiter

    try:
        return MovingWindowRateLimiter(storage_from_string(counted_in, wrap_exceptions=True))
    except Exception as error:  # each kind of storage has its own
        raise _unusable(counted_in, error) from None


def _unusable(counted_in: str, error: Exception) -> CtxbenchError:
    scheme, _, rest = counted_in.partition("://")
    return CtxbenchError(f"rate_limit_in {scheme}://{rest.rpartition('@')[2]}: {error}; give memory:// or redis://HOST")
