"""Runs a strategy that somebody else wrote, and says by its name what it did wrong.

The strategy gets copies, so that it can spoil neither the store nor the recorded
conversation. What becomes of a failure is the context manager's policy. Good or bad
compression is not judged here, only what the contract forbids.
"""

import inspect
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import msgspec

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.conversation.model import Message, content_text
from ctxbench.errors import CtxbenchError
from ctxbench.loading import told
from ctxbench.models.base import ModelError
from ctxbench.tokens.estimators.base import Estimator

SHOWN_CHARACTERS = 40
"""How much of a message a failure quotes."""


class Guarded:
    """The strategy `strategy`, called `name` in failures.

    `estimator` counts where the strategy has no `estimate_tokens` of its own. A failure is
    a `CompressionFailed` of kind `misbehaved`, which is not tried again; a failed request
    to a model is of kind `error`, which is. A `CtxbenchError` of the user's code passes.
    """

    def __init__(self, strategy: Any, name: str, estimator: Estimator | None = None) -> None:
        self._strategy, self.name = strategy, name
        _check_compress(strategy, name)
        own = getattr(type(strategy), "estimate_tokens", None)
        counts_itself = own is not None and own is not EstimatorStrategy.estimate_tokens
        self.estimator = None if counts_itself else estimator or getattr(strategy, "estimator", None)
        if not counts_itself and self.estimator is None:
            raise CtxbenchError(f"{name} has no method estimate_tokens(messages), and no estimator was given to it")

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """What the strategy returned, once it is proved to keep the contract; else `CompressionFailed`."""
        before = [_pack(message) for message in messages]
        given = unpacked(before)
        try:
            returned = self._strategy.compress(given, max_tokens, session_id=session_id)
        except ModelError as error:
            raise CompressionFailed("error", f"{self.name}: {error}") from error
        except (CompressionFailed, CtxbenchError):
            raise
        except (Exception, SystemExit) as error:
            raise CompressionFailed("misbehaved", f"{self.name} raised {told(error)}", final=True) from error
        if change := _change(messages, before, given):
            self._fail(f"changed its input: {change}")
        result = self._messages(returned)
        self._refuse_lost_system(messages, result)
        self._refuse_invented(messages, result)
        return result

    def estimate_tokens(self, messages: Sequence[Message]) -> int:
        """The strategy's own count, or the estimator's; raises `CtxbenchError` when it is no count."""
        if self.estimator is not None:
            return self.estimator.estimate(messages)
        try:
            tokens = self._strategy.estimate_tokens(list(messages))
        except CtxbenchError:
            raise
        except (Exception, SystemExit) as error:
            raise CtxbenchError(f"{self.name}: estimate_tokens raised {told(error)}") from error
        if not isinstance(tokens, int) or tokens < 0:
            raise CtxbenchError(f"{self.name}: estimate_tokens gave {tokens!r}; tokens are whole numbers from 0")
        return tokens

    def _messages(self, returned: Any) -> list[Message]:
        """Copies of what was returned, so that the strategy cannot change them later."""
        if inspect.iscoroutine(returned):
            returned.close()  # else Python warns that nobody awaited it
        if not isinstance(returned, list):
            self._fail(f"returned {_a(returned)}, not a list of messages")
        result = []
        for index, item in enumerate(returned):
            if not isinstance(item, Message):
                self._fail(f"returned a list whose item {index} is {_a(item)}, not a Message")
            try:
                result.append(msgspec.json.decode(msgspec.json.encode(item), type=Message))
            except (msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
                self._fail(f"returned a list whose item {index} is no valid message: {error}")
        return result

    def _refuse_lost_system(self, messages: Sequence[Message], result: Sequence[Message]) -> None:
        """A system message may be extended, as by a summary, but its text must stand in one that is sent."""
        sent = [content_text(message) for message in result if message.is_system]
        for message in messages:
            if message.is_system and not any(content_text(message) in text for text in sent):
                self._fail(f"dropped a system message: {_quoted(message)}")

    def _refuse_invented(self, messages: Sequence[Message], result: Sequence[Message]) -> None:
        known = _tool_ids(messages)
        for message in result:
            if new := _tool_ids([message]) - known:
                what = "tool result" if message.role == "tool" else "tool call"
                self._fail(f"invented a {what}: its id {sorted(map(str, new))[0]!r} is not in the input")
        talk = [message for message in messages if not message.is_system]
        told_now = [message for message in result if not message.is_system]
        if len(told_now) > len(talk) + 1:  # one more than before may be a summary
            old = Counter(map(_pack, talk))
            old.subtract(map(_pack, told_now))
            first = next(message for message in told_now if old[_pack(message)] < 0)
            self._fail(f"invented messages: {len(told_now)} for {len(talk)}, such as {first.role} {_quoted(first)}")

    def _fail(self, what: str) -> NoReturn:
        raise CompressionFailed("misbehaved", f"{self.name} {what}", final=True)


def guarded(strategy: Any) -> Any:
    """The strategy, guarded unless it is one of ctxbench's own."""
    if type(strategy).__module__.startswith("ctxbench.context.strategies."):
        return strategy
    return Guarded(strategy, type(strategy).__name__)


def unpacked(packed: Iterable[bytes]) -> list[Message]:
    """Messages that share nothing with those that were packed."""
    return [msgspec.json.decode(one, type=Message) for one in packed]


def _pack(message: Message) -> bytes:
    return msgspec.json.encode(message)


def _change(messages: Sequence[Message], before: list[bytes], given: list[Any]) -> str | None:
    """What is different in the list that the strategy was given."""
    if len(given) != len(before):
        return f"the list had {len(before)} messages and has {len(given)} now"
    for index, (old, now) in enumerate(zip(before, given, strict=True)):
        try:
            same = _pack(now) == old
        except (TypeError, ValueError, OverflowError, RecursionError):
            same = False
        if not same:
            return f"message {index} ({messages[index].role} {_quoted(messages[index])})"
    return None


def _check_compress(strategy: Any, name: str) -> None:
    compress = getattr(strategy, "compress", None)
    if not callable(compress):
        raise CtxbenchError(f"{name} has no method compress(messages, max_tokens, *, session_id=None)")
    try:
        inspect.signature(compress).bind([], 0, session_id=None)
    except TypeError as error:
        raise CtxbenchError(
            f"{name}.compress takes {inspect.signature(compress)}: {error}; "
            "it is called with (messages, max_tokens, session_id=...)"
        ) from None


def _tool_ids(messages: Iterable[Message]) -> set[str | None]:
    ids: set[str | None] = {message.tool_call_id for message in messages if message.role == "tool"}
    return ids.union(call.id for message in messages for call in message.tool_calls)


def _a(thing: object) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"


def _quoted(message: Message) -> str:
    text = " ".join(content_text(message).split())
    return repr(text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…")
