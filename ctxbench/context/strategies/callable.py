"""callable: any function from a list of chat-completions messages to a shorter one.

`Guarded` checks what it returns; here is only the conversion.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgspec

from ctxbench.context.failures import CompressionFailed
from ctxbench.conversation.model import Message, message_from_dict, message_to_dict


class FunctionStrategy:
    """Calls `function(messages)`, or `function(messages, max_tokens)` where it takes two arguments.

    It gets dictionaries of its own, which it may change. A coroutine is awaited.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function, self._name = function, name
        self._takes_budget = _takes(function, 2)

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """What the function returned, as messages."""
        raw = msgspec.json.decode(msgspec.json.encode([message_to_dict(message) for message in messages]))
        returned = self._function(raw, max_tokens) if self._takes_budget else self._function(raw)
        if inspect.iscoroutine(returned):
            returned = asyncio.run_coroutine_threadsafe(returned, _loop()).result()
        if not isinstance(returned, list):
            return returned  # type: ignore[no-any-return] # `Guarded` says what it is
        return [self._message(index, item) for index, item in enumerate(returned)]

    def _message(self, index: int, item: Any) -> Message:
        try:
            return message_from_dict(item)
        except msgspec.ValidationError as error:
            what = f"{self._name} returned a list whose item {index} is no chat-completions message: {error}"
            raise CompressionFailed("misbehaved", what, final=True) from None


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Whether the function can be called with so many positional arguments."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # written in C, and silent about its arguments
        return count == 1
    return True


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One event loop for all calls, for clients that a function keeps belong to the loop they began in."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="ctxbench-async").start()
    return loop
