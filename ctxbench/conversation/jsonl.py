"""Reads and writes conversations as JSON lines, one conversation a line.

Reading streams: one line is in memory at a time. A broken line stops the reading
with `file:line: what is wrong`; nothing is skipped. Writing puts the file aside
and renames it, so that a half-written file never exists.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ctxbench.conversation.model import Conversation, conversation_from_dict, conversation_to_dict
from ctxbench.errors import CtxbenchError
from ctxbench.files import decode_json, open_lines, write_atomic


def read_conversations(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a `.jsonl` file, or of all such files of a folder by name.

    Raises:
        CtxbenchError: the path is missing, a line is broken, or an id stands twice.
    """
    seen: dict[str, tuple[int, int]] = {}
    files = jsonl_files(path)
    for file_number, file in enumerate(files):
        for number, conversation in read_lines(file):
            if isinstance(conversation, CtxbenchError):
                raise conversation
            if conversation.id in seen:
                first_file, first_line = seen[conversation.id]
                first = f"{files[first_file]}:{first_line}"
                raise CtxbenchError(f"{file}:{number}: id {conversation.id!r} stands already at {first}")
            seen[conversation.id] = file_number, number
            yield conversation


def jsonl_files(path: Path) -> list[Path]:
    """The files that a dataset path stands for, sorted by name."""
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
        if not files:
            raise CtxbenchError(f"{path}: no .jsonl file in this folder")
        return files
    if not path.is_file():
        raise CtxbenchError(f"{path}: no such file or folder")
    return [path]


def read_lines(file: Path) -> Iterator[tuple[int, Conversation | CtxbenchError]]:
    """Yield `(line number, conversation)`, or what is wrong with the line in its place.

    Blank lines are allowed and carry nothing. One line is in memory at a time.
    """
    with open_lines(file) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    yield number, parse_line(line, f"{file}:{number}")
                except CtxbenchError as error:
                    yield number, error


def parse_line(line: bytes, place: str) -> Conversation:
    """One conversation from one line; `place` is where errors are said to be."""
    raw = decode_json(line, place)
    if not isinstance(raw, dict):
        raise CtxbenchError(f"{place}: a conversation is a JSON object, not {type(raw).__name__}")
    try:
        return conversation_from_dict(raw)
    except msgspec.ValidationError as error:  # it names the field's path
        raise CtxbenchError(f"{place}: {error}") from None


def write_conversations(path: Path, conversations: Iterable[Conversation]) -> int:
    """Write conversations as JSON lines and return how many; the file appears only when whole."""
    count = 0
    with write_atomic(path) as stream:
        for conversation in conversations:
            stream.write(msgspec.json.encode(conversation_to_dict(conversation)) + b"\n")
            count += 1
    return count
