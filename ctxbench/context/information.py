"""How much a word tells: the rarer in the conversation, the more; numbers and names more.

Self-information, -log2 of the word's share of all words, needs no dictionary and works in
every language. Numbers (dates, amounts, identifiers) and names (words with a capital
within a sentence, where the script has capitals) are what answers consist of and what
cannot be guessed, so they count several times.
"""

import math
import string
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from ctxbench.text.words import REMEMBERED, Word, has_unspaced, words, words_between

NUMBER, NAME = 6.0, 2.5
"""How many times a number and a name count."""
SAID_AGAIN = 0.3
"""What is left of a word's worth once it stands in what is kept."""
GRAIN = 2.0**16
"""Logarithms are rounded to 1/GRAIN: sums of them are then exact, in any order and on any processor."""

Weighted = dict[str, float]
"""Words, each once, and how many times they count."""


class Information:
    """Measures words against all words of a conversation, in bits; asked for words of these only."""

    def __init__(self, texts: Iterable[Iterable[str]]) -> None:
        counts = Counter(chain.from_iterable(texts))
        total = max(1, counts.total())
        self._bits = {key: round(math.log2(total / count) * GRAIN) / GRAIN for key, count in counts.items()}

    def each(self, text: str) -> list[float]:
        """What each word of a text tells, in its order."""
        bits = self._bits
        return [bits[key] * times for key, times in zip(keys(text), _weights(text), strict=True)]

    def bits(self, some: Weighted) -> dict[str, float]:
        """What each of some words tells."""
        bits = self._bits
        return {key: bits[key] * times for key, times in some.items()}


@lru_cache(REMEMBERED)
def keys(text: str) -> tuple[str, ...]:
    """The words of a text, as they are counted."""
    return tuple(word.key for word in words(text))


@lru_cache(REMEMBERED)
def _weights(text: str) -> tuple[float, ...]:
    return tuple(map(weight, words(text)))


@lru_cache(REMEMBERED)
def weighted(text: str, start: int = 0, end: int | None = None) -> Weighted:
    """The words that begin between two places of a text."""
    found: dict[str, float] = {}
    for word in words(text) if end is None else words_between(text, start, end):
        found[word.key] = max(found.get(word.key, 0.0), weight(word))
    return found


def weight(word: Word) -> float:
    """How many times a word counts."""
    return NUMBER if word.is_number else NAME if word.is_name else 1.0


@lru_cache(REMEMBERED)
def rough(text: str) -> tuple[tuple[str, ...], Weighted]:
    """`keys` and `weighted` of a text, ten times faster: words are what stands between spaces.

    Where the script writes them, that is. Every capital is a name's, at the beginning of a
    sentence too.
    """
    if has_unspaced(text):
        return keys(text), weighted(text)
    found = [_rough(word) for word in text.split()]
    return tuple(key for key, _ in found), dict(found)


@lru_cache(REMEMBERED)
def _rough(word: str) -> tuple[str, float]:
    bare = word.strip(string.punctuation)
    is_number = not bare.isalpha() and any(map(str.isdigit, bare))
    return bare.casefold(), NUMBER if is_number else NAME if bare[:1].isupper() else 1.0
