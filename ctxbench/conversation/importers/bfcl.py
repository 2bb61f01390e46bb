"""BFCL v4 memory: what a user said in several sessions, then questions about it.

PATH is the folder with `memory_prereq_conversation/`, `BFCL_v4_memory.json` and
`possible_answer/` (JSON lines, whatever the ending says). A scenario is one
conversation: all its sessions in order, of user messages only. The source quote of a
question names its evidence where it stands verbatim.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxbench.conversation.importers.base import Tally, WrongFormat, field, read_records
from ctxbench.conversation.importers.chat import messages_from
from ctxbench.conversation.model import Conversation, Message, Probe, content_text
from ctxbench.errors import CtxbenchError
from ctxbench.text.normalise import normalise

ABOUT = "BFCL v4 memory: the folder with memory_prereq_conversation/ and possible_answer/"


def looks_like(record: Any) -> bool:
    """A record of `question` turns with a `scenario`."""
    return isinstance(record, dict) and "scenario" in record and isinstance(record.get("question"), list)


def read(path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
    """One conversation a scenario."""
    sessions = sorted((path / "memory_prereq_conversation").glob("*.json"))
    if not sessions:
        raise CtxbenchError(f"{path}: no memory_prereq_conversation/*.json; give the folder that holds it")
    answers = {
        field(record, "id", str, place): record
        for place, record in read_records(path / "possible_answer" / "BFCL_v4_memory.json")
    }
    questions: defaultdict[str, list[tuple[str, Any]]] = defaultdict(list)
    for place, record in read_records(path / "BFCL_v4_memory.json"):
        tally.read["questions"] += 1
        questions[field(record, "scenario", str, place)].append((place, record))
    for file in sessions:
        scenario, messages = _session(file, tally)
        probes = [_probe(record, answers, messages, tally, place) for place, record in questions.pop(scenario, [])]
        kept = [probe for probe in probes if probe is not None]
        yield Conversation(f"bfcl-{scenario}", language or "en", "bfcl", messages, scenario=scenario, probes=kept)
    for scenario, rest in questions.items():
        tally.leave("questions", f"no sessions of the scenario {scenario}", len(rest))


def _session(file: Path, tally: Tally) -> tuple[str, list[Message]]:
    messages: list[Message] = []
    scenario = file.stem
    tally.read["conversations"] += 1
    for place, record in read_records(file):
        scenario = field(record, "scenario", str, place)
        turns = [message for turn in field(record, "question", list, place) for message in turn]
        messages += messages_from(turns, place)
        tally.read["messages"] += len(turns)
        tally.note("sessions, joined by scenario")
    return scenario, messages


def _probe(record: Any, answers: dict[str, Any], messages: list[Message], tally: Tally, place: str) -> Probe | None:
    name = field(record, "id", str, place)
    if name not in answers:
        tally.leave("questions", "no possible answer")
        return None
    try:
        question = str(record["question"][0][0]["content"])
    except (KeyError, IndexError, TypeError):
        raise WrongFormat(place, "no question text", record) from None
    quotes = [part.strip(" .,'\"") for part in normalise(str(answers[name].get("source") or "")).split("...")]
    texts = [normalise(content_text(message)) for message in messages]
    evidence = [index for index, text in enumerate(texts) if any(quote and quote in text for quote in quotes)]
    if not evidence:
        tally.note("questions whose source quote stands in no message")
    truth = [str(alias) for alias in field(answers[name], "ground_truth", list, place)]
    return Probe(id=name, question=question, answers=truth, category="fact", evidence=evidence)
