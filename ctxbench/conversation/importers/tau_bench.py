"""tau-bench: agent trajectories with tool calls, a JSON list of runs. They have no questions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, field, files_below, read_records
from ctxbench.conversation.importers.chat import messages_from
from ctxbench.conversation.model import Conversation

ABOUT = "tau-bench: recorded runs with `traj`"


def looks_like(record: Any) -> bool:
    """A record with `task_id` and `traj`."""
    return isinstance(record, dict) and isinstance(record.get("traj"), list)


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a run."""
    for file in files_below(path, "*.json"):
        for number, (place, record) in enumerate(read_records(file)):
            messages = messages_from(field(record, "traj", list, place), place)
            tally.read["conversations"] += 1
            tally.read["messages"] += len(messages)
            tally.note("tool calls", sum(len(message.tool_calls) for message in messages))
            name = f"{file.stem}-{record.get('task_id', number)}-{record.get('trial', 0)}"
            yield Conversation(name, language or "en", "tau-bench", messages, extra={"reward": record.get("reward")})
