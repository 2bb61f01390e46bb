"""FunctionChat-Dialog: Korean dialogues with tool calls.

Each turn repeats the whole dialogue so far (`query`) with the reply wanted
(`ground_truth`): the last turn and its reply are the conversation.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, WrongFormat, field, files_below, read_records
from ctxbench.conversation.importers.chat import messages_from
from ctxbench.conversation.model import Conversation

ABOUT = "FunctionChat-Dialog: FunctionChat-Dialog.jsonl"


def looks_like(record: Any) -> bool:
    """A record with `dialog_num` and `turns`."""
    return isinstance(record, dict) and "dialog_num" in record and isinstance(record.get("turns"), list)


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a dialogue."""
    for file in files_below(path, "*.jsonl"):
        for place, record in read_records(file):
            turns = field(record, "turns", list, place)
            if not turns:
                raise WrongFormat(place, "a dialogue without turns", record)
            raws = [*field(turns[-1], "query", list, place), field(turns[-1], "ground_truth", dict, place)]
            tally.read["conversations"] += 1
            tally.read["messages"] += len(raws)
            name = f"functionchat-{field(record, 'dialog_num', int, place)}"
            tools = {"tools": record.get("tools", [])}
            yield Conversation(name, language or "ko", "functionchat", messages_from(raws, place), extra=tools)
