"""How much of the evidence's wording survives, so that partial loss is seen.

Recall is the share of the evidence's distinct character n-grams that stand in the
context (n = 2 in scripts that pack a word into one or two characters, else 4, after
normalising). It says nothing about the answer itself: see `retained`.
"""

from collections.abc import Sequence
from functools import lru_cache

import regex

from ctxbench.conversation.model import Message, context_text
from ctxbench.text.normalise import normalise

_DENSE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
_NOT_WORD = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


def recall(evidence: Sequence[Message], context: Sequence[Message]) -> float | None:
    """Share (0 to 1) of the evidence's n-grams found in the context; None without evidence text."""
    wanted = frozenset().union(*(_message_grams(message) for message in evidence))
    if not wanted:
        return None
    kept = {id(message) for message in context}
    missing = wanted.difference(*(_message_grams(message) for message in evidence if id(message) in kept))
    for message in context:
        if not missing:
            break
        missing = missing - _message_grams(message)
    return 1.0 - len(missing) / len(wanted)


def _message_grams(message: Message) -> frozenset[str]:
    return grams(context_text([message]))


@lru_cache(maxsize=4096)
def grams(text: str) -> frozenset[str]:
    """The distinct n-grams of a text: pairs of dense characters, else fours within `_word_`."""
    found: set[str] = set()
    for word in _NOT_WORD.sub(" ", normalise(text)).split():
        dense = _DENSE.search(word) is not None
        padded, size = (word, 2) if dense else (f"_{word}_", 4)
        found.update(padded[start : start + size] for start in range(max(1, len(padded) - size + 1)))
    return frozenset(found)
