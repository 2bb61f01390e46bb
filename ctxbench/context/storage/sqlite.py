"""Sessions in an SQLite file, shared by threads and processes.

WAL mode lets readers go on while one writes; a writer waits for another up to
`timeout_s`. Each operation is one transaction.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import tenacity

from ctxbench.context.storage.base import pack, unpack
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError

_SCHEMA = """CREATE TABLE IF NOT EXISTS messages (
    session_id TEXT NOT NULL, position INTEGER NOT NULL, message BLOB NOT NULL,
    PRIMARY KEY (session_id, position)) WITHOUT ROWID"""
_ALL = "SELECT message FROM messages WHERE session_id = ? ORDER BY position"
_BOUNDS = "SELECT MIN(position), MAX(position) FROM messages WHERE session_id = ?"
_INSERT = "INSERT INTO messages VALUES (?, ?, ?)"


class SqliteStorage:
    """Sessions in one SQLite file; a connection is opened for each operation."""

    def __init__(self, path: str | Path, timeout_s: float = 30.0) -> None:
        self._path, self._timeout_s = Path(path), timeout_s
        # Switching a new file to WAL does not wait for another process that does the same: try again.
        trying = tenacity.Retrying(
            stop=tenacity.stop_after_delay(timeout_s),
            wait=tenacity.wait_random(0.01, 0.1),
            retry=tenacity.retry_if_exception_message(match=".*locked"),
            reraise=True,
        )
        with self._errors():
            trying(self._create)

    def load(self, session_id: str) -> list[Message]:
        """The session's messages."""
        with self._transaction(write=False) as connection:
            return [unpack(row[0]) for row in connection.execute(_ALL, (session_id,))]

    def save(self, session_id: str, messages: Sequence[Message]) -> None:
        """Make these the session's messages."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))
            _insert(connection, session_id, 0, messages)

    def append(self, session_id: str, *messages: Message) -> None:
        """Add messages at the end."""
        with self._transaction() as connection:
            _, last = connection.execute(_BOUNDS, (session_id,)).fetchone()
            _insert(connection, session_id, 0 if last is None else last + 1, messages)

    def replace(self, session_id: str, old: Sequence[Message], new: Sequence[Message]) -> bool:
        """Put `new` in the place of `old`, if the session still begins with `old`.

        The new messages take the positions just before those that stay, which may
        be negative: nothing that stays is rewritten.
        """
        with self._transaction() as connection:
            _, last = connection.execute(_BOUNDS, (session_id,)).fetchone()
            head = connection.execute(f"{_ALL} LIMIT ?", (session_id, len(old))).fetchall()
            if [unpack(row[0]) for row in head] != list(old):
                return False
            gone = "DELETE FROM messages WHERE session_id = ? AND position < ?"
            kept_from = connection.execute(
                "SELECT position FROM messages WHERE session_id = ? ORDER BY position LIMIT 1 OFFSET ?",
                (session_id, len(old)),
            ).fetchone()
            end = kept_from[0] if kept_from else (last + 1 if last is not None else 0)
            connection.execute(gone, (session_id, end))
            _insert(connection, session_id, end - len(new), new)
            return True

    def delete(self, session_id: str) -> None:
        """Forget the session."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        with self._errors(), closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            with connection:
                yield connection

    def _create(self) -> None:
        """Make the file and its table; WAL mode stays with the file."""
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_SCHEMA)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise CtxbenchError(
                f"storage {self._path}: {error}; check that its folder exists, can be written to and has space"
            ) from None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=self._timeout_s, isolation_level=None)
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection


def _insert(connection: sqlite3.Connection, session_id: str, start: int, messages: Sequence[Message]) -> None:
    rows = [(session_id, start + offset, pack(message)) for offset, message in enumerate(messages)]
    connection.executemany(_INSERT, rows)
