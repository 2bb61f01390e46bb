"""Sessions in this process's memory; gone when it ends."""

from collections.abc import Sequence
from threading import Lock

from ctxbench.conversation.model import Message


class MemoryStorage:
    """A dict of lists under one lock; every operation is a list operation."""

    def __init__(self) -> None:
        self._sessions: dict[str, list[Message]] = {}
        self._lock = Lock()

    def load(self, session_id: str) -> list[Message]:
        """A copy of the session's list; the messages themselves are immutable."""
        with self._lock:
            return list(self._sessions.get(session_id, ()))

    def save(self, session_id: str, messages: Sequence[Message]) -> None:
        """Make these the session's messages."""
        with self._lock:
            self._sessions[session_id] = list(messages)

    def append(self, session_id: str, *messages: Message) -> None:
        """Add messages at the end."""
        with self._lock:
            self._sessions.setdefault(session_id, []).extend(messages)

    def replace(self, session_id: str, old: Sequence[Message], new: Sequence[Message]) -> bool:
        """Put `new` in the place of `old`, if the session still begins with `old`."""
        with self._lock:
            stored = self._sessions.setdefault(session_id, [])
            if stored[: len(old)] != list(old):
                return False
            stored[: len(old)] = new
            return True

    def delete(self, session_id: str) -> None:
        """Forget the session."""
        with self._lock:
            self._sessions.pop(session_id, None)
