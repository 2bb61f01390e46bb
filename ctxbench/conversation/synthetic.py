"""Generates conversations of any length with facts at chosen depths, for heatmaps and scale tests.

Small talk of an office, with facts (codes, budgets, dates) about people in places.
Each fact stands among distractors of the same form about others; some are corrected
later, some stand only in a tool's result. The same seed gives the same bytes. Phrases
are in `phrases/`, a file a language.
"""

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from ctxbench.conversation.dataset import Dataset
from ctxbench.conversation.model import Conversation, FunctionCall, Message, Probe, ToolCall
from ctxbench.errors import CtxbenchError, unknown_name

_PHRASES = Path(__file__).parent / "phrases"
LANGUAGES = tuple(sorted(file.stem for file in _PHRASES.glob("*.json")))
KINDS = ("identifier", "number", "date")
DISTRACTORS = 2
"""Statements of the same form about others, for each fact."""


class Plan(msgspec.Struct):
    """One fact: where it is said (0 to 1 of the length), and how."""

    depth: float
    kind: str
    entity: str
    value: str
    how: str
    """`said` by the user, `update` (said, and corrected later) or `tool_result`."""
    distractor: bool = False
    old: str | None = None


def load_synthetic(
    *,
    tokens: int,
    facts: int,
    conversations: int,
    seed: int,
    languages: Sequence[str] | None = None,
    depths: Sequence[float] | None = None,
    name: str = "synthetic",
) -> Dataset:
    """A dataset of `conversations` for each language, each of about `tokens` tokens (o200k_base).

    `depths` are where facts stand, from 0 (first message) to 1; None spreads `facts` evenly.
    """
    chosen = list(languages or LANGUAGES)
    for language in chosen:
        if language not in LANGUAGES:
            raise unknown_name("synthetic language", language, list(LANGUAGES))
    made = [
        generate(language, tokens=tokens, facts=facts, depths=depths, seed=f"{seed}-{number}")
        for language in chosen
        for number in range(conversations)
    ]
    return Dataset(name, made)


def generate(
    language: str, *, tokens: int, facts: int, seed: str, depths: Sequence[float] | None = None
) -> Conversation:
    """One conversation; `seed` and the other arguments determine every byte."""
    places = list(depths) if depths else [(index + 0.5) / facts for index in range(facts)]
    if tokens < 1 or not places or not all(0 <= depth <= 1 for depth in places):
        raise CtxbenchError("synthetic: give tokens and facts of 1 or more, and depths from 0 to 1")
    rng = random.Random(f"{language}-{tokens}-{places}-{seed}")  # noqa: S311 - repeatable, not secret
    phrases = _phrases(language)
    plans = _plans(places, phrases, rng)
    length = int(tokens * phrases["characters_per_token"])
    messages = [Message("system", phrases["system"])]
    evidence: dict[str, list[int]] = {plan.entity: [] for plan in plans}
    for plan, turn in _turns(plans, length, phrases, rng):
        if plan is not None:
            holding = next(i for i, message in enumerate(turn) if plan.value in str(message.content))
            evidence[plan.entity].append(len(messages) + holding)
        messages += turn
    asked = [plan for plan in plans if not plan.distractor]
    probes = [_probe(index, plan, evidence[plan.entity], phrases) for index, plan in enumerate(asked)]
    return Conversation(
        f"synthetic-{language}-{tokens}-{seed}", language, "synthetic", messages, tags=["synthetic"], probes=probes
    )


