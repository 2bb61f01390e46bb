"""llamaindex: the chat memories of LlamaIndex: `ChatMemoryBuffer`, `ChatSummaryMemoryBuffer`, `Memory`.

Each call fills a memory with the conversation and asks it for its contents. LlamaIndex
counts text alone: with two of the three a tool call costs nothing. Agents and chat
engines hold their system prompt outside of the memory: `system_apart=False` puts the
system messages into it, where they are the oldest.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ctxbench.context.adapters.library import LibraryStrategy, LibrarySummary, Sent, SummaryWriter, new_call, run_async
from ctxbench.context.adapters.llamaindex_parts import summary_llm
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.conversation.model import Json, Message
from ctxbench.tokens.estimators.base import Estimator

MODULES = ("llama_index.core.memory",)
EXTRA = "llama-index"


class LlamaIndexBuffer(LibraryStrategy):
    """`ChatMemoryBuffer`: the most recent messages within the budget, from a user message on."""

    name, extra, modules = "llamaindex_buffer", EXTRA, MODULES

    def __init__(self, estimator: Estimator, *, system_apart: bool = True) -> None:
        super().__init__(estimator, system_apart=system_apart)

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        from llama_index.core.memory import ChatMemoryBuffer

        sent = Sent(messages, to_llamaindex)
        buffer = ChatMemoryBuffer.from_defaults(
            chat_history=list(sent.items), token_limit=max_tokens, tokenizer_fn=_tokenizer(self.estimator)
        )
        return from_llamaindex(buffer.get(), sent)


class LlamaIndexSummary(LibrarySummary):
    """`ChatSummaryMemoryBuffer`: recent messages fill the budget, a system message sums up the rest.

    The summary comes on top of the budget.
    """

    name, extra, modules = "llamaindex_summary", EXTRA, MODULES

    def __init__(
        self, estimator: Estimator, summarizer: Summarizer, *, summary_tokens: int = 500, system_apart: bool = True
    ) -> None:
        super().__init__(estimator, summarizer, summary_tokens=summary_tokens, system_apart=system_apart)

    def _summarize(self, messages: list[Message], max_tokens: int, writer: SummaryWriter) -> list[Message]:
        from llama_index.core.memory import ChatSummaryMemoryBuffer

        sent = Sent(messages, to_llamaindex)
        buffer = ChatSummaryMemoryBuffer.from_defaults(
            chat_history=list(sent.items),
            llm=summary_llm(lambda prompt: writer.write([Message("user", _transcript(prompt))])),
            token_limit=max_tokens,
            tokenizer_fn=_tokenizer(self.estimator),
        )
        return from_llamaindex(buffer.get(), sent)


class LlamaIndexMemory(LibraryStrategy):
    """`Memory` without blocks: a queue that drops whole turns when it passes its share of the budget.

    The messages are put one by one, as an application does. `chat_history_token_ratio` is
    the queue's share of the budget; at least `token_flush_size` tokens go at once, or 70 %
    of a budget that is smaller than this.
    """

    name, extra, modules = "llamaindex_memory", EXTRA, MODULES

    def __init__(
        self,
        estimator: Estimator,
        *,
        chat_history_token_ratio: float = 0.7,
        token_flush_size: int = 3000,
        system_apart: bool = True,
    ) -> None:
        super().__init__(estimator, system_apart=system_apart)
        self.chat_history_token_ratio = chat_history_token_ratio
        self.token_flush_size = token_flush_size

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        from llama_index.core.memory import Memory
        from sqlalchemy.ext.asyncio import create_async_engine

        sent = Sent(messages, to_llamaindex)
        engine = create_async_engine("sqlite+aiosqlite:///:memory:")
        memory = Memory.from_defaults(
            token_limit=max_tokens,
            tokenizer_fn=_tokenizer(self.estimator),
            chat_history_token_ratio=self.chat_history_token_ratio,
            token_flush_size=self.token_flush_size,
            async_engine=engine,
        )

        async def replay() -> list[Any]:
            try:
                for item in sent.items:
                    await memory.aput(item)
                return list(await memory.aget())
            finally:
                await engine.dispose()

        return from_llamaindex(run_async(replay), sent)


def _transcript(prompt: str) -> str:
    """The messages' text without what LlamaIndex puts around it."""
    return prompt.removeprefix('"Transcript so far: ').rstrip().removesuffix('"').rstrip()


def _tokenizer(estimator: Estimator) -> Callable[[str], Any]:
    """LlamaIndex takes the length of what this returns."""
    return lambda text: range(estimator.estimate([Message("", text)]))


def to_llamaindex(message: Message, index: int) -> Any:
    """A `ChatMessage`: a block a part, then a block a tool call; a result names its call in the extra fields."""
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock

    content = message.content
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    blocks = [block for part in parts if (block := _block(part)) is not None]
    blocks += [
        ToolCallBlock(tool_call_id=call.id, tool_name=call.function.name, tool_kwargs=call.function.arguments)
        for call in message.tool_calls
    ]
    about = {"tool_call_id": message.tool_call_id, "name": message.name}
    return ChatMessage(
        role=MessageRole(message.role) if message.role in set(MessageRole) else MessageRole.USER,
        blocks=blocks,
        additional_kwargs={key: value for key, value in about.items() if value is not None},
    )


def _block(part: Json) -> Any:
    from llama_index.core.llms import ImageBlock, TextBlock

    if isinstance(part.get("text"), str):
        return TextBlock(text=part["text"])
    if part.get("type") == "image_url":
        return ImageBlock(url=part["image_url"]["url"])
    return None


def from_llamaindex(items: Sequence[Any], sent: Sent[Any]) -> list[Message]:
    """The original messages, which are the last ones that were sent; a new one by its fields."""
    first = len(sent.items) - len(items)
    return [sent.original(item, first + place) or _by_fields(item) for place, item in enumerate(items)]


def _by_fields(item: Any) -> Message:
    calls = [block for block in item.blocks if block.block_type == "tool_call"]
    return Message(
        item.role.value,
        item.content,
        name=item.additional_kwargs.get("name"),
        tool_calls=tuple(new_call(call.tool_call_id or "", call.tool_name, call.tool_kwargs) for call in calls),
        tool_call_id=item.additional_kwargs.get("tool_call_id"),
    )
