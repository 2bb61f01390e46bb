"""Finds what must be kept word for word: clauses with identifiers, numbers and dates, and rules.

A later clause about the same thing with another value of the same form takes the place of
the earlier one, so that a corrected value does not stand beside the right one.
"""

from collections.abc import Iterable, Sequence

import msgspec
import regex

from ctxbench.conversation.model import Message, content_text
from ctxbench.text.cues import cues
from ctxbench.text.words import pieces, words

SAME_SUBJECT = 0.6
"""Share of the shorter clause's other words from which two clauses are about the same thing."""
LOOKED_AT = 16
"""Earlier clauses with the same main word that a new one is compared with."""

_DIGITS = regex.compile(r"\p{Nd}+")


class Anchor(msgspec.Struct, frozen=True):
    """A clause: its values (words with digits) and what it is about (its other words)."""

    text: str
    values: frozenset[str]
    subject: frozenset[str]


def anchors(messages: Iterable[Message]) -> list[Anchor]:
    """The clauses that still hold, in their order, each once."""
    found: dict[str, Anchor] = {}
    about: dict[str, list[str]] = {}
    for message in messages:
        text = content_text(message)
        for start, end in pieces(text):
            clause = text[start:end].strip()
            anchor = _anchor(clause)
            if not anchor.values and not cues(clause)[0]:
                continue
            main = max(anchor.subject, key=lambda word: (len(word), word), default="")
            earlier = about.setdefault(main, [])
            for other in earlier[-LOOKED_AT:]:
                if other in found and replaces(anchor, found[other]):
                    del found[other]
            found[clause] = anchor
            earlier.append(clause)
    return list(found.values())


def replaces(new: Anchor, old: Anchor) -> bool:
    """Whether `new` gives another value of the same form for what `old` is about."""
    if new.values == old.values or not _forms(new.values) & _forms(old.values):
        return False
    shorter = min(len(new.subject), len(old.subject))
    return shorter > 0 and len(new.subject & old.subject) >= SAME_SUBJECT * shorter


def _anchor(clause: str) -> Anchor:
    found = words(clause)
    return Anchor(
        clause,
        frozenset(word.key for word in found if word.is_number),
        frozenset(word.key for word in found if not word.is_number),
    )


def _forms(values: Iterable[str]) -> set[str]:
    """`hx-48213` and `hx-99` have one form, `14:30` and `3.5` others."""
    return {_DIGITS.sub("9", value) for value in values}


def as_lines(found: Sequence[Anchor]) -> str:
    """The clauses as a list."""
    return "\n".join(f"- {anchor.text}" for anchor in found)
