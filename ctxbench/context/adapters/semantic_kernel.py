"""semantic_kernel: the two chat history reducers of Semantic Kernel.

Both count messages and know no budget: they do nothing up to `target_count +
threshold_count` messages, then keep about the last `target_count`. Up to
`threshold_count` more stay if the context then begins with a user message; else a run of
calls and results at the cut stays whole. Of the system messages the first alone is kept,
and it counts. The library gives `target_count` no default and `threshold_count` 0; both
are 10 here, as in its samples. Messages travel with their index in their metadata.
"""

import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ctxbench.context.adapters.library import LibraryStrategy, LibrarySummary, Sent, SummaryWriter, new_call, run_async
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.context.window import check_count
from ctxbench.conversation.model import Json, Message, content_text
from ctxbench.errors import CtxbenchError
from ctxbench.tokens.estimators.base import Estimator

EXTRA = "semantic-kernel"
MODULES = ("semantic_kernel.contents",)
MARK = "ctxbench"

logging.getLogger("semantic_kernel").addHandler(logging.NullHandler())  # a failure is an outcome, not printed


class SemanticKernelTruncation(LibraryStrategy):
    """`ChatHistoryTruncationReducer`: the first system message and the most recent messages."""

    name, extra, modules = "semantic_kernel_truncation", EXTRA, MODULES

    def __init__(self, estimator: Estimator, *, target_count: int = 10, threshold_count: int = 10) -> None:
        super().__init__(estimator, system_apart=False)
        self.counts = _counts(target_count, threshold_count)

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        from semantic_kernel.contents import ChatHistoryTruncationReducer

        sent = Sent(messages, to_semantic_kernel)
        reducer = ChatHistoryTruncationReducer(messages=sent.items, **self.counts)
        run_async(reducer.reduce)
        return from_semantic_kernel(reducer.messages, sent)


class SemanticKernelSummary(LibrarySummary):
    """`ChatHistorySummarizationReducer`: older messages become one assistant message, after the system message.

    The summarizer is shown no system message, and tool calls and their results only with
    `include_function_content`. The summary comes on top of `target_count`.
    """

    name, extra, modules = "semantic_kernel_summary", EXTRA, MODULES

    def __init__(
        self,
        estimator: Estimator,
        summarizer: Summarizer,
        *,
        target_count: int = 10,
        threshold_count: int = 10,
        include_function_content: bool = False,
        summary_tokens: int = 500,
    ) -> None:
        super().__init__(estimator, summarizer, summary_tokens=summary_tokens, system_apart=False)
        self.counts = _counts(target_count, threshold_count)
        self.include_function_content = include_function_content

    def _summarize(self, messages: list[Message], max_tokens: int, writer: SummaryWriter) -> list[Message]:
        from semantic_kernel.contents import ChatHistorySummarizationReducer

        sent = Sent(messages, to_semantic_kernel)
        reducer = ChatHistorySummarizationReducer(
            messages=sent.items,
            **self.counts,
            include_function_content_in_summary=self.include_function_content,
            service=_service_class()(
                ai_model_id=MARK, write=lambda items: writer.write(from_semantic_kernel(items, sent))
            ),
        )
        run_async(reducer.reduce)
        return from_semantic_kernel(reducer.messages, sent)


def _counts(target_count: int, threshold_count: int) -> dict[str, int]:
    """The reducers' settings; raises `CtxbenchError` for those that they would refuse."""
    if target_count < 1:
        raise CtxbenchError(f"strategy.target_count is {target_count}; give 1 or more")
    return {
        "target_count": target_count,
        "threshold_count": check_count("strategy.threshold_count", threshold_count),
    }


def to_semantic_kernel(message: Message, index: int) -> Any:
    """A `ChatMessageContent`: an item a part, then an item a tool call; a result is an item that names its call."""
    from semantic_kernel.contents import AuthorRole, ChatMessageContent, FunctionCallContent, FunctionResultContent

    content = message.content
    if message.role == "tool":
        items = [FunctionResultContent(id=message.tool_call_id, name=message.name, result=content_text(message))]
    else:
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        items = [item for part in parts if (item := _item(part)) is not None]
    items += [
        FunctionCallContent(id=call.id, name=call.function.name, arguments=call.function.arguments)
        for call in message.tool_calls
    ]
    role = message.role if message.role in set(AuthorRole) else "user"
    return ChatMessageContent(role=AuthorRole(role), items=items, name=message.name, metadata={MARK: index})


def _item(part: Json) -> Any:
    from semantic_kernel.contents import ImageContent, TextContent

    if isinstance(part.get("text"), str):
        return TextContent(text=part["text"])
    if part.get("type") == "image_url":
        return ImageContent(uri=part["image_url"]["url"])
    return None


def from_semantic_kernel(items: Sequence[Any], sent: Sent[Any]) -> list[Message]:
    """The original messages; a new one by its fields."""
    return [sent.original(item, item.metadata.get(MARK)) or _by_fields(item) for item in items]


def _by_fields(item: Any) -> Message:
    from semantic_kernel.contents import FunctionCallContent, FunctionResultContent

    results = [part for part in item.items if isinstance(part, FunctionResultContent)]
    calls = [part for part in item.items if isinstance(part, FunctionCallContent)]
    return Message(
        item.role.value,
        str(results[0]) if results else item.content or None,
        name=item.name,
        tool_calls=tuple(new_call(call.id or "", call.name, call.arguments or {}) for call in calls),
        tool_call_id=results[0].id if results else None,
    )


@cache
def _service_class() -> Any:
    from semantic_kernel.connectors.ai.chat_completion_client_base import ChatCompletionClientBase
    from semantic_kernel.contents import AuthorRole, ChatMessageContent

    class SummaryService(ChatCompletionClientBase):  # type: ignore[misc]  # the library is read as Any
        """Answers a history with what `write` makes of its messages."""

        write: Callable[[Sequence[Any]], str]

        async def _inner_get_chat_message_contents(self, chat_history: Any, settings: Any) -> list[Any]:
            # The last message is Semantic Kernel's instruction; a summarizer has its own.
            text = self.write(chat_history.messages[:-1])
            return [ChatMessageContent(role=AuthorRole.ASSISTANT, content=text)]

    return SummaryService
