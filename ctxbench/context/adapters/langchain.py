"""langchain: `trim_messages`, and the agents' summarization middleware.

Messages travel with their index as their id, and both count tokens with the estimator.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ctxbench.context.adapters.library import (
    LibraryStrategy,
    LibrarySummary,
    Sent,
    SummaryWriter,
    new_call,
    parsed,
)
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.context.window import check_count
from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.base import Estimator

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
DEVELOPER = {"__openai_role__": "developer"}
"""How LangChain marks a system message that was a developer's."""


class LangchainTrim(LibraryStrategy):
    """`trim_messages(strategy="last")`: the most recent messages that fit the budget.

    `start_on` and `end_on` are LangChain's message types (human, ai, tool), or None. Only
    a system message that stands first is kept by `include_system`.
    """

    name, extra, modules = "langchain_trim", "langchain", ("langchain_core.messages",)

    def __init__(
        self,
        estimator: Estimator,
        *,
        include_system: bool = True,
        allow_partial: bool = False,
        start_on: str | list[str] | None = "human",
        end_on: str | list[str] | None = None,
    ) -> None:
        super().__init__(estimator, system_apart=False)
        self.include_system, self.allow_partial = include_system, allow_partial
        self.start_on = start_on if start_on is None or isinstance(start_on, str) else list(start_on)
        self.end_on = end_on if end_on is None or isinstance(end_on, str) else list(end_on)

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        from langchain_core.messages import trim_messages

        sent = Sent(messages, to_langchain)
        kept = trim_messages(
            sent.items,
            max_tokens=max_tokens,
            token_counter=lambda items: self.estimate_tokens(from_langchain(items, sent)),
            strategy="last",
            include_system=self.include_system,
            allow_partial=self.allow_partial,
            start_on=self.start_on,
            end_on=self.end_on,
        )
        return from_langchain(kept, sent)


class LangchainSummary(LibrarySummary):
    """The hook `before_model` of `SummarizationMiddleware`: older messages become one user message.

    It is triggered by the budget, and keeps the last `keep_messages` messages, however
    long; it puts at most `trim_tokens` tokens before the summarizer (None: everything).
    An agent of LangChain holds its system prompt outside of the messages:
    `system_apart=False` puts the system messages among those that are summarised.
    """

    name, extra, modules = "langchain_summary", "langchain", ("langchain.agents.middleware",)

    def __init__(
        self,
        estimator: Estimator,
        summarizer: Summarizer,
        *,
        keep_messages: int = 20,
        trim_tokens: int | None = 4000,
        summary_tokens: int = 500,
        system_apart: bool = True,
    ) -> None:
        super().__init__(estimator, summarizer, summary_tokens=summary_tokens, system_apart=system_apart)
        self.keep_messages = check_count("strategy.keep_messages", keep_messages)
        self.trim_tokens = trim_tokens

    def _summarize(self, messages: list[Message], max_tokens: int, writer: SummaryWriter) -> list[Message]:
        from langchain.agents.middleware import SummarizationMiddleware
        from langchain_core.language_models.fake_chat_models import FakeListChatModel
        from langgraph.runtime import Runtime
        from langsmith import tracing_context

        sent = Sent(messages, to_langchain)
        middleware = SummarizationMiddleware(
            FakeListChatModel(responses=[]),  # it is asked for the size of its window only
            trigger=("tokens", max_tokens),
            keep=("messages", self.keep_messages),
            token_counter=lambda items: self.estimate_tokens(from_langchain(items, sent)),
            trim_tokens_to_summarize=self.trim_tokens,
            summarizer=lambda items: writer.write(from_langchain(items, sent)),
        )
        with tracing_context(enabled=False):
            update = middleware.before_model({"messages": list(sent.items)}, Runtime())
        return messages if update is None else from_langchain(update["messages"][1:], sent)


def to_langchain(message: Message, index: int) -> Any:
    """The message of LangChain's class for its role, its id the index."""
    from langchain_core import messages as classes

    common: dict[str, Any] = {"content": message.content or "", "name": message.name, "id": str(index)}
    if message.role == "assistant":
        calls = [(call, parsed(call)) for call in message.tool_calls]
        return classes.AIMessage(
            **common,
            tool_calls=[
                {"id": call.id, "name": call.function.name, "args": args} for call, args in calls if args is not None
            ],
            invalid_tool_calls=[
                {"id": call.id, "name": call.function.name, "args": call.function.arguments, "error": None}
                for call, args in calls
                if args is None
            ],
        )
    if message.role == "tool":
        return classes.ToolMessage(**common, tool_call_id=message.tool_call_id or "")
    if message.is_system:
        return classes.SystemMessage(**common, additional_kwargs=DEVELOPER if message.role == "developer" else {})
    if message.role == "user":
        return classes.HumanMessage(**common)
    return classes.ChatMessage(**common, role=message.role)


def from_langchain(items: Sequence[Any], sent: Sent[Any]) -> list[Message]:
    """The original messages; a shortened one with its new content, a new one by its fields."""
    return [_from_langchain(item, sent) for item in items]


def _from_langchain(item: Any, sent: Sent[Any]) -> Message:
    index = int(item.id) if item.id is not None and item.id.isdecimal() else None
    if (original := sent.original(item, index)) is not None:
        return original
    if index is not None:
        return msgspec.structs.replace(sent.messages[index], content=item.content)
    calls = [new_call(call["id"] or "", call["name"], call["args"]) for call in getattr(item, "tool_calls", ())]
    return Message(
        ROLES.get(item.type, getattr(item, "role", item.type)),
        item.content,
        name=item.name,
        tool_calls=tuple(calls),
        tool_call_id=getattr(item, "tool_call_id", None),
    )
