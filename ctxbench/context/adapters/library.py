"""What the adapters share: finding the package, its failures, the summarizer in a model's place.

An adapter gives a library messages in its own form, lets it compress, and gives back
the very messages that the library kept. What the library does wrong is not mended here:
an invalid pair, a lost message, a context over the budget is what a run should show.
"""

import asyncio
import contextvars
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.context.window import check_count, split_system
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ModelError
from ctxbench.tokens.estimators.base import Estimator

T = TypeVar("T")


class SummaryWriter:
    """The summarizer, as a library's model calls it; it remembers why it failed.

    Libraries wrap, retry or swallow what their model raises.
    """

    def __init__(self, summarizer: Summarizer, max_tokens: int) -> None:
        self._summarizer = summarizer
        self._max_tokens = max_tokens
        self.failure: Exception | None = None

    def write(self, messages: Sequence[Message]) -> str:
        """A summary that is not blank; raises what the summarizer raises, or `CompressionFailed`."""
        try:
            text = self._summarizer.summarize(messages, self._max_tokens)
            if not text or not text.strip():
                raise CompressionFailed("empty", f"the summarizer wrote nothing for {len(messages)} messages")
        except Exception as error:
            self.failure = error
            raise
        self.failure = None
        return text


class LibraryStrategy(EstimatorStrategy, ABC):
    """A strategy whose work another package does.

    A subclass names itself, its extra of ctxbench and the modules that it needs, and
    compresses in `_run`. With `system_apart` the library does not see the system
    messages, and the budget is less by what they take: where a library holds the system
    prompt outside of the history, this is how its users meet it.
    """

    name: ClassVar[str]
    extra: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]

    def __init__(self, estimator: Estimator, *, system_apart: bool) -> None:
        super().__init__(estimator)
        self.system_apart = system_apart
        require(self.modules, self.name, self.extra)

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """What the library keeps, in its order; raises `CompressionFailed` when it raises."""
        system, others = split_system(messages) if self.system_apart else ([], list(messages))
        if not others:
            return system
        room = max(1, max_tokens - self.estimate_tokens(system)) if system else max_tokens
        try:
            return system + self._run(others, room)
        except Exception as error:
            raise failure(self.extra, error) from error

    @abstractmethod
    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        """What the library makes of the messages."""


class LibrarySummary(LibraryStrategy):
    """A library that asks a model for a summary: the summarizer answers, up to `summary_tokens` tokens."""

    def __init__(
        self, estimator: Estimator, summarizer: Summarizer, *, summary_tokens: int, system_apart: bool
    ) -> None:
        super().__init__(estimator, system_apart=system_apart)
        self.summarizer = summarizer
        self.summary_tokens = check_count("strategy.summary_tokens", summary_tokens)

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        writer = SummaryWriter(self.summarizer, self.summary_tokens)
        try:
            kept = self._summarize(messages, max_tokens, writer)
        except Exception as error:
            raise writer.failure or error from error
        if writer.failure is not None:
            raise writer.failure
        return kept

    @abstractmethod
    def _summarize(self, messages: list[Message], max_tokens: int, writer: SummaryWriter) -> list[Message]:
        """The same, with `writer` as the library's model."""


class Sent(Generic[T]):
    """Messages in a library's form, and the way back.

    What the library gives back as it was given is the very message it was made of. What
    it changed or added is told by `original` being None.
    """

    def __init__(self, messages: Sequence[Message], convert: Callable[[Message, int], T]) -> None:
        self.messages = messages
        self.items = [convert(message, index) for index, message in enumerate(messages)]
        self._convert = convert

    def original(self, item: T, index: int | None) -> Message | None:
        """The message that `item` was made of, unless the library changed it since."""
        if index is None or index < 0 or self._convert(self.messages[index], index) != item:
            return None
        return self.messages[index]


def failure(library: str, error: Exception) -> Exception:
    """The exception to raise for one from inside a library: a fault that the user can mend stays as it is."""
    if isinstance(error, ModelError):
        return CompressionFailed("error", str(error))
    if isinstance(error, (CompressionFailed, CtxbenchError)):
        return error
    reason = " ".join(str(error).split())[:200]
    return CompressionFailed("error", f"{library}: {type(error).__name__}: {reason}", final=True)


def require(modules: Sequence[str], strategy: str, extra: str) -> None:
    """Import what a strategy needs; raises `CtxbenchError` that names the extra when it is missing."""
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError:
        raise CtxbenchError(f"strategy={strategy} needs {extra}: pip install 'ctxbench[{extra}]'") from None


def run_async(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine, from any thread, whether or not an event loop runs in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, lambda: asyncio.run(work())).result()


def parsed(call: ToolCall) -> dict[str, Any] | None:
    """The arguments as a library wants them; None where they are no JSON object."""
    try:
        return msgspec.json.decode(call.function.arguments, type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def new_call(id: str, name: str, arguments: Any) -> ToolCall:
    """A tool call that a library wrote itself; `arguments` is JSON text or what it stands for."""
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return ToolCall(id, FunctionCall(name, text))
