"""Messages, conversations and probes, in the form in which they stand on disk.

A `Message` is one chat-completions message. Fields that are not known here
(a provider's own) are kept in `extra`, so that reading and writing loses nothing.
Nothing here reads files (see `jsonl`) or judges contents (see `validity`).
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

Json = dict[str, Any]

SYSTEM_ROLES = ("system", "developer")


class FunctionCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a tool call asks for: `arguments` is JSON, as text, as the model wrote it."""

    name: str
    arguments: str
    extra: Json = msgspec.field(default_factory=dict)


class ToolCall(msgspec.Struct, frozen=True):
    """One entry of an assistant message's `tool_calls`."""

    id: str
    function: FunctionCall
    type: str = "function"
    extra: Json = msgspec.field(default_factory=dict)


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One chat-completions message.

    `content` is a string, None (an assistant message that only calls tools), or a
    list of parts such as `{"type": "text", "text": ...}` and `{"type": "image_url", ...}`.
    """

    role: str
    content: str | list[Json] | None
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    extra: Json = msgspec.field(default_factory=dict)

    @property
    def is_system(self) -> bool:
        """Whether the message instructs the model (`developer` is the newer name of `system`)."""
        return self.role in SYSTEM_ROLES


class Probe(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question about a conversation.

    `answers` are aliases: any one counts. `also` holds further answers, each a list of
    aliases, that are needed as well (a question that asks for two things). `stale` are
    values that were true once. `evidence` are indices of all messages that hold the
    answer. `after` is the index of the message after which the question is asked; None
    means the last one. A probe of category `absent` asks for what was never said: it
    has neither answers nor evidence. `verbatim` is false where the answer is put otherwise
    in the conversation, so that only a model can tell whether it survives.
    """

    id: str
    question: str
    answers: list[str]
    category: str
    evidence: list[int]
    also: list[list[str]] = msgspec.field(default_factory=list)
    stale: list[str] = msgspec.field(default_factory=list)
    after: int | None = None
    verbatim: bool = True
    extra: Json = msgspec.field(default_factory=dict)


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A recorded conversation, its language (BCP 47) and its probes."""

    id: str
    language: str
    source: str
    messages: list[Message]
    scenario: str = ""
    tags: list[str] = msgspec.field(default_factory=list)
    probes: list[Probe] = msgspec.field(default_factory=list)
    extra: Json = msgspec.field(default_factory=dict)


def content_text(message: Message) -> str:
    """The text of the content: text parts on a line each; images and null have none."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(_part_texts(message.content or ()))


def message_texts(message: Message) -> list[str]:
    """The strings that an estimator and a tokenizer both count: role, content, calls.

    A call contributes its name and its arguments. Ids and the message's `name` are
    left out, as the original module leaves them out; images are not text.
    """
    content = message.content
    texts = [message.role]
    if isinstance(content, str):
        texts.append(content)
    elif content:
        texts.extend(_part_texts(content))
    for call in message.tool_calls:
        texts += (call.function.name, call.function.arguments)
    return texts


def context_text(messages: Iterable[Message]) -> str:
    """Everything in which an answer can be found: contents, call names and arguments."""
    return "\n".join(text for message in messages for text in message_texts(message)[1:])


def _part_texts(parts: Iterable[Json]) -> Iterator[str]:
    return (part["text"] for part in parts if isinstance(part.get("text"), str))


def message_from_dict(raw: Json) -> Message:
    """A `Message` from its JSON object; raises `msgspec.ValidationError` when it is not one."""
    return msgspec.convert(fold_message(raw), Message)


def message_to_dict(message: Message) -> Json:
    """The JSON object of a message in chat-completions form, unknown fields included."""
    raw: Json = {"role": message.role, "content": message.content}
    if message.name is not None:
        raw["name"] = message.name
    if message.tool_calls:
        raw["tool_calls"] = [_call_to_dict(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        raw["tool_call_id"] = message.tool_call_id
    return {**raw, **message.extra}


def _call_to_dict(call: ToolCall) -> Json:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": call.type, "function": function | call.function.extra} | call.extra


def conversation_from_dict(raw: Json) -> Conversation:
    """A `Conversation` from its JSON object; raises `msgspec.ValidationError` with a path."""
    folded = _fold(raw, _CONVERSATION)
    for key, fold in (("messages", fold_message), ("probes", _fold_probe)):
        if isinstance(folded.get(key), list):
            folded[key] = [fold(item) for item in folded[key]]
    return msgspec.convert(folded, Conversation)


def conversation_to_dict(conversation: Conversation) -> Json:
    """The JSON object of a conversation, unknown fields included."""
    raw: Json = {
        "id": conversation.id,
        "language": conversation.language,
        "source": conversation.source,
        "scenario": conversation.scenario,
        "tags": conversation.tags,
        "messages": [message_to_dict(message) for message in conversation.messages],
        "probes": [_probe_to_dict(probe) for probe in conversation.probes],
    }
    return raw | conversation.extra


def _probe_to_dict(probe: Probe) -> Json:
    raw: Json = msgspec.to_builtins(probe)
    raw.update(raw.pop("extra", {}))
    return raw


def fold_message(raw: Any) -> Any:
    """The raw object with unknown fields moved to `extra`, here and in its tool calls."""
    folded = _fold(raw, _MESSAGE)
    if isinstance(folded, dict):
        folded.setdefault("content", None)
        calls = folded.get("tool_calls")
        if calls is None:
            folded.pop("tool_calls", None)
        elif isinstance(calls, list):
            folded["tool_calls"] = [_fold_call(call) for call in calls]
    return folded


def _fold_call(raw: Any) -> Any:
    folded = _fold(raw, _CALL)
    if isinstance(folded, dict) and "function" in folded:
        folded["function"] = _fold(folded["function"], _FUNCTION)
    return folded


def _fold_probe(raw: Any) -> Any:
    return _fold(raw, _PROBE)


def _fold(raw: Any, known: frozenset[str]) -> Any:
    if not isinstance(raw, dict):
        return raw  # `msgspec.convert` names the type and the place
    if raw.keys() <= known:
        return dict(raw)
    folded = {key: value for key, value in raw.items() if key in known}
    folded["extra"] = {key: value for key, value in raw.items() if key not in known}
    return folded


def _known(struct: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(struct.__struct_fields__) - {"extra"}


_MESSAGE, _CALL, _FUNCTION = _known(Message), _known(ToolCall), _known(FunctionCall)
_PROBE, _CONVERSATION = _known(Probe), _known(Conversation)
