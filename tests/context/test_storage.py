"""Every storage through the same tests: a real SQLite file, a real Redis server."""

import multiprocessing
import sqlite3
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxbench.context.storage.base import ContextStorage
from ctxbench.context.storage.memory import MemoryStorage
from ctxbench.context.storage.redis import RedisStorage
from ctxbench.context.storage.sqlite import SqliteStorage
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from tests.conversation.strategies import messages

A, B, C, D = (Message("user", text) for text in "abcd")


@pytest.fixture(params=["memory", "sqlite", "redis"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> ContextStorage:
    if request.param == "memory":
        return MemoryStorage()
    if request.param == "sqlite":
        return SqliteStorage(tmp_path / "sessions.sqlite")
    return RedisStorage(request.getfixturevalue("redis_url"), ttl_s=600, prefix=f"test-{uuid.uuid4()}:")


def test_sessions_are_apart_and_unknown_ones_are_empty(storage: ContextStorage) -> None:
    storage.append("one", A, B)
    storage.append("two", C)
    storage.append("two")
    assert (storage.load("one"), storage.load("two"), storage.load("three")) == ([A, B], [C], [])


def test_save_overwrites_and_delete_forgets(storage: ContextStorage) -> None:
    storage.append("s", A, B)
    storage.save("s", [C])
    assert storage.load("s") == [C]
    storage.save("s", [])
    assert storage.load("s") == []
    storage.append("s", D)
    storage.delete("s")
    assert storage.load("s") == []


@pytest.mark.parametrize(
    ("old", "new", "after"),
    [
        ([A, B], [D], [D, C]),
        ([A], [D, D, D], [D, D, D, B, C]),
        ([], [D], [D, A, B, C]),
        ([A, B, C], [], []),
    ],
)
def test_replace_puts_new_in_the_place_of_old(
    storage: ContextStorage, old: list[Message], new: list[Message], after: list[Message]
) -> None:
    storage.append("s", A, B, C)
    assert storage.replace("s", old, new)
    assert storage.load("s") == after
    storage.append("s", A)
    assert storage.load("s") == [*after, A]


@pytest.mark.parametrize("old", [[B], [A, C], [A, B, C, D]])
def test_replace_refuses_what_is_not_there(storage: ContextStorage, old: list[Message]) -> None:
    storage.append("s", A, B, C)
    assert not storage.replace("s", old, [D])
    assert storage.load("s") == [A, B, C]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(messages, max_size=4))
def test_any_message_comes_back_as_it_was(storage: ContextStorage, written: list[Message]) -> None:
    storage.save("any", written)
    assert storage.load("any") == written


def test_concurrent_appends_and_replacements_lose_nothing(storage: ContextStorage) -> None:
    head = Message("system", "head")
    storage.append("s", head)

    def append(thread: int) -> None:
        for index in range(20):
            storage.append("s", Message("user", f"{thread}-{index}"))

    def replace(_: int) -> None:
        for _ in range(20):
            assert storage.replace("s", [head], [head])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda job: job[0](job[1]), [(append, 0), (append, 1), (replace, 0), (append, 2), (replace, 1)]))
    stored = storage.load("s")
    assert stored[0] == head
    assert sorted(str(message.content) for message in stored[1:]) == sorted(
        f"{t}-{i}" for t in range(3) for i in range(20)
    )
    for thread in range(3):  # each thread's own order is kept
        own = [m.content for m in stored if str(m.content).startswith(f"{thread}-")]
        assert own == [f"{thread}-{index}" for index in range(20)]


def _append_many(path: str, process: int) -> None:
    storage = SqliteStorage(path)
    for index in range(25):
        storage.append("s", Message("user", f"{process}-{index}"))


def test_two_processes_append_to_one_sqlite_file(tmp_path: Path) -> None:
    path = str(tmp_path / "shared.sqlite")
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_append_many, args=(path, process)) for process in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(SqliteStorage(path).load("s")) == 50


def test_sqlite_is_in_wal_mode_and_sessions_outlive_the_object(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    SqliteStorage(path).append("s", A)
    assert SqliteStorage(path).load("s") == [A]
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_redis_forgets_after_the_ttl(redis_url: str) -> None:
    import redis

    prefix = f"test-{uuid.uuid4()}:"
    storage = RedisStorage(redis_url, ttl_s=100, prefix=prefix)
    storage.append("s", A)
    client = redis.Redis.from_url(redis_url)
    assert 90 < client.ttl(f"{prefix}s") <= 100
    client.pexpire(f"{prefix}s", 1)
    assert storage.replace("s", [A], [B]) or storage.load("s") == []
    assert RedisStorage(redis_url, prefix=prefix).load("other") == []
    client.close()


def test_no_redis_is_one_line_without_the_password() -> None:
    with pytest.raises(CtxbenchError, match=r"redis://127\.0\.0\.1:1/0") as error:
        RedisStorage("redis://user:secret@127.0.0.1:1/0")
    assert "secret" not in str(error.value)


def test_an_sqlite_file_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CtxbenchError, match="check that its folder exists"):
        SqliteStorage(tmp_path / "missing" / "s.sqlite")


def test_a_ttl_of_zero_is_refused(redis_url: str) -> None:
    with pytest.raises(CtxbenchError, match="give seconds above 0"):
        RedisStorage(redis_url, ttl_s=0)


def test_a_missing_redis_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(CtxbenchError, match=r"^storage redis: the package redis is missing: pip install"):
        RedisStorage("redis://127.0.0.1:1/0")
