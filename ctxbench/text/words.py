"""Finds words, and pieces of text between sentence and clause marks, in any script.

A run of letters, marks and digits is a word, also around inner points and hyphens
(`HX-48213`, `14:30`, `don't`). Scripts that write no spaces give a word a character.
Results are remembered, because a growing conversation is looked at again and again.
"""

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import regex

from ctxbench.text.sentences import THAI_SPACE, split_sentences

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts that write no spaces between words, as the inside of a `regex` set."""
REMEMBERED = 16_384

_WORD = regex.compile(
    rf"[{UNSPACED}]\p{{M}}*|[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]+(?:[.:,/@'’\-_]+[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]+)*",
    regex.V1,
)
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:[.:,/@'\-_]+[A-Za-z0-9]+)*")
"""The same on ASCII, twice as fast."""
_CLAUSE_END = re.compile(
    r"""\n+
    | [,;:!?.\u2026\u2014\u2013)\]"\u201d]\s+ | \s+(?=[(\["\u201c])
    | [\uff0c\u3002\u3001\uff1b\uff1a\uff01\uff1f\uff09\u300d\u300f]
    | [\u0964\u06d4\u061f\u060c\u061b]\s*
    | """
    + THAI_SPACE,
    re.VERBOSE,
)
_UNSPACED = regex.compile(f"[{UNSPACED}]")


class Word(NamedTuple):
    """A word and where it stands; `key` is its form without case."""

    start: int
    end: int
    key: str
    is_number: bool
    is_name: bool
    """It begins with a capital, though no sentence begins here."""


@lru_cache(REMEMBERED)
def words(text: str) -> tuple[Word, ...]:
    """The words of a text, in order."""
    found = []
    for match in (_ASCII_WORD if text.isascii() else _WORD).finditer(text):
        word, (start, end) = match[0], match.span()
        is_number = not word.isalpha() and any(map(str.isdigit, word))
        found.append(Word(start, end, word.casefold(), is_number, word[0].isupper() and not _begins(text, start)))
    return tuple(found)


def has_unspaced(text: str) -> bool:
    """Whether any of the text is in a script that writes no spaces."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def words_between(text: str, start: int, end: int) -> tuple[Word, ...]:
    """The words of the text that begin from `start` on and before `end`."""
    found = words(text)
    first = bisect_left(found, start, key=_start)
    return found[first : bisect_left(found, end, first, key=_start)]


_start = attrgetter("start")


def _begins(text: str, start: int) -> bool:
    """Whether a sentence begins here, so that a capital says nothing."""
    return text[max(0, start - 3) : start].rstrip(" \"'([\u201c")[-1:] in ("", ".", "!", "?", ":", "\n")


LONG, LONGEST = 12, 16
"""Words from which a sentence is split at its clause marks, and a clause is split evenly."""


@lru_cache(REMEMBERED)
def pieces(text: str) -> tuple[tuple[int, int], ...]:
    """Where sentences stand in the text; of long ones, where their clauses stand."""
    found: list[tuple[int, int]] = []
    end = 0
    for sentence in split_sentences(text):
        start = text.index(sentence, end)
        end = start + len(sentence)
        if len(words_between(text, start, end)) <= LONG:
            found.append((start, end))
            continue
        ends = [start + match.end() for match in _CLAUSE_END.finditer(sentence)]
        for first, last in pairwise([start, *ends, end]):
            found += _evenly(text, first, first + len(text[first:last].rstrip()))
    return tuple(found)


def _evenly(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The clause, or parts of it that have about the same number of words."""
    starts = [word.start for word in words_between(text, start, end)]
    parts = -(-len(starts) // LONGEST)
    if parts <= 1:
        return [(start, end)] if end > start else []
    step = -(-len(starts) // parts)
    return list(pairwise([start, *starts[step::step], end]))
