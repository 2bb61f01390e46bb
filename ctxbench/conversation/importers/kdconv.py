"""KdConv: Chinese dialogues about films, music and travel, with the facts that turns rest on.

Speakers alternate. A fact (name, attribute, value) whose value stands in its turn
becomes a question; facts without an attribute or whose value is put otherwise are
counted and left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, field, files_below, read_records
from ctxbench.conversation.model import Conversation, Message, Probe

ABOUT = "KdConv: film.json, music.json, travel.json"


def looks_like(record: Any) -> bool:
    """A record whose `messages` have a `message`."""
    messages = record.get("messages") if isinstance(record, dict) else None
    return isinstance(messages, list) and bool(messages) and isinstance(messages[0], dict) and "message" in messages[0]


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a dialogue."""
    for file in files_below(path, "*.json"):
        for number, (place, record) in enumerate(read_records(file)):
            turns = field(record, "messages", list, place)
            texts = [field(turn, "message", str, f"{place}: turn {index}") for index, turn in enumerate(turns)]
            tally.read["conversations"] += 1
            tally.read["messages"] += len(texts)
            messages = [Message(("user", "assistant")[index % 2], text) for index, text in enumerate(texts)]
            probes = _probes(turns, texts, tally)
            yield Conversation(f"{file.stem}-{number}", language or "zh-Hans", "kdconv", messages, probes=probes)


def _probes(turns: list[Any], texts: list[str], tally: Tally) -> list[Probe]:
    facts: dict[tuple[str, str, str], None] = {}
    for turn, text in zip(turns, texts, strict=True):
        for attribute in turn.get("attrs", []):
            tally.read["questions"] += 1
            fact = tuple(str(attribute.get(name, "")) for name in ("name", "attrname", "attrvalue"))
            name, attrname, value = fact
            if not value or value not in text:
                tally.leave("questions", "the fact's value does not stand in its turn")
            elif (name, attrname, value) in facts:
                tally.leave("questions", "the same fact stands in an earlier turn")
            else:
                facts[name, attrname, value] = None
    return [
        Probe(
            id=f"fact{index}",
            question=f"{name}的{attrname}是什么？",
            answers=[value],
            category="fact",
            evidence=[place for place, text in enumerate(texts) if value in text],
        )
        for index, (name, attrname, value) in enumerate(facts)
    ]
