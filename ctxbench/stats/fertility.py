"""Tokens a character by language and tokenizer, and the premium against English on parallel text.

The premium is the tokens that a language needs for what English says in 100 %: the same
stories or lines on both sides. It is a property of tokenizers, not of estimators.
"""

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from ctxbench.runs.folder import Row

REFERENCE = "en"


class Fertility(msgspec.Struct):
    """One language under one tokenizer; the premium is a ratio to English, None without parallel text."""

    tokenizer: str
    language: str
    characters: int
    tokens: int
    tokens_per_character: float
    premium: float | None


def fertility(rows: Sequence[Row]) -> list[Fertility]:
    """A row for each tokenizer and language."""
    if not rows:
        return []
    by_language: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_language[row["language"]].append(row)
    return [
        _fertility(tokenizer, language, by_language)
        for tokenizer in rows[0]["tokens"]
        for language in sorted(by_language)
    ]


def _fertility(tokenizer: str, language: str, by_language: dict[str, list[Row]]) -> Fertility:
    rows = by_language[language]
    tokens, characters = sum(row["tokens"][tokenizer] for row in rows), sum(row["characters"] for row in rows)
    here, there = _by_story(rows, tokenizer), _by_story(by_language.get(REFERENCE, []), tokenizer)
    shared = here.keys() & there.keys()
    premium = sum(here[key] for key in shared) / max(1, sum(there[key] for key in shared)) if shared else None
    return Fertility(tokenizer, language, characters, tokens, tokens / max(1, characters), premium)


def _by_story(rows: Sequence[Row], tokenizer: str) -> dict[str, int]:
    totals: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        if row["parallel"] is not None:
            totals[row["parallel"]] += row["tokens"][tokenizer]
    return totals
