"""What a strategy can do wrong is told by its name, and harms nobody."""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.manager import ContextManager
from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.context.strategies.callable import FunctionStrategy
from ctxbench.context.strategies.guarded import Guarded, guarded
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.context.summarizers.guarded import GuardedSummarizer
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ModelError, ModelUnavailable
from ctxbench.tokens.estimators.chars4 import Chars4

PARTS: list[dict[str, Any]] = [{"type": "text", "text": "a picture"}, {"type": "image_url", "image_url": {"url": "x"}}]


def messages() -> list[Message]:
    return [
        Message("system", "You are a patient librarian who knows every shelf of the house."),
        Message("user", msgspec.json.decode(msgspec.json.encode(PARTS))),
        Message("assistant", None, tool_calls=(ToolCall("call_1", FunctionCall("find", "{}")),)),
        Message("tool", "found", tool_call_id="call_1"),
        Message("assistant", "Here it is.", extra={"provider": {"id": 1}}),
        Message("user", "Thank you."),
    ]


class Does:
    """A strategy that does what it is told."""

    def __init__(self, what: Callable[[list[Message]], Any]) -> None:
        self.what = what

    def compress(self, messages: list[Message], max_tokens: int, *, session_id: str | None = None) -> Any:
        return self.what(messages)


def failure_of(what: Callable[[list[Message]], Any]) -> str:
    with pytest.raises(CompressionFailed) as caught:
        Guarded(Does(what), "mine", Chars4()).compress(messages(), 10)
    assert (caught.value.kind, caught.value.final) == ("misbehaved", True)
    return str(caught.value)


def divides(_: list[Message]) -> list[Message]:
    return [1 / 0]  # type: ignore[list-item]


def ends(_: list[Message]) -> None:
    raise SystemExit(3)


def spoils_a_part(given: list[Message]) -> list[Message]:
    given[1].content[1]["image_url"]["url"] = "y"  # type: ignore[index]
    return given


def spoils_an_extra(given: list[Message]) -> list[Message]:
    given[4].extra["provider"]["id"] = object()
    return given[:1]


def drops_in_place(given: list[Message]) -> list[Message]:
    del given[1]
    return given


def wrong(content: Any) -> Message:
    return Message("user", content)


def made(*contents: str, role: str = "user") -> list[Message]:
    return [Message(role, content) for content in contents]


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (divides, r"mine raised ZeroDivisionError: division by zero \(.*test_guarded\.py:\d+\)"),
        (ends, r"mine raised SystemExit: 3 \(.*test_guarded\.py:\d+\)"),
        (lambda given: None, "mine returned None, not a list of messages"),
        (lambda given: (one for one in given), "mine returned a generator, not a list"),
        (lambda given: waits([], 1), "mine returned a coroutine, not a list"),
        (lambda given: {"messages": given}, "mine returned a dict, not a list"),
        (lambda given: [*given[:2], {"role": "user"}], "mine returned a list whose item 2 is a dict, not a Message"),
        (lambda given: [*given, None], "item 6 is None, not a Message"),
        (lambda given: [*given, wrong(7)], r"item 6 is no valid message: .*got `int` - at `\$\.content`"),
        (lambda given: [*given, wrong([object()])], "item 6 is no valid message: .*object"),
        (spoils_a_part, r"mine changed its input: message 1 \(user 'a picture'\)"),
        (spoils_an_extra, r"mine changed its input: message 4 \(assistant 'Here it is\.'\)"),
        (drops_in_place, "mine changed its input: the list had 6 messages and has 5 now"),
        (lambda given: given.reverse() or given, r"changed its input: message 0 \(system"),
        (lambda given: given[1:], "mine dropped a system message: 'You are a patient librarian who knows e…'"),
        (lambda given: [Message("user", given[0].content), *given[1:]], "mine dropped a system message"),
        (lambda given: [*given, Message("tool", "x", tool_call_id="new")], "invented a tool result: its id 'new'"),
        (
            lambda given: [given[0], Message("assistant", None, tool_calls=(ToolCall("c2", FunctionCall("f", "")),))],
            "invented a tool call: its id 'c2' is not in the input",
        ),
        (lambda given: given + made("more", "and more"), "invented messages: 7 for 5, such as user 'more'"),
        (lambda given: given + given[4:], "invented messages: 7 for 5, such as assistant 'Here it is.'"),
    ],
)
def test_what_it_did_is_told_by_name(what: Callable[[list[Message]], Any], told: str) -> None:
    assert re.search(told, failure_of(what)), failure_of(what)


