"""MT-bench: two-turn questions with a model's answers, a folder a language.

PATH is a language's folder (`question.jsonl` and one file of answers, `gpt-4.jsonl`
first) or a folder of such folders. The language is the folder's name.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, field, files_below, read_records
from ctxbench.conversation.model import Conversation, Message
from ctxbench.errors import CtxbenchError
from ctxbench.text.languages import language_of_name

ABOUT = "MT-bench: a folder with question.jsonl and gpt-4.jsonl, or a folder of such folders"


def looks_like(record: Any) -> bool:
    """A question with its `turns`."""
    return isinstance(record, dict) and "question_id" in record and "turns" in record


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a question: user and assistant in turn, or the user alone without an answer."""
    for file in files_below(path, "question.jsonl"):
        tag = language or language_of_name(file.parent.name)
        answers = _answers(file)
        for place, record in read_records(file):
            name = field(record, "question_id", int, place)
            tally.read["conversations"] += 1
            turns, replies = field(record, "turns", list, place), answers.get(name, [])
            if not replies:
                tally.note(f"questions without an answer ({file.parent.name})")
            messages = []
            for index, turn in enumerate(turns):
                messages.append(Message("user", str(turn)))
                messages += [Message("assistant", str(reply)) for reply in replies[index : index + 1]]
            tally.read["messages"] += len(messages)
            scenario = str(record.get("category", ""))
            yield Conversation(f"mtbench-{file.parent.name}-{name}", tag, "mt-bench", messages, scenario=scenario)


def _answers(questions: Path) -> dict[int, list[Any]]:
    """The turns of the first choice, by question."""
    files = sorted(
        (file for file in questions.parent.glob("*.jsonl") if file != questions), key=lambda file: file.stem != "gpt-4"
    )
    if not files:
        raise CtxbenchError(f"{questions.parent}: no file of answers beside question.jsonl")
    return {
        field(record, "question_id", int, place): field(record, "choices", list, place)[0]["turns"]
        for place, record in read_records(files[0])
    }
