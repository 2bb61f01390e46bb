"""openai_agents: how the OpenAI Agents SDK shortens what it sends, seen from the model.

An agent is run once with a model that only records its input: the conversation is the
session, its last message the new input. The SDK's items travel with their index in
their id. An assistant message is an item for its text and one for each tool call.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from ctxbench.context.adapters.library import LibraryStrategy, run_async
from ctxbench.context.window import check_count
from ctxbench.conversation.model import Json, Message, ToolCall, content_text
from ctxbench.tokens.estimators.base import Estimator

EXTRA = "openai-agents"
MODULES = ("agents",)
MARK = "ctxbench"


class OpenAiAgentsSession(LibraryStrategy):
    """`SessionSettings(limit=...)`: the last `limit` items of the session, then the new input.

    An agent holds its instructions outside of the session: `system_apart=False` puts the
    system messages among the items.
    """

    name, extra, modules = "openai_agents_session", EXTRA, MODULES

    def __init__(self, estimator: Estimator, *, limit: int = 20, system_apart: bool = True) -> None:
        super().__init__(estimator, system_apart=system_apart)
        self.limit = check_count("strategy.limit", limit)

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        from agents import RunConfig, SessionSettings

        config = RunConfig(session_settings=SessionSettings(limit=self.limit), tracing_disabled=True)
        return from_items(run_async(lambda: _sent_to_model(messages, config)), messages)


class OpenAiAgentsTrimmer(LibraryStrategy):
    """`ToolOutputTrimmer`: tool results before the last `recent_turns` user messages become previews."""

    name, extra, modules = "openai_agents_trimmer", EXTRA, (*MODULES, "agents.extensions")

    def __init__(
        self, estimator: Estimator, *, recent_turns: int = 2, max_output_chars: int = 500, preview_chars: int = 200
    ) -> None:
        super().__init__(estimator, system_apart=True)
        self.recent_turns = recent_turns
        self.max_output_chars, self.preview_chars = max_output_chars, preview_chars

    def _run(self, messages: list[Message], max_tokens: int) -> list[Message]:
        from agents import RunConfig
        from agents.extensions import ToolOutputTrimmer

        trimmer = ToolOutputTrimmer(self.recent_turns, self.max_output_chars, self.preview_chars)
        config = RunConfig(call_model_input_filter=trimmer, tracing_disabled=True)
        return from_items(run_async(lambda: _sent_to_model(messages, config)), messages)


async def _sent_to_model(messages: Sequence[Message], config: Any) -> list[Any]:
    """The items that an agent's model is given for the last message, after a session of the others."""
    from agents import Agent, Runner, SQLiteSession

    items = [to_items(message, index) for index, message in enumerate(messages)]
    model = _model_class()()
    session = SQLiteSession(MARK)
    try:
        await session.add_items([item for group in items[:-1] for item in group])
        await Runner.run(Agent(name=MARK, model=model), items[-1], session=session, run_config=config)
    finally:
        session.close()
    return list(model.input)


def to_items(message: Message, index: int) -> list[Any]:
    """The items of a message, their ids `ctxbench_INDEX_PLACE`."""
    items: list[Any] = []
    if message.role == "tool":
        output = {
            "type": "function_call_output",
            "call_id": message.tool_call_id or "",
            "output": content_text(message),
        }
        items.append(output)
    elif message.role == "assistant":
        if (text := content_text(message)) or not message.tool_calls:
            items.append({"role": "assistant", "content": text})
        items += [_call_item(call) for call in message.tool_calls]
    else:
        role = message.role if message.is_system else "user"
        items.append({"role": role, "content": _content(message.content)})
    for place, item in enumerate(items):
        item["id"] = f"{MARK}_{index}_{place}"
    return items


def _call_item(call: ToolCall) -> Any:
    name, arguments = call.function.name, call.function.arguments
    return {"type": "function_call", "call_id": call.id, "name": name, "arguments": arguments}


def _content(content: str | list[Json] | None) -> Any:
    if not isinstance(content, list):
        return content or ""
    return [_part(part) for part in content]


def _part(part: Json) -> Any:
    if part.get("type") == "image_url":
        return {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
    return {"type": "input_text", "text": part.get("text", "")}


def from_items(items: Sequence[Any], messages: Sequence[Message]) -> list[Message]:
    """The original messages; one of which items are missing or changed with what is left of it."""
    groups: dict[int, list[Any]] = {}
    for item in items:
        groups.setdefault(int(item["id"].split("_")[1]), []).append(item)
    return [_message(messages[index], index, group) for index, group in groups.items()]


def _message(message: Message, index: int, group: list[Any]) -> Message:
    if to_items(message, index) == group:
        return message
    if message.role == "tool":
        return msgspec.structs.replace(message, content=group[0]["output"])
    calls = {item["call_id"] for item in group if item.get("type") == "function_call"}
    return msgspec.structs.replace(
        message,
        content=message.content if any("content" in item for item in group) else None,
        tool_calls=tuple(call for call in message.tool_calls if call.id in calls),
    )


@cache
def _model_class() -> Any:
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    class RecordingModel(Model):  # type: ignore[misc]  # the library is read as Any
        """Keeps the input that it is given."""

        input: Any = ()

        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
            self.input = input
            text = ResponseOutputText(text=".", type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id="answer", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    return RecordingModel