def test_the_line_is_that_of_the_users_code() -> None:
    told = failure_of(divides)
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "return [1 / 0]" in text)
    assert told.endswith(f":{line})")


@pytest.mark.parametrize(
    "what",
    [
        lambda given: given,
        lambda given: given[:1],
        lambda given: [*given, Message("user", "Summary of all that.")],
        lambda given: [Message("system", f"{given[0].content}\nSummary: nothing."), given[-1]],
        lambda given: [given[0], Message("system", "Summary"), *made("shorter", role="assistant")],
    ],
)
def test_what_keeps_the_contract_passes(what: Callable[[list[Message]], Any]) -> None:
    given = messages()
    assert Guarded(Does(what), "mine", Chars4()).compress(given, 10) == what(messages())
    assert given == messages()


def test_the_history_is_safe_from_a_strategy_that_spoils_it() -> None:
    manager = ContextManager(Guarded(Does(spoils_a_part), "mine", Chars4()), 1, backoff_s=60)
    for message in messages():
        manager.add_message("s", message)
    context = manager.build_context("s")
    assert (context.outcome, context.messages) == ("kept", messages())
    assert context.failure == "misbehaved: mine changed its input: message 1 (user 'a picture')"
    assert manager.storage.load("s") == messages()


def test_a_result_cannot_be_changed_afterwards() -> None:
    mine = Message("user", [{"type": "text", "text": "before"}])
    strategy = Guarded(Does(lambda given: [*given[:1], mine]), "mine", Chars4())
    result = strategy.compress(messages(), 10)
    mine.content[0]["text"] = "after"  # type: ignore[index]
    assert result[1] == Message("user", [{"type": "text", "text": "before"}])


@pytest.mark.parametrize(
    ("raised", "passes"),
    [
        (CompressionFailed("empty", "nothing to say"), "empty: nothing to say"),
        (ModelError("it is down"), "error: mine: it is down"),
        (ModelUnavailable("set the key"), "set the key"),
        (KeyboardInterrupt(), ""),
    ],
)
def test_what_is_no_misbehaviour_passes(raised: BaseException, passes: str) -> None:
    def fails(_: list[Message]) -> None:
        raise raised

    expected = CompressionFailed if isinstance(raised, ModelError) else type(raised)
    with pytest.raises(expected) as caught:
        Guarded(Does(fails), "mine", Chars4()).compress(messages(), 10)
    assert str(caught.value) == passes
    assert not getattr(caught.value, "final", False)


def test_the_estimator_counts_where_the_strategy_does_not() -> None:
    class Own(Does):
        def estimate_tokens(self, messages: Sequence[Message]) -> Any:
            return self.what(list(messages))

    class Inherits(EstimatorStrategy, Does):
        pass

    assert Guarded(Does(list), "mine", Chars4()).estimate_tokens(messages()) == Chars4().estimate(messages())
    assert Guarded(Inherits(Chars4()), "mine").estimator is not None
    own = Guarded(Own(len), "mine", Chars4())
    assert own.estimate_tokens(messages()) == 6
    assert own.estimator is None  # else the manager would add up its sizes
    with pytest.raises(CtxbenchError, match=r"mine: estimate_tokens raised ZeroDivisionError: .*test_guarded\.py:"):
        Guarded(Own(divides), "mine").estimate_tokens(messages())
    with pytest.raises(CtxbenchError, match="mine: estimate_tokens gave -1; tokens are whole numbers from 0"):
        Guarded(Own(lambda _: -1), "mine").estimate_tokens(messages())
    with pytest.raises(CtxbenchError, match="mine has no method estimate_tokens"):
        Guarded(Does(list), "mine")


