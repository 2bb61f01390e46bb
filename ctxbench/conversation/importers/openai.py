"""OpenAI chat completions: `{"messages": [...]}`, a list of messages, or a logged request with its reply.

As in fine-tuning files, request bodies and logs. A record is one conversation.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, WrongFormat, files_below, read_records
from ctxbench.conversation.importers.chat import messages_from
from ctxbench.conversation.model import Conversation

ABOUT = "OpenAI chat completions: JSON or JSON lines with `messages`"


def looks_like(record: Any) -> bool:
    """A record with `messages` that have roles."""
    messages = _messages(record)
    return messages is not None and any(isinstance(one, dict) and "role" in one for one in messages[:1])


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a record; `language` tags them, for the format does not."""
    for file in files_below(path, "*.json*"):
        records = read_records(file)
        first = next(records)
        if isinstance(first[1], dict) and {"role", "content"} <= first[1].keys():  # the file is one list of messages
            yield _conversation([first[1], *(record for _, record in records)], {}, str(file), tally, language)
            continue
        for place, record in [first]:
            yield _conversation(_messages(record), record, place, tally, language)
        for place, record in records:
            yield _conversation(_messages(record), record, place, tally, language)


def _messages(record: Any) -> list[Any] | None:
    """The messages of a record, with the reply's message where one is logged."""
    if isinstance(record, list):
        return record
    if not isinstance(record, dict):
        return None
    body = record.get("request", record.get("body", record))
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list):
        return None
    response = record.get("response", record)
    choices = response.get("choices") if isinstance(response, dict) else None
    reply = choices[0].get("message") if isinstance(choices, list) and choices else None
    return [*messages, reply] if isinstance(reply, dict) else messages


def _conversation(raws: list[Any] | None, record: Any, place: str, tally: Tally, language: str | None) -> Conversation:
    if raws is None:
        raise WrongFormat(place, "no list of `messages`", record)
    tally.read["conversations"] += 1
    tally.read["messages"] += len(raws)
    name = record.get("id") or record.get("custom_id") if isinstance(record, dict) else None
    return Conversation(str(name or place), language or "und", "openai", messages_from(raws, place))
