"""ShareGPT: `{"id", "conversations": [{"from": "human", "value": ...}]}`.

Tool use as LLaMA-Factory writes it (`function_call`, `observation`) becomes tool calls
and results.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxbench.conversation.importers.base import Tally, WrongFormat, field, files_below, read_records
from ctxbench.conversation.model import Conversation, FunctionCall, Message, ToolCall

ABOUT = "ShareGPT: records with `conversations` of `from` and `value`"

_ROLES = {
    "human": "user", "user": "user", "gpt": "assistant", "chatgpt": "assistant", "bard": "assistant",
    "bing": "assistant", "model": "assistant", "assistant": "assistant", "system": "system",
}  # fmt: skip


def looks_like(record: Any) -> bool:
    """A record whose `conversations` have `from` and `value`."""
    turns = record.get("conversations") if isinstance(record, dict) else None
    return isinstance(turns, list) and bool(turns) and isinstance(turns[0], dict) and "from" in turns[0]


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a record; `language` tags them, for the format does not."""
    for file in files_below(path, "*.json*"):
        for place, record in read_records(file):
            turns = field(record, "conversations", list, place)
            tally.read["conversations"] += 1
            tally.read["messages"] += len(turns) + bool(record.get("system"))
            messages = [Message("system", record["system"])] if isinstance(record.get("system"), str) else []
            for index, turn in enumerate(turns):
                messages.append(_message(turn, index, f"{place}: turn {index}"))
            yield Conversation(str(record.get("id") or place), language or "und", "sharegpt", messages)


def _message(turn: Any, index: int, place: str) -> Message:
    who, value = field(turn, "from", str, place), field(turn, "value", str, place)
    if who == "function_call":
        return Message("assistant", None, tool_calls=(_call(value, index, place),))
    if who in ("observation", "tool", "function_response"):
        return Message("tool", value, tool_call_id=f"call_{index - 1}")
    if who not in _ROLES:
        raise WrongFormat(place, f"unknown speaker {who!r}; known: {', '.join(sorted(_ROLES))}", turn)
    return Message(_ROLES[who], value)


def _call(value: str, index: int, place: str) -> ToolCall:
    try:
        call = msgspec.json.decode(value)
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        return ToolCall(f"call_{index}", FunctionCall(str(call["name"]), text))
    except (msgspec.DecodeError, AttributeError, KeyError):
        raise WrongFormat(place, "a function_call is a JSON object with `name` and `arguments`", value) from None
