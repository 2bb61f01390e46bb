"""SWE-agent `.traj`: what a coding agent and its shell said, in `history`.

Only some versions use tool calls; a result there names its calls in a list. The
agent's own fields (`thought`, `action`) repeat the content and are not kept.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, field, files_below, read_records
from ctxbench.conversation.importers.chat import messages_from
from ctxbench.conversation.model import Conversation

ABOUT = "SWE-agent: .traj files, or a folder of them"

_KEPT = ("role", "content", "tool_calls")


def looks_like(record: Any) -> bool:
    """A record with the agent's `history`."""
    history = record.get("history") if isinstance(record, dict) else None
    return isinstance(history, list) and bool(history) and isinstance(history[0], dict) and "agent" in history[0]


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a file."""
    for file in files_below(path, "*.traj"):
        for place, record in read_records(file):
            history = field(record, "history", list, place)
            tally.read["conversations"] += 1
            tally.read["messages"] += len(history)
            messages = messages_from([_message(turn, place) for turn in history], place)
            yield Conversation(file.stem, language or "en", "swe-agent", messages)


def _message(turn: Any, place: str) -> dict[str, Any]:
    field(turn, "role", str, place)
    raw = {name: turn[name] for name in _KEPT if name in turn}
    if turn["role"] == "tool" and turn.get("tool_call_ids"):
        raw["tool_call_id"] = turn["tool_call_ids"][0]
    return raw
