"""Keeps sessions within a token budget: what an application calls before each request.

The manager loads the history, estimates it, and compresses only when the estimate is
over the budget. How is the strategy's matter, where messages are kept the storage's.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Literal

import msgspec
import tenacity

from ctxbench.context.background import BackgroundCompression
from ctxbench.context.failures import CannotFit, CompressionFailed
from ctxbench.context.sizes import SessionSizes
from ctxbench.context.storage.base import ContextStorage
from ctxbench.context.storage.memory import MemoryStorage
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.context.window import check_count, split_system
from ctxbench.conversation.model import Message
from ctxbench.conversation.repair import repair as mend
from ctxbench.conversation.validity import profile_rules
from ctxbench.errors import CtxbenchError

OnFailure = Literal["keep", "fallback", "raise"]
Outcome = Literal["fits", "compressed", "unchanged", "kept", "fallback", "cannot_fit"]


class Context(msgspec.Struct, frozen=True):
    """What would be sent to the model, and how it came about.

    `outcome`: `fits` (under the budget, untouched), `compressed`, `unchanged` (over the
    budget, but the strategy dropped nothing), `cannot_fit` (what must stay is over the
    budget: it is given alone, and `failure` says what it is), or, after a failure, `kept`
    (the whole history) or `fallback`. Estimates are tokens.
    """

    messages: list[Message]
    outcome: Outcome
    estimate_before: int
    estimate: int
    failure: str | None = None
    repairs: tuple[str, ...] = ()
    """What was changed so that the provider accepts the messages; the store keeps them as they were."""


class SessionStats(msgspec.Struct):
    """What happened in a session since this manager first saw it.

    `failures` are compressions that failed when their result was wanted, those in the background included.
    """

    contexts: int = 0
    compressions: int = 0
    failures: int = 0
    over_budget: int = 0
    messages: int = 0
    estimate: int = 0


class ContextManager:
    """Sessions, each with a budget of `max_tokens`.

    Args:
        strategy: how to compress.
        max_tokens: the budget of a context, in the strategy's estimate.
        storage: where histories are kept; by default in memory.
        write_back: store the compressed context in place of the history, as deployed
            systems do; by default the store keeps the full history.
        on_failure: what a failed compression gives: `keep` (system messages first, then
            all others: nothing is lost), `fallback` (what the fallback strategy makes of
            it) or `raise` (`CompressionFailed`).
        fallback: the strategy for `on_failure="fallback"`.
        retries: further tries after a failure, with exponential backoff from `backoff_s`.
        background_at: share of the budget from which a session is compressed in the background,
            so that nobody waits for it later; None: only when a context is asked for.
        repair: the provider's profile whose rules each context is mended for; None: contexts
            are given as they are.
    """

    def __init__(
        self,
        strategy: CompressionStrategy,
        max_tokens: int,
        *,
        storage: ContextStorage | None = None,
        write_back: bool = False,
        on_failure: OnFailure = "keep",
        fallback: CompressionStrategy | None = None,
        retries: int = 2,
        backoff_s: float = 0.5,
        background_at: float | None = None,
        repair: str | None = None,
    ) -> None:
        if on_failure not in ("keep", "fallback", "raise"):
            raise CtxbenchError(f"on_failure is {on_failure!r}; give keep, fallback or raise")
        if on_failure == "fallback" and fallback is None:
            raise CtxbenchError("on_failure=fallback needs a fallback strategy, such as SlidingWindow")
        self.strategy = strategy
        self.max_tokens = check_count("max_tokens", max_tokens)
        self.storage = storage if storage is not None else MemoryStorage()
        self.write_back = write_back
        self._on_failure, self._fallback = on_failure, fallback
        self._retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(1 + check_count("retries", retries)),
            wait=tenacity.wait_exponential(backoff_s, max=30.0) + tenacity.wait_random(0, backoff_s),
            retry=tenacity.retry_if_exception(_worth_retrying),
            reraise=True,
        )
        self._background = None
        if background_at is not None:
            self._background = BackgroundCompression(strategy, max_tokens, background_at)
        self._profile = repair
        if repair is not None:
            profile_rules(repair)  # an unknown one is refused now
        self._sizes = SessionSizes(strategy)
        self._stats: dict[str, SessionStats] = {}
        self._lock = Lock()

    def add_message(self, session_id: str, message: Message) -> None:
        """Append a message to the session."""
        self.storage.append(session_id, message)

    def get_context(self, session_id: str) -> list[Message]:
        """The messages to send to the model now."""
        return self.build_context(session_id).messages

    def build_context(self, session_id: str) -> Context:
        """Like `get_context`, with how the context came about."""
        history = self.storage.load(session_id)
        before = self._sizes.estimate(session_id, history)
        missed = 0
        if before <= self.max_tokens:
            context = Context(list(history), "fits", before, before)
        else:
            context, missed = self._made(session_id, history, before)
        self._count(session_id, context, len(history), missed)
        may_store = self.write_back and context.outcome in ("compressed", "fallback")
        if may_store and self.storage.replace(session_id, history, context.messages):
            history = context.messages
        if self._background is not None and context.failure is None and context.estimate <= self.max_tokens:
            self._background.look_ahead(session_id, history, context.messages, context.estimate)
        return context if self._profile is None else self._mended(context, self._profile)

    def set_system_prompt(self, session_id: str, text: str) -> None:
        """Make `text` the session's first system message, in the place of the one there is."""
        prompt = Message("system", text)
        while True:
            stored = self.storage.load(session_id)
            has_prompt = bool(stored) and stored[0].is_system
            if self.storage.replace(session_id, stored[: int(has_prompt)], [prompt]):
                return

    def clear(self, session_id: str) -> None:
        """Forget the session: its messages and its statistics."""
        self.storage.delete(session_id)
        self._sizes.forget(session_id)
        if self._background is not None:
            self._background.forget(session_id)
        with self._lock:
            self._stats.pop(session_id, None)

    def stats(self, session_id: str) -> SessionStats:
        """A copy of the session's statistics; all zero for an unknown session."""
        with self._lock:
            return msgspec.structs.replace(self._stats.get(session_id, SessionStats()))

    def _made(self, session_id: str, history: list[Message], before: int) -> tuple[Context, int]:
        """A context smaller than the history, and how many background compressions that it needed had failed."""
        missed = 0
        if self._background is not None:
            prepared, missed = self._background.take(session_id, history)
            if prepared is not None:
                return self._context(prepared, "compressed", before), missed
        return self._compressed(session_id, history, before), missed

    def _compressed(self, session_id: str, history: list[Message], before: int) -> Context:
        try:
            messages = self._retrying(self.strategy.compress, history, self.max_tokens, session_id=session_id)
            return self._context(messages, "unchanged" if messages == history else "compressed", before)
        except CompressionFailed as failure:
            if self._on_failure == "raise":
                raise
            if isinstance(failure, CannotFit):
                return self._context(failure.messages, "cannot_fit", before, str(failure))
            if self._on_failure == "keep" or self._fallback is None:
                system, others = split_system(history)
                return Context(system + others, "kept", before, before, str(failure))
            messages = self._fallback.compress(history, self.max_tokens, session_id=session_id)
            return self._context(messages, "fallback", before, str(failure))

    def _mended(self, context: Context, profile: str) -> Context:
        messages, changes = mend(context.messages, profile)
        if not changes:
            return context
        estimate = self.strategy.estimate_tokens(messages)
        return msgspec.structs.replace(context, messages=messages, estimate=estimate, repairs=tuple(changes))

    def _context(
        self, messages: Sequence[Message], outcome: Outcome, before: int, failure: str | None = None
    ) -> Context:
        return Context(list(messages), outcome, before, self.strategy.estimate_tokens(messages), failure)

    def _count(self, session_id: str, context: Context, stored: int, missed: int) -> None:
        with self._lock:
            stats = self._stats.setdefault(session_id, SessionStats())
            stats.contexts += 1
            stats.compressions += context.outcome in ("compressed", "fallback")
            stats.failures += missed + (context.failure is not None)
            stats.over_budget += context.estimate > self.max_tokens
            stats.messages, stats.estimate = stored, context.estimate_before


def _worth_retrying(error: BaseException) -> bool:
    return isinstance(error, CompressionFailed) and not error.final
