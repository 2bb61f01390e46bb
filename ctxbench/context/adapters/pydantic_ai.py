"""pydantic_ai: the compactions of Pydantic AI's own capability library, `pydantic-ai-harness`.

Both count Pydantic AI's messages: a request holds everything between two answers of the
model (system prompt, the user's messages, tool results), a response is one answer. The
parts of a request travel with their index as a timestamp, and so does a response.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ctxbench.context.adapters.library import LibraryStrategy, LibrarySummary, Sent, SummaryWriter, new_call, run_async
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.context.window import check_count
from ctxbench.conversation.model import Json, Message, content_text
from ctxbench.tokens.estimators.base import Estimator

MODULES = ("pydantic_ai.models.function", "pydantic_ai_harness.compaction")
START = datetime(2000, 1, 1, tzinfo=UTC)
ENTRY = re.compile(r'<message role="(\w+)"(?: name="([^"]*)")?[^>]*>\n(.*?)\n</message>', re.DOTALL)
"""One entry of the transcript that the library writes; it escapes such tags in contents."""


class PydanticAiSliding(LibraryStrategy):
    """`SlidingWindowCompaction`: the first user message and the last `keep_messages` requests and responses."""

    name, extra, modules = "pydantic_ai_sliding", "pydantic-ai", MODULES

    def __init__(
        self, estimator: Estimator, *, keep_messages: int = 40, preserve_first_user_message: bool = True
    ) -> None:
        super().__init__(estimator, system_apart=False)
        self.keep_messages = check_count("strategy.keep_messages", keep_messages)
        self.preserve_first_user_message = preserve_first_user_message

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        from pydantic_ai.models.test import TestModel
        from pydantic_ai_harness.compaction import SlidingWindowCompaction, compact_now

        sent = Sent(messages, _Parts(messages))
        sliding = SlidingWindowCompaction[None](
            max_tokens=max_tokens,
            keep_messages=self.keep_messages,
            preserve_first_user_message=self.preserve_first_user_message,
        )
        history = to_pydantic_ai(sent)
        return from_pydantic_ai(run_async(lambda: compact_now(sliding, history, model=TestModel())), sent)


class PydanticAiSummary(LibrarySummary):
    """`SummarizingCompaction`: system prompts, the first user message, a summary, the last `keep_messages`.

    The summarizer sees the transcript as the library writes it, each tool result cut to
    `tool_return_max_chars` characters. The summary is sent as a message of the user's.
    """

    name, extra, modules = "pydantic_ai_summary", "pydantic-ai", MODULES

    def __init__(
        self,
        estimator: Estimator,
        summarizer: Summarizer,
        *,
        keep_messages: int = 20,
        preserve_first_user_message: bool = True,
        tool_return_max_chars: int | None = 500,
        summary_tokens: int = 500,
    ) -> None:
        super().__init__(estimator, summarizer, summary_tokens=summary_tokens, system_apart=False)
        self.keep_messages = check_count("strategy.keep_messages", keep_messages)
        self.preserve_first_user_message = preserve_first_user_message
        self.tool_return_max_chars = tool_return_max_chars

    def _summarize(self, messages: list[Message], max_tokens: int, writer: SummaryWriter) -> list[Message]:
        from pydantic_ai import messages as classes
        from pydantic_ai.models.function import FunctionModel
        from pydantic_ai_harness.compaction import SummarizingCompaction, compact_now

        def answer(prompt: Any, info: Any) -> Any:
            text = writer.write(from_transcript(prompt[-1].parts[-1].content))
            return classes.ModelResponse([classes.TextPart(text)])

        sent = Sent(messages, _Parts(messages))
        model = FunctionModel(answer)
        summarizing = SummarizingCompaction[None](
            max_tokens=max_tokens,
            keep_messages=self.keep_messages,
            preserve_first_user_message=self.preserve_first_user_message,
            tool_return_max_chars=self.tool_return_max_chars,
            summary_prompt="{messages}",  # a summarizer has an instruction of its own
        )
        history = to_pydantic_ai(sent)
        return from_pydantic_ai(run_async(lambda: compact_now(summarizing, history, model=model)), sent)


class _Parts:
    """Makes the part of a request, or the response, that stands for a message."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._names = {call.id: call.function.name for message in messages for call in message.tool_calls}

    def __call__(self, message: Message, index: int) -> Any:
        from pydantic_ai import messages as classes

        when = START + timedelta(seconds=index)
        text = content_text(message)
        if message.role == "assistant":
            parts: list[Any] = [classes.TextPart(text)] if text or not message.tool_calls else []
            parts += [
                classes.ToolCallPart(call.function.name, call.function.arguments, call.id)
                for call in message.tool_calls
            ]
            return classes.ModelResponse(parts, timestamp=when)
        if message.role == "tool":
            call = message.tool_call_id or ""
            return classes.ToolReturnPart(self._names.get(call, message.name or ""), text, call, timestamp=when)
        if message.is_system:
            return classes.SystemPromptPart(text, timestamp=when)
        content = message.content
        return classes.UserPromptPart(
            [_user_content(part) for part in content] if isinstance(content, list) else text, timestamp=when
        )


def _user_content(part: Json) -> Any:
    from pydantic_ai.messages import ImageUrl

    if part.get("type") == "image_url":
        return ImageUrl(part["image_url"]["url"])
    return part.get("text", "")


def to_pydantic_ai(sent: Sent[Any]) -> list[Any]:
    """The responses, and between two of them one request of all that was sent."""
    from pydantic_ai.messages import ModelRequest, ModelResponse

    history: list[Any] = []
    for item in sent.items:
        if isinstance(item, ModelResponse):
            history.append(item)
        elif history and isinstance(history[-1], ModelRequest):
            history[-1].parts.append(item)
        else:
            history.append(ModelRequest([item], timestamp=item.timestamp))
    return history


def from_pydantic_ai(history: Sequence[Any], sent: Sent[Any]) -> list[Message]:
    """The original messages; a part or a response that the library wrote by its fields."""
    items = [item for entry in history for item in ([entry] if entry.kind == "response" else entry.parts)]
    return [sent.original(item, _index(item, sent)) or _by_fields(item) for item in items]


def from_transcript(text: str) -> list[Message]:
    """The messages of the library's transcript, so that a summarizer need not read its tags."""
    messages: list[Message] = []
    for role, name, content in ENTRY.findall(text):
        if role == "tool_call":
            messages.append(Message("assistant", None, tool_calls=(new_call("", name, content),)))
        else:
            messages.append(Message("tool" if role == "tool_return" else role, content))
    return messages or [Message("user", text)]


def _index(item: Any, sent: Sent[Any]) -> int | None:
    when = getattr(item, "timestamp", None)
    index = (when - START) // timedelta(seconds=1) if when is not None else -1
    return index if index < len(sent.items) else None


def _by_fields(item: Any) -> Message:
    from pydantic_ai import messages as classes

    if isinstance(item, classes.ModelResponse):
        calls = [part for part in item.parts if isinstance(part, classes.ToolCallPart)]
        text = "".join(part.content for part in item.parts if isinstance(part, classes.TextPart))
        return Message(
            "assistant",
            text or None,
            tool_calls=tuple(new_call(call.tool_call_id, call.tool_name, call.args or {}) for call in calls),
        )
    if isinstance(item, classes.SystemPromptPart):
        return Message("system", item.content)
    if isinstance(item, classes.ToolReturnPart):
        return Message("tool", item.model_response_str(), tool_call_id=item.tool_call_id)
    text = item.content if isinstance(item.content, str) else "\n".join(map(str, item.content or ()))
    return Message("user", text)
