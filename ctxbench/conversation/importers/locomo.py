"""LoCoMo: ten very long conversations of two friends, in dated sessions, with questions.

The first speaker becomes the user, the second the assistant, each under his name. The
date of a session stands before its first turn; a shared picture is given by its caption.
Questions of category 5 ask for what was never said.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, field, files_below, read_records
from ctxbench.conversation.model import Conversation, Message, Probe

ABOUT = "LoCoMo: locomo10.json"

CATEGORIES = {1: "multi", 2: "date", 3: "inference", 4: "fact", 5: "absent"}
"""LoCoMo's numbers: multi-hop, temporal, open-domain, single-hop, adversarial."""

_TURN = re.compile(r"D:?(\d+):(\d+)")


def looks_like(record: Any) -> bool:
    """A record with `qa` and a `conversation` of sessions."""
    return isinstance(record, dict) and "qa" in record and isinstance(record.get("conversation"), dict)


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a record, all its sessions in order."""
    for file in files_below(path, "*.json"):
        for number, (place, record) in enumerate(read_records(file)):
            sessions, questions = field(record, "conversation", dict, place), field(record, "qa", list, place)
            tally.read["conversations"] += 1
            messages, places = _messages(sessions, place)
            tally.read["messages"] += len(messages)
            tally.read["questions"] += len(questions)
            probes = [
                _probe(question, index, places, tally, f"{place}: question {index}")
                for index, question in enumerate(questions)
            ]
            name = str(record.get("sample_id") or f"locomo-{number}")
            yield Conversation(name, language or "en", "locomo", messages, probes=probes)


def _messages(sessions: dict[str, Any], place: str) -> tuple[list[Message], dict[str, int]]:
    """All turns as messages, and the index of each turn's id."""
    roles = {field(sessions, "speaker_a", str, place): "user", field(sessions, "speaker_b", str, place): "assistant"}
    numbers = sorted(int(key.split("_")[1]) for key in sessions if re.fullmatch(r"session_\d+", key))
    messages: list[Message] = []
    places: dict[str, int] = {}
    for number in numbers:
        date = sessions.get(f"session_{number}_date_time", "")
        for index, turn in enumerate(field(sessions, f"session_{number}", list, place)):
            speaker, text = field(turn, "speaker", str, place), field(turn, "text", str, place)
            if caption := turn.get("blip_caption"):
                text = f"{text} [shares {caption}]"
            if index == 0 and date:
                text = f"[{date}] {text}"
            places[_id(turn.get("dia_id"))] = len(messages)
            messages.append(Message(roles.get(speaker, "user"), text, name=speaker))
    return messages, places


def _id(dia_id: Any) -> str:
    match = _TURN.fullmatch(str(dia_id))
    return f"{match[1]}:{match[2]}" if match else str(dia_id)


def _probe(question: Any, index: int, places: dict[str, int], tally: Tally, place: str) -> Probe:
    named = " ".join(map(str, field(question, "evidence", list, place)))
    ids = [f"{session}:{turn}" for session, turn in _TURN.findall(named)]
    evidence = sorted({places[one] for one in ids if one in places})
    if len(ids) < len(question["evidence"]) or any(one not in places for one in ids):
        tally.note("questions with an evidence id that names no turn")
    number = field(question, "category", int, place)
    absent = CATEGORIES.get(number) == "absent"
    answer = question.get("answer")
    return Probe(
        id=f"q{index}",
        question=field(question, "question", str, place),
        answers=[] if absent or answer is None else [str(answer)],
        category=CATEGORIES.get(number, str(number)),
        evidence=[] if absent else evidence,
        extra={"adversarial_answer": question["adversarial_answer"]} if "adversarial_answer" in question else {},
    )
