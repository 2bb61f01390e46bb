"""strands: the conversation managers of Strands Agents.

Each is used as by an agent whose model's window is the budget: `apply_management` once,
then `reduce_context` while the context is over the budget, since an agent tries again
after each. The system prompt of an agent stands outside of its messages, and Strands
has no role for it among them. The results of one turn's tool calls are one message.
"""

import logging
from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import msgspec

from ctxbench.context.adapters.library import LibraryStrategy, LibrarySummary, SummaryWriter, new_call, parsed
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.context.window import check_count
from ctxbench.conversation.model import Message, ToolCall, content_text
from ctxbench.tokens.estimators.base import Estimator

MODULES = ("strands.agent.conversation_manager",)

logging.getLogger("strands").addHandler(logging.NullHandler())  # a failure is recorded as an outcome, not printed


class StrandsSliding(LibraryStrategy):
    """`SlidingWindowConversationManager`: the last `window_size` messages, and fewer while over the budget.

    Over the budget it first cuts long tool results, the oldest first
    (`should_truncate_results`), then drops older messages up to a user message.
    """

    name, extra, modules = "strands_sliding", "strands", MODULES

    def __init__(self, estimator: Estimator, *, window_size: int = 40, should_truncate_results: bool = True) -> None:
        super().__init__(estimator, system_apart=True)
        self.window_size = check_count("strategy.window_size", window_size)
        self.should_truncate_results = should_truncate_results

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        from strands.agent.conversation_manager import SlidingWindowConversationManager

        manager = SlidingWindowConversationManager(self.window_size, self.should_truncate_results)
        return _managed(self, manager, None, messages, max_tokens)


class StrandsSummary(LibrarySummary):
    """`SummarizingConversationManager`: the oldest share of the messages becomes one user message, again and again.

    It gives up when only `preserve_recent_messages` messages are left.
    """

    name, extra, modules = "strands_summary", "strands", MODULES

    def __init__(
        self,
        estimator: Estimator,
        summarizer: Summarizer,
        *,
        summary_ratio: float = 0.3,
        preserve_recent_messages: int = 10,
        summary_tokens: int = 500,
    ) -> None:
        super().__init__(estimator, summarizer, summary_tokens=summary_tokens, system_apart=True)
        self.summary_ratio = summary_ratio
        self.preserve_recent_messages = check_count("strategy.preserve_recent_messages", preserve_recent_messages)

    def _summarize(self, messages: list[Message], max_tokens: int, writer: SummaryWriter) -> list[Message]:
        from strands.agent.conversation_manager import SummarizingConversationManager

        def write(turns: Sequence[Any]) -> str:
            # The last turn is the request for a summary; a summarizer has its own.
            return writer.write(from_strands(turns[:-1], messages))

        manager = SummarizingConversationManager(self.summary_ratio, self.preserve_recent_messages)
        return _managed(self, manager, _model_class()(write), messages, max_tokens)


def _managed(
    strategy: LibraryStrategy, manager: Any, model: Any, messages: list[Message], max_tokens: int
) -> list[Message]:
    """What is left when the manager has brought the messages under the budget, or can no more."""
    from strands.types.exceptions import ContextWindowOverflowException

    agent = SimpleNamespace(messages=to_strands(messages), model=model, aux_model=model)
    manager.apply_management(agent)
    kept = from_strands(agent.messages, messages)
    tokens = strategy.estimate_tokens(kept)
    while tokens > max_tokens:
        manager.reduce_context(agent, ContextWindowOverflowException(f"{tokens} tokens"))
        count, before = len(kept), tokens
        kept = from_strands(agent.messages, messages)
        tokens = strategy.estimate_tokens(kept)
        if model is not None and len(kept) == count and tokens >= before:
            break  # one message became a summary that is no shorter: an agent would go on for ever
    return kept


def to_strands(messages: Sequence[Message]) -> list[Any]:
    """Strands' messages; those made of several results hold the indices of them all."""
    turns: list[Any] = []
    for index, message in enumerate(messages):
        blocks = _blocks(message)
        if message.role == "tool" and turns and turns[-1]["content"][0].get("toolResult"):
            turns[-1]["content"] += blocks
            turns[-1]["metadata"]["custom"]["ctxbench"].append(index)
            continue
        role = "assistant" if message.role == "assistant" else "user"
        turns.append({"role": role, "content": blocks, "metadata": {"custom": {"ctxbench": [index]}}})
    return turns


def _blocks(message: Message) -> list[Any]:
    text = content_text(message)
    if message.role == "tool":
        result = {"toolUseId": message.tool_call_id or "", "status": "success", "content": [{"text": text}]}
        return [{"toolResult": result}]
    uses = [_use(call) for call in message.tool_calls] if message.role == "assistant" else []
    return [{"text": text}, *uses] if text or not uses else uses


def _use(call: ToolCall) -> Any:
    return {"toolUse": {"toolUseId": call.id, "name": call.function.name, "input": parsed(call) or {}}}


def from_strands(turns: Sequence[Any], messages: Sequence[Message]) -> list[Message]:
    """The original messages; a shortened result with its new content, a summary by its fields."""
    back: list[Message] = []
    for turn in turns:
        indices = turn.get("metadata", {}).get("custom", {}).get("ctxbench")
        if indices is None:
            back.append(_by_fields(turn))
        elif "toolResult" in turn["content"][0]:
            back += [_result(messages[index], block) for index, block in zip(indices, turn["content"], strict=True)]
        else:
            back.append(messages[indices[0]])  # the managers change results alone
    return back


def _result(message: Message, block: Any) -> Message:
    if _blocks(message) == [block]:
        return message
    return msgspec.structs.replace(message, content=_text(block["toolResult"]["content"]))


def _by_fields(turn: Any) -> Message:
    uses = [block["toolUse"] for block in turn["content"] if "toolUse" in block]
    calls = tuple(new_call(use["toolUseId"], use["name"], use["input"]) for use in uses)
    return Message(turn["role"], _text(turn["content"]) or None, tool_calls=calls)


def _text(blocks: Sequence[Any]) -> str:
    return "\n".join(block["text"] for block in blocks if "text" in block)


@cache
def _model_class() -> Any:
    from strands.models import Model

    class SummaryModel(Model):  # type: ignore[misc]  # the library is read as Any
        """Answers a conversation with what `write` makes of it."""

        def __init__(self, write: Any) -> None:
            self._write = write

        def update_config(self, **model_config: Any) -> None:
            raise NotImplementedError

        def get_config(self) -> Any:
            return {}

        def structured_output(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

        async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            text = self._write(messages)
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockDelta": {"delta": {"text": text}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}

    return SummaryModel