def test_a_strategy_without_compress_is_refused_at_once() -> None:
    class Older:
        def compress(self, messages: list[Message]) -> list[Message]:
            return messages

    with pytest.raises(CtxbenchError, match=r"mine has no method compress\(messages, max_tokens, \*, session_id=None"):
        Guarded(object(), "mine", Chars4())
    with pytest.raises(CtxbenchError, match=r"mine\.compress takes \(messages.*: too many positional arguments"):
        Guarded(Older(), "mine", Chars4())


def test_only_strange_strategies_are_guarded() -> None:
    own = SlidingWindow(Chars4(), 2)
    assert guarded(own) is own

    class Foreign(SlidingWindow):
        pass

    wrapped = guarded(Foreign(Chars4(), 2))
    assert (type(wrapped), wrapped.name) == (Guarded, "Foreign")


def function(what: Callable[..., Any]) -> Guarded:
    return Guarded(FunctionStrategy(what, "mine"), "mine", Chars4())


loops: list[asyncio.AbstractEventLoop] = []


async def waits(raw: list[dict[str, Any]], max_tokens: int) -> list[dict[str, Any]]:
    await asyncio.sleep(0)
    loops.append(asyncio.get_running_loop())
    return raw[:1] + raw[-max_tokens:]


def test_functions_get_the_chat_completions_form_and_what_they_ask_for() -> None:
    seen: list[Any] = []

    def looks(raw: Any) -> Any:
        seen.append(raw)
        return raw[:1]

    strategy = function(looks)
    assert strategy.compress(messages(), 10) == messages()[:1]
    assert seen[0][2]["tool_calls"][0] == {
        "id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"},
    }  # fmt: skip
    assert seen[0][4]["provider"] == {"id": 1}
    assert function(lambda raw, budget: raw[:1] + raw[-budget:]).compress(messages(), 2) == [
        messages()[0],
        *messages()[-2:],
    ]
    assert function(lambda raw, **rest: raw).compress(messages(), 2) == messages()


def test_coroutines_are_awaited_in_one_loop() -> None:
    assert function(waits).compress(messages(), 1) == [messages()[0], messages()[-1]]
    assert function(waits).compress(messages(), 2) == [messages()[0], *messages()[-2:]]
    assert loops[0] is loops[1]


def test_a_function_may_change_what_it_got() -> None:
    def trims(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
        raw[1]["content"][0]["text"] = "short"
        del raw[2:]
        return raw

    given = messages()
    assert function(trims).compress(given, 10)[1].content == [{"type": "text", "text": "short"}, PARTS[1]]
    assert given == messages()


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (lambda raw: None, "mine returned None, not a list"),
        (lambda raw: [raw[0], "hello"], "item 1 is no chat-completions message: Expected `object`, got `str`"),
        (
            lambda raw: [raw[0], {"content": "x"}],
            "item 1 is no chat-completions message: .*missing required field `role`",
        ),
        (lambda raw: raw[1:], "mine dropped a system message"),
        (lambda raw: raw[9]["content"], r"mine raised IndexError: list index out of range \(.*test_guarded\.py:\d+\)"),
    ],
)
def test_functions_are_guarded_too(what: Callable[..., Any], told: str) -> None:
    with pytest.raises(CompressionFailed, match=told):
        function(what).compress(messages(), 10)


def test_summarizers_are_guarded_too() -> None:
    class Writes:
        def __init__(self, what: Callable[[Any], Any]) -> None:
            self.what = what

        def summarize(self, messages: Sequence[Message], max_tokens: int) -> Any:
            return self.what(messages)

    given = messages()
    assert GuardedSummarizer(Writes(lambda copies: copies[4].extra.clear()), "mine").summarize(given, 9) is None
    assert given == messages()
    with pytest.raises(CompressionFailed, match="misbehaved: mine returned a list, not a text"):
        GuardedSummarizer(Writes(list), "mine").summarize(given, 9)
    with pytest.raises(CompressionFailed, match=r"misbehaved: mine raised ZeroDivisionError.*test_guarded"):
        GuardedSummarizer(Writes(divides), "mine").summarize(given, 9)
    with pytest.raises(ModelError):
        GuardedSummarizer(Writes(lambda _: (_ for _ in ()).throw(ModelError("down"))), "mine").summarize(given, 9)
