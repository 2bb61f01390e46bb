"""Plain text: each line of a `.txt` file is a text of its own, for estimation.

The language is the file's name (`deu.txt`, `zho-CN.txt`); files whose name is none
need `--language`. Line n of one file and line n of another have the same number in
their ids, so that parallel texts stay parallel.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, files_below
from ctxbench.conversation.model import Conversation, Message
from ctxbench.errors import CtxbenchError
from ctxbench.text.languages import language_of_name

ABOUT = "plain text: .txt files named by language, a text a line"


def looks_like(record: Any) -> bool:
    """Text is no JSON record."""
    return False


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation of one user message a line; blank lines are left out."""
    for file in files_below(path, "*.txt"):
        if language is None and file.name == "SOURCE.txt":
            tally.note("files named SOURCE.txt, not read")
            continue
        tag = language or language_of_name(file.stem)
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                tally.read["messages"] += 1
                try:
                    text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                except UnicodeDecodeError as error:
                    raise CtxbenchError(f"{file}:{number}: not UTF-8 at byte {error.start} of the line") from None
                if not text:
                    tally.leave("messages", "blank line")
                    continue
                tally.read["conversations"] += 1
                yield Conversation(f"{file.stem}:{number}", tag, "lines", [Message("user", text)])
