"""LongMemEval: questions over many sessions of one user with an assistant.

Both the original files (`haystack_sessions`) and a re-keyed form (`data` with
`conversation` and `questions`). The date of a session stands before its first message.
Evidence is the messages marked `has_answer`, else those of the answer sessions.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, field, files_below, read_records
from ctxbench.conversation.model import Conversation, Message, Probe

ABOUT = "LongMemEval: original files, or re-keyed with `data`"

CATEGORIES = {
    "single-session-user": "fact",
    "single-session-assistant": "fact",
    "single-session-preference": "preference",
    "knowledge-update": "update",
    "temporal-reasoning": "date",
    "multi-session": "multi",
}

_ALSO = re.compile(r"(.+?)\s*\(or (.+?)\)\.?")


def looks_like(record: Any) -> bool:
    """A record with `haystack_sessions`, or a whole re-keyed file."""
    if not isinstance(record, dict):
        return False
    data = record.get("data")
    return "haystack_sessions" in record or (isinstance(data, list) and bool(data) and "questions" in data[0])


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a question (original) or an entry (re-keyed)."""
    for file in files_below(path, "*.json*"):
        for place, record in read_records(file):
            if isinstance(record, dict) and isinstance(record.get("data"), list):
                for index, entry in enumerate(record["data"]):
                    yield _rekeyed(entry, f"{place}: entry {index}", tally, language or "en")
            else:
                yield _original(record, place, tally, language or "en")


def _original(record: Any, place: str, tally: Tally, language: str) -> Conversation:
    sessions = field(record, "haystack_sessions", list, place)
    ids, dates = record.get("haystack_session_ids") or [], record.get("haystack_dates") or []
    answer_sessions = set(record.get("answer_session_ids") or [])
    messages: list[Message] = []
    marked, in_session = [], []
    for number, session in enumerate(sessions):
        for index, turn in enumerate(session):
            text = field(turn, "content", str, f"{place}: session {number}")
            if turn.get("has_answer"):
                marked.append(len(messages))
            if number < len(ids) and ids[number] in answer_sessions:
                in_session.append(len(messages))
            date = f"[{dates[number]}] " if index == 0 and number < len(dates) else ""
            messages.append(Message(field(turn, "role", str, place), date + text))
    _count(tally, len(messages), 1)
    name = str(field(record, "question_id", str, place))
    probe = _probe(record, name, str(record.get("question_type")), marked or in_session, place)
    return Conversation(name, language, "longmemeval", messages, probes=[probe])


def _rekeyed(entry: Any, place: str, tally: Tally, language: str) -> Conversation:
    turns, questions = field(entry, "conversation", list, place), field(entry, "questions", list, place)
    messages = []
    date = None
    for turn in turns:
        prefix = f"[{turn['date']}] " if turn.get("date") and turn["date"] != date else ""
        date = turn.get("date", date)
        messages.append(Message(field(turn, "role", str, place), prefix + field(turn, "content", str, place)))
    _count(tally, len(messages), len(questions))
    tally.note("questions without marked evidence", len(questions))
    kind = str(entry.get("question_type"))
    probes = [_probe(question, str(question.get("id")), kind, [], place) for question in questions]
    return Conversation(str(entry.get("id") or place), language, "longmemeval", messages, probes=probes)


def _probe(question: Any, name: str, kind: str, evidence: list[int], place: str) -> Probe:
    answer = str(question.get("answer", ""))
    absent = name.endswith("_abs")
    match = _ALSO.fullmatch(answer)
    answers = [match[1], match[2]] if match else [answer]
    return Probe(
        id=name,
        question=field(question, "question", str, place),
        answers=[] if absent else answers,
        category="absent" if absent else CATEGORIES.get(kind, kind),
        evidence=[] if absent else evidence,
        extra={"question_type": kind},
    )


def _count(tally: Tally, messages: int, questions: int) -> None:
    tally.read["conversations"] += 1
    tally.read["messages"] += messages
    tally.read["questions"] += questions
