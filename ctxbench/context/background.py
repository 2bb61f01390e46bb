"""Compresses sessions before they are over their budget, while the conversation goes on.

A compression is started in a thread once a session is near its budget. Its result stands
for the messages that it was made from; those since then follow. It serves as long as both
fit, and before they no longer do the next one is made, from the whole history. What to
do when there is none is the context manager's matter.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from threading import BoundedSemaphore, Lock, Thread

from ctxbench.context.sizes import REMEMBERED_SESSIONS
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.models.usage import Ledger, ledger, note_ledger

THREADS = 8
"""Compressions under way at once in this process; when all are busy none is started, and the next turn tries again."""

_free = BoundedSemaphore(THREADS)


class _Prepared:
    """`result` stands, once it is there, for the messages of `base`."""

    def __init__(self, base: Sequence[Message], result: "Future[list[Message]]") -> None:
        self.base, self.result = list(base), result

    @property
    def failed(self) -> bool:
        return self.result.done() and self.result.exception() is not None

    def begins(self, history: Sequence[Message]) -> bool:
        return history[: len(self.base)] == self.base

    def context(self, history: Sequence[Message]) -> list[Message]:
        """The result, and the messages since."""
        return [*self.result.result(), *history[len(self.base) :]]

    def parts_tools(self, history: Sequence[Message]) -> bool:
        """Whether one of the messages since is a tool result whose call the result has not kept."""
        since = history[len(self.base) :]
        results = {message.tool_call_id for message in since if message.role == "tool"}
        return bool(results & _calls(self.base) - _calls(self.context(history))) if results else False


class _Session:
    """What is prepared for a session, oldest first, and what its compressions have cost since it was last noted."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.prepared: list[_Prepared] = []
        self.running: Future[list[Message]] | None = None
        self.spent: deque[Ledger] = deque()

    def note_spent(self) -> None:
        while self.spent:
            note_ledger(self.spent.popleft())


class BackgroundCompression:
    """At most one compression at a time for each session, in threads that end with the process.

    It is started at `share` of `max_tokens`, and aims at that. The next one is started when
    what the last one gives has come half of the way from there to `max_tokens`.
    """

    def __init__(self, strategy: CompressionStrategy, max_tokens: int, share: float) -> None:
        if not 0 < share < 1:
            raise CtxbenchError(f"background_at is {share}; give a share of the budget between 0 and 1, or null")
        self._strategy, self._max_tokens = strategy, max_tokens
        self._start = int(share * max_tokens)
        self._again = (self._start + max_tokens) // 2
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._lock = Lock()

    def take(self, session_id: str, history: Sequence[Message]) -> tuple[list[Message] | None, int]:
        """A context for the history that fits, if one was prepared, and how many had failed that would have served.

        Waits for a compression that is under way.
        """
        session = self._session(session_id)
        failures, found = 0, None
        for prepared in [one for one in session.prepared if one.begins(history)]:
            if prepared.result.exception() is not None:  # waits
                failures += 1
            elif not prepared.parts_tools(history):
                context = prepared.context(history)
                if self._strategy.estimate_tokens(context) <= self._max_tokens:
                    found = context
                    break
            with session.lock:
                session.prepared = [one for one in session.prepared if one is not prepared]
        session.note_spent()
        return found, failures

    def look_ahead(self, session_id: str, history: list[Message], context: list[Message], estimate: int) -> None:
        """Start a compression of the history, if it is time to. `estimate`: tokens of the context made of it."""
        session = self._session(session_id)
        session.note_spent()
        with session.lock:
            known = [one for one in session.prepared if one.begins(history) and not one.failed]
            if not known and estimate < self._again and context != history:
                known = [_Prepared(history, _done(context))]  # what somebody waited for serves later turns, too
            session.prepared = known
            busy = session.running is not None and not session.running.done()
            if busy or not self._is_time(known, history, estimate) or not _free.acquire(blocking=False):
                return
            prepared = _Prepared(history, Future())
            Thread(target=self._run, args=(session_id, session, prepared), daemon=True).start()
            session.running = prepared.result
            session.prepared = [*known[-1:], prepared]

    def forget(self, session_id: str) -> None:
        """Drop what is prepared for the session; what is under way comes to nothing."""
        with self._lock:
            self._sessions.pop(session_id, None)

    def _is_time(self, known: Sequence[_Prepared], history: Sequence[Message], estimate: int) -> bool:
        if not known:
            return estimate >= self._start
        last = known[-1]
        if not last.result.done() or len(last.base) == len(history):
            return False
        return self._strategy.estimate_tokens(last.context(history)) >= self._again

    def _run(self, session_id: str, session: _Session, prepared: _Prepared) -> None:
        try:
            try:
                with ledger() as usage:
                    result = self._strategy.compress(prepared.base, self._start, session_id=session_id)
            finally:
                session.spent.append(usage)
        except BaseException as error:  # whoever takes the result is told
            _free.release()
            prepared.result.set_exception(error)
        else:
            _free.release()
            prepared.result.set_result(list(result))

    def _session(self, session_id: str) -> _Session:
        with self._lock:
            session = self._sessions.setdefault(session_id, _Session())
            self._sessions.move_to_end(session_id)
            while len(self._sessions) > REMEMBERED_SESSIONS:
                self._sessions.popitem(last=False)
            return session


def _done(context: Sequence[Message]) -> "Future[list[Message]]":
    future: Future[list[Message]] = Future()
    future.set_result(list(context))
    return future


def _calls(messages: Iterable[Message]) -> set[str | None]:
    return {call.id for message in messages for call in message.tool_calls}
