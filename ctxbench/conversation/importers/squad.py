"""SQuAD and XQuAD: a paragraph as a document chat.

The user gives the paragraph sentence by sentence, then the questions are asked. The
language of an XQuAD file is in its name (`xquad.ar.json`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, field, files_below, read_records
from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.text.languages import language_of_name
from ctxbench.text.sentences import split_sentences

ABOUT = "SQuAD 1.1 and XQuAD: a file, or a folder of them"


def looks_like(record: Any) -> bool:
    """A file with `data` of paragraphs."""
    data = record.get("data") if isinstance(record, dict) else None
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "paragraphs" in data[0]


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a paragraph."""
    for file in files_below(path, "*.json"):
        tag = language or (language_of_name(file.stem.split(".")[-1]) if "." in file.stem else "en")
        for place, record in read_records(file):
            for article in field(record, "data", list, place):
                for number, paragraph in enumerate(field(article, "paragraphs", list, place)):
                    name = f"{file.stem}-{article.get('title', '')}-{number}"
                    yield _conversation(paragraph, name, tag, tally, f"{place}: {name}")


def _conversation(paragraph: Any, name: str, language: str, tally: Tally, place: str) -> Conversation:
    text, questions = field(paragraph, "context", str, place), field(paragraph, "qas", list, place)
    sentences = split_sentences(text)
    tally.read["conversations"] += 1
    tally.read["messages"] += len(sentences)
    tally.read["questions"] += len(questions)
    probes = [_probe(question, sentences, tally, place) for question in questions]
    return Conversation(name, language, "squad", [Message("user", one) for one in sentences], probes=probes)


def _probe(question: Any, sentences: tuple[str, ...], tally: Tally, place: str) -> Probe:
    answers = list(dict.fromkeys(str(one["text"]) for one in field(question, "answers", list, place)))
    evidence = [index for index, one in enumerate(sentences) if any(answer in one for answer in answers)]
    if not evidence:
        tally.note("answers that span two sentences")
    return Probe(
        id=str(question.get("id")),
        question=field(question, "question", str, place),
        answers=answers,
        category="fact",
        evidence=evidence,
    )
