"""What every adapter must do, and the conversation that the tests' values are worked out for."""

import asyncio
import copy
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ModelError
from ctxbench.tokens.estimators.chars4 import Chars4


class Words:
    """One token a word and one a call, so that the tests' budgets can be counted by hand."""

    def estimate(self, messages: Sequence[Message]) -> int:
        words = sum(len(message.content.split()) for message in messages if isinstance(message.content, str))
        return words + sum(len(message.tool_calls) for message in messages)


class Writes:
    """A summarizer that writes, or raises, what it is told, and keeps what it was shown."""

    def __init__(self, answer: str | Exception | None = "They looked for docks.") -> None:
        self.answer = answer
        self.shown: list[Message] = []

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        self.shown = list(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def turn(number: int) -> list[Message]:
    """A question of four words, a call without text, a result of two words, an answer of three."""
    call = ToolCall(f"call_{number}", FunctionCall("find", f'{{"dock":  {number}}}'))
    return [
        Message("user", f"Where is order {number}?"),
        Message("assistant", None, tool_calls=(call,)),
        Message("tool", f"Dock {number}.", tool_call_id=call.id),
        Message("assistant", f"At dock {number}.", extra={"x_rated": True}),
    ]


TALK = [Message("system", "Be brief."), *(message for number in range(5) for message in turn(number))]
"""Twenty-one messages: two words, then five turns of ten."""


def places(kept: Sequence[Message]) -> list[int]:
    """Where the very messages of `TALK` stand in it; -1 for any other message."""
    return [next((place for place, message in enumerate(TALK) if message is one), -1) for one in kept]


def in_order(kept: Sequence[Message], messages: Sequence[Message]) -> bool:
    """Whether the kept messages are the very messages given, in their order."""
    rest = iter(messages)
    return all(any(message is one for message in rest) for one in kept)


def check_callers(strategy: CompressionStrategy, max_tokens: int) -> None:
    """One result for eight threads, and with an event loop running; the input stays as it is."""
    before = copy.deepcopy(TALK)
    expected = strategy.compress(TALK, max_tokens)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: strategy.compress(TALK, max_tokens), range(16)))

    async def inside() -> list[Message]:
        return strategy.compress(TALK, max_tokens)

    assert results == [expected] * 16
    assert asyncio.run(inside()) == expected
    assert before == TALK
    assert len(expected) < len(TALK)


def check_failures(make: Callable[[Writes], CompressionStrategy], max_tokens: int) -> None:
    """What the summarizer cannot write is a failed compression, whatever the library makes of it."""
    for answer, kind in ((ModelError("it is down"), "error"), (" ", "empty"), (None, "empty")):
        with pytest.raises(CompressionFailed, match=f"^{kind}: ") as caught:
            make(Writes(answer)).compress(TALK, max_tokens)
        assert not caught.value.final
    with pytest.raises(CtxbenchError, match="no key"):
        make(Writes(CtxbenchError("no key"))).compress(TALK, max_tokens)


def check_missing(monkeypatch: pytest.MonkeyPatch, module: str, make: Callable[[Chars4], object], message: str) -> None:
    """Without the package, one line that says what to install."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CtxbenchError) as caught:
        make(Chars4())
    assert str(caught.value) == message
