"""Prints what became of one conversation, and which conversations of a run lost the most.

Text of messages is shown as it stands: nothing in it is taken for markup, and control characters
are left out, so that it cannot steer the terminal. Replaying is the caller's matter.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import regex
from rich.text import Text

from ctxbench.conversation.model import Conversation, Message, Probe, context_text
from ctxbench.experiments.replay import Step
from ctxbench.report.tables import console
from ctxbench.runs.folder import Row
from ctxbench.scoring.recall import recall
from ctxbench.scoring.retained import found, haystack, retained

SHOWN_CHARACTERS = 100
"""So much of a message is shown; what a compression added is shown whole."""

_CONTROL = regex.compile(r"[\p{Cc}--[\n\t]]", regex.V1)
_STYLES = {"kept": "", "dropped": "dim", "lost": "bold red", "retained": "green", "not scored": "dim"}
_VERDICTS = {True: "retained", False: "lost", None: "not scored"}


class Case(msgspec.Struct):
    """One context of a replayed conversation, and the probes of it to tell."""

    conversation: Conversation
    budget: str
    limit: int
    tokens_full: int
    tokens_context: int
    step: Step
    probes: list[Probe]


def message_fates(history: Sequence[Message], context: Sequence[Message]) -> tuple[list[bool], list[Message]]:
    """Whether each message of the history stands in the context, and the messages of the context that are new."""
    old = _matched(context, history)
    return _matched(history, context), [message for message, known in zip(context, old, strict=True) if not known]


def _matched(messages: Sequence[Message], others: Sequence[Message]) -> list[bool]:
    """Which messages stand among others, each of which counts once.

    Of messages that say the same, those that are the very object come first, then the later ones.
    """
    left, same = Counter(map(msgspec.json.encode, others)), {id(message) for message in others}
    matched = [False] * len(messages)
    for index in sorted(range(len(messages)), key=lambda one: (id(messages[one]) in same, one), reverse=True):
        key = msgspec.json.encode(messages[index])
        matched[index] = left[key] > 0
        left[key] -= 1
    return matched


def print_case(case: Case) -> None:
    """The context message by message, what was added to it, and each probe."""
    context, history = case.step.context, case.step.history
    kept, added = message_fates(history, context.messages)
    _line(f"{case.conversation.id} · budget {case.budget} ({case.limit:,} tokens) · after {len(history)} messages")
    failure = f" ({context.failure})" if context.failure else ""
    _line(
        f"{context.outcome}{failure}: tokens {case.tokens_full:,} → {case.tokens_context:,}, "
        f"{sum(kept)} kept, {len(kept) - sum(kept)} dropped, {len(added)} added"
    )
    evidence = {index for probe in case.probes for index in probe.evidence}
    _line("\nmessages (* evidence of a probe below):")
    for index, message in enumerate(history):
        fate, mark = "kept" if kept[index] else "dropped", "*" if index in evidence else " "
        _line(f"{index:4}{mark} {message.role:9} {fate:7}  {_short(context_text([message]))}", _STYLES[fate])
    _line(f"\nadded: {'' if added else 'nothing'}".rstrip())
    for message in added:
        _line(f"[{message.role}] {context_text([message])}")
    for probe in case.probes:
        _print_probe(probe, case, kept, added)
    if not case.probes:
        _line("\nno probe to tell here")
    shown = {probe.id for probe in case.probes} | {probe.id for probe in case.step.probes}
    if elsewhere := [probe.id for probe in case.conversation.probes if probe.id not in shown]:
        _line(f"\nasked at other messages (--probe shows one): {', '.join(elsewhere)}")


def _print_probe(probe: Probe, case: Case, kept: Sequence[bool], added: Sequence[Message]) -> None:
    here = haystack(case.step.context.messages)
    verdict = _VERDICTS[retained(probe, here)]
    _line(f"\nprobe {probe.id} ({probe.category}): {verdict}", _STYLES[verdict])
    _line(f"  question: {probe.question}")
    for aliases in [probe.answers, *probe.also] if probe.answers else []:
        _line(f"  answer: {' | '.join(aliases)}: {'found' if found(aliases, here) else 'not found'}")
    if verdict == "lost":
        for index in probe.evidence:
            fate = "kept" if kept[index] else _dropped(case.step.history[index], added)
            _line(f"  evidence in message {index}: {fate}")
    if stale := [value for value in probe.stale if found([value], here)]:
        _line(f"  stale value that survives {'instead' if verdict == 'lost' else 'too'}: {' | '.join(stale)}")


def _dropped(message: Message, added: Sequence[Message]) -> str:
    share = recall([message], added) if added else None
    return "dropped" if share is None else f"dropped; {share:.0%} of its wording stands in what was added"


def print_conversations(rows: Iterable[Row], budget: str) -> None:
    """A line for each conversation: probes lost, retained and not scored; the largest share lost first."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row["conversation"], Counter())[_VERDICTS[row["retained"]]] += 1
    total = sum(counts.values(), Counter[str]())
    _line(f"budget {budget}: {len(counts)} conversations, {_lost_of(total)} probes lost; the worst first")
    _line(f"{'lost':>6} {'retained':>9} {'not scored':>11}  conversation")
    for name, count in sorted(counts.items(), key=lambda item: (-_share_lost(item[1]), -item[1]["lost"], item[0])):
        _line(f"{count['lost']:6} {count['retained']:9} {count['not scored']:11}  {name}")


def _share_lost(count: Counter[str]) -> float:
    return count["lost"] / max(1, count["lost"] + count["retained"])


def _lost_of(count: Counter[str]) -> str:
    return f"{count['lost']:,} of {count['lost'] + count['retained']:,}"


def print_lost(rows: Iterable[Row], budget: str) -> None:
    """A line for each lost probe; position is that of its evidence, 0 first, 1 last."""
    lost = [row for row in rows if row["retained"] is False]
    _line(f"budget {budget}: {len(lost):,} probes lost; position of the evidence: 0 first, 1 last message")
    width = max((len(row["conversation"]) for row in lost), default=0)
    for row in lost:
        position = "–" if row["position"] is None else f"{row['position']:.2f}"
        _line(f"{position:>5}  {row['conversation']:{width}}  {row['probe']} ({row['category']})")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"


def _line(text: str, style: str = "") -> None:
    console().print(Text(_CONTROL.sub("", text), style), soft_wrap=True)
