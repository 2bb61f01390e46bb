"""Sessions in Redis: one list a session, shared by processes and machines, with an optional TTL."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ctxbench.context.storage.base import pack, unpack
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError


class RedisStorage:
    """Sessions under `prefix + session id`. `ttl_s`: seconds after the last write until a session is gone."""

    def __init__(
        self, url: str = "redis://127.0.0.1:6379/0", ttl_s: int | None = None, prefix: str = "ctxbench:"
    ) -> None:
        if ttl_s is not None and ttl_s <= 0:
            raise CtxbenchError(f"storage redis: ttl_s is {ttl_s}; give seconds above 0, or null for no limit")
        self._url, self._ttl_s, self._prefix = url, ttl_s, prefix
        redis = _module()
        with self._errors():
            self._redis: Any = redis.Redis.from_url(url, socket_connect_timeout=5)
            self._redis.ping()

    def load(self, session_id: str) -> list[Message]:
        """The session's messages."""
        with self._errors():
            return [unpack(data) for data in self._redis.lrange(self._prefix + session_id, 0, -1)]

    def save(self, session_id: str, messages: Sequence[Message]) -> None:
        """Make these the session's messages."""
        key = self._prefix + session_id
        with self._errors(), self._redis.pipeline(transaction=True) as batch:
            batch.delete(key)
            if messages:
                batch.rpush(key, *map(pack, messages))
            self._expire(batch, key)
            batch.execute()

    def append(self, session_id: str, *messages: Message) -> None:
        """Add messages at the end."""
        if not messages:
            return
        key = self._prefix + session_id
        with self._errors(), self._redis.pipeline(transaction=True) as batch:
            batch.rpush(key, *map(pack, messages))
            self._expire(batch, key)
            batch.execute()

    def replace(self, session_id: str, old: Sequence[Message], new: Sequence[Message]) -> bool:
        """Put `new` in the place of `old`, if the session still begins with `old`.

        WATCH makes the transaction fail when somebody wrote since the comparison; an
        append meanwhile is no reason to give up, so it is compared and tried again.
        """
        key = self._prefix + session_id
        with self._errors(), self._redis.pipeline(transaction=True) as batch:
            while True:
                try:
                    batch.watch(key)
                    head = batch.lrange(key, 0, len(old) - 1) if old else []
                    if [unpack(data) for data in head] != list(old):
                        return False
                    batch.multi()
                    batch.ltrim(key, len(old), -1)
                    if new:
                        batch.lpush(key, *map(pack, reversed(new)))
                    self._expire(batch, key)
                    batch.execute()
                    return True
                except _module().WatchError:
                    continue

    def delete(self, session_id: str) -> None:
        """Forget the session."""
        with self._errors():
            self._redis.delete(self._prefix + session_id)

    def _expire(self, batch: Any, key: str) -> None:
        if self._ttl_s is not None:
            batch.expire(key, self._ttl_s)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (_module().RedisError, ValueError) as error:
            raise CtxbenchError(f"storage redis: {_without_password(self._url)}: {error}") from None


def _module() -> Any:
    """The redis package, which only those who choose this storage need."""
    try:
        import redis
    except ImportError:
        raise CtxbenchError("storage redis: the package redis is missing: pip install 'ctxbench[redis]'") from None
    return redis


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"
