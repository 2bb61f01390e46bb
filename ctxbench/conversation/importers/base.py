"""What importers share: records with their place, a tally of what happened to them.

Nothing is skipped silently: what is read is either kept or left out for a reason that
is counted.
"""

import codecs
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError
from ctxbench.files import decode_json, open_lines


class WrongFormat(CtxbenchError):
    """A record is not what its format has; `record` is what was found there."""

    def __init__(self, place: str, what: str, record: Any = None) -> None:
        super().__init__(f"{place}: {what}")
        self.record = record


class Tally:
    """Counts of things (`conversations`, `messages`, `questions`): read, kept, left out and why."""

    def __init__(self) -> None:
        self.read: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self.left: Counter[tuple[str, str]] = Counter()
        self.notes: Counter[str] = Counter()

    def leave(self, thing: str, reason: str, count: int = 1) -> None:
        """Count things that were left out."""
        self.left[thing, reason] += count

    def note(self, what: str, count: int = 1) -> None:
        """Count something worth knowing of what was kept."""
        self.notes[what] += count

    def keep(self, conversation: Conversation) -> Conversation:
        """Count a conversation as kept, with its messages and probes, and give it back."""
        self.kept["conversations"] += 1
        self.kept["messages"] += len(conversation.messages)
        self.kept["questions"] += len(conversation.probes)
        return conversation

    def lines(self) -> list[str]:
        """The tally, a line for each thing, and one for each reason and note."""
        things = [thing for thing in ("conversations", "messages", "questions") if self.read[thing] or self.kept[thing]]
        lines = [f"{thing}: {self.read[thing]:,} read, {self.kept[thing]:,} kept" for thing in things]
        lines += [f"left out: {count:,} {thing}: {why}" for (thing, why), count in sorted(self.left.items())]
        return lines + [f"note: {count:,} {what}" for what, count in sorted(self.notes.items())]


def read_records(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield `(place, record)`: the lines of a JSON-lines file, the items of a JSON list, or one object.

    Lines are read one at a time; only a file that is one JSON value is read whole.
    """
    with open_lines(path) as lines:
        first = next((line for line in lines if line.strip()), b"")
    if not first.strip():
        raise CtxbenchError(f"{path}: the file is empty")
    if first.lstrip().startswith(b"[") or not _is_whole(first):
        value = decode_json(path.read_bytes().removeprefix(codecs.BOM_UTF8), str(path))
        items = value if isinstance(value, list) else [value]
        yield from ((f"{path}[{index}]" if value is items else str(path), item) for index, item in enumerate(items))
        return
    with open_lines(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield f"{path}:{number}", decode_json(line, f"{path}:{number}")


def files_below(path: Path, pattern: str) -> list[Path]:
    """The file itself, or the files of a folder that match, sorted by name."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CtxbenchError(f"{path}: no such file or folder")
    files = sorted(path.rglob(pattern))
    if not files:
        raise CtxbenchError(f"{path}: no {pattern} below this folder")
    return files


def field(record: Any, name: str, kind: type | tuple[type, ...], place: str) -> Any:
    """A field of a record, of the given type; raises `WrongFormat` when it is not there or another."""
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        found = "missing" if value is None else f"a {type(value).__name__}"
        raise WrongFormat(place, f"field {name!r} is {found}", record)
    return value


def _is_whole(line: bytes) -> bool:
    """Whether the first line is a JSON value of its own, and so the file JSON lines."""
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return b'"' in line and line.rstrip().endswith(b"}")  # a broken line is a line all the same
    return True