def _plans(depths: Sequence[float], phrases: dict[str, Any], rng: random.Random) -> list[Plan]:
    """All statements by depth: each fact, and its distractors anywhere."""
    pairs = [(name, place) for name in phrases["names"] for place in phrases["places"]]
    needed = len(depths) * (1 + DISTRACTORS)
    rng.shuffle(pairs)
    entities = [f"{name} ({place})" for name, place in pairs]
    entities += [f"{entities[i % len(pairs)][:-1]}, {i // len(pairs) + 1})" for i in range(len(pairs), needed)]
    values = {kind: _values(kind, needed * 2, rng) for kind in KINDS}
    plans = []
    for index, depth in enumerate(depths):
        kind, how = KINDS[index % len(KINDS)], ("said", "update", "tool_result")[index // len(KINDS) % 3]
        old = next(values[kind]) if how == "update" else None
        plans.append(Plan(depth, kind, entities.pop(), next(values[kind]), how, old=old))
        plans += [
            Plan(rng.random(), kind, entities.pop(), next(values[kind]), "said", distractor=True)
            for _ in range(DISTRACTORS)
        ]
    return sorted(plans, key=lambda plan: plan.depth)


def _values(kind: str, count: int, rng: random.Random) -> Iterator[str]:
    """Values that differ from one another."""
    if kind == "identifier":
        letters = "BCDFGHJKLMNPQRSTVWXZ"
        return iter(f"{letters[n // 20 % 20]}{letters[n % 20]}-{n + 10_000}" for n in rng.sample(range(90_000), count))
    if kind == "number":
        return iter(str(n) for n in rng.sample(range(100_000, 1_000_000), count))
    days = rng.sample(range(28 * 12 * 400), count)
    return iter(f"{2000 + n // 336}-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}" for n in days)


def _turns(
    plans: list[Plan], length: int, phrases: dict[str, Any], rng: random.Random
) -> Iterator[tuple[Plan | None, list[Message]]]:
    """Small talk, with each statement when its depth is reached; the plan where its value is told."""
    waiting = [(plan.depth, plan) for plan in plans]
    late = [(plan.depth + (1 - plan.depth) * 0.6, plan) for plan in plans if plan.old]
    waiting = sorted([*waiting, *late], key=lambda item: item[0], reverse=True)
    told: set[str] = set()
    written = 0
    while written < length or waiting:
        if waiting and written >= waiting[-1][0] * length:
            _, plan = waiting.pop()
            turn, holds = _statement(plan, corrected=plan.entity in told, phrases=phrases, rng=rng)
            told.add(plan.entity)
        else:
            turn, plan, holds = _small_talk(phrases, rng), None, False
        written += sum(len(str(message.content)) for message in turn)
        yield plan if holds else None, turn


def _statement(
    plan: Plan, *, corrected: bool, phrases: dict[str, Any], rng: random.Random
) -> tuple[list[Message], bool]:
    """The turn that tells a fact, and whether it is the value that the probe asks for."""
    holds = plan.old is None or corrected
    fact = phrases["facts"][plan.kind][0].format(entity=plan.entity, value=plan.value if holds else plan.old)
    if plan.how == "tool_result":
        call = f"call_{plan.value}".replace("-", "_")
        arguments = msgspec.json.encode({"entity": plan.entity}).decode()
        record = {"entity": plan.entity, "kind": plan.kind, "value": plan.value, "pages": rng.randint(2, 90)}
        return [
            Message("user", phrases["tool_user"].format(entity=plan.entity)),
            Message("assistant", None, tool_calls=(ToolCall(call, FunctionCall("lookup_record", arguments)),)),
            Message("tool", msgspec.json.encode(record).decode(), name="lookup_record", tool_call_id=call),
            Message("assistant", phrases["tool_done"]),
        ], True
    text = phrases["update"].format(fact=fact) if corrected else fact
    return [Message("user", text), Message("assistant", rng.choice(phrases["ack"]))], holds


def small_talk(language: str, rng: random.Random) -> list[Message]:
    """One exchange without any fact, in one of `LANGUAGES`."""
    return _small_talk(_phrases(language), rng)


@lru_cache
def _phrases(language: str) -> dict[str, Any]:
    phrases: dict[str, Any] = msgspec.json.decode((_PHRASES / f"{language}.json").read_bytes())
    return phrases


def _small_talk(phrases: dict[str, Any], rng: random.Random) -> list[Message]:
    def sentences(role: str, count: int) -> str:
        chosen = rng.sample(phrases[role], count)
        filled = (s.format(name=rng.choice(phrases["names"]), place=rng.choice(phrases["places"])) for s in chosen)
        return " ".join(filled)

    return [
        Message("user", sentences("user", rng.randint(1, 3))),
        Message("assistant", sentences("assistant", rng.randint(1, 3))),
    ]


def _probe(index: int, plan: Plan, evidence: list[int], phrases: dict[str, Any]) -> Probe:
    return Probe(
        id=f"fact{index}",
        question=phrases["facts"][plan.kind][1].format(entity=plan.entity),
        answers=[plan.value],
        category=plan.kind if plan.how == "said" else plan.how,
        evidence=evidence,
        stale=[plan.old] if plan.old else [],
        extra={"depth": round(plan.depth, 4)},
    )
