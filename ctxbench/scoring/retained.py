"""Whether an answer can still be found in a context, without a model.

An answer is found when one of its aliases stands in one message, as words of their
own where the script writes spaces between words, anywhere where it does not. A number
must be the whole number: `5` is not found in `15`, `1.5`, `10:5` or `2050`. Whether a
model would find it is another question: see `answered`.
"""

from collections.abc import Iterable
from functools import lru_cache

import regex

from ctxbench.conversation.model import Message, Probe, message_texts
from ctxbench.text.normalise import normalise
from ctxbench.text.words import UNSPACED

_WORD = rf"[[\p{{L}}\p{{N}}\p{{M}}_]--[{UNSPACED}]]"
_WORD_AFTER = rf"[[\p{{L}}\p{{N}}\p{{M}}_]--[{UNSPACED}\p{{Hangul}}]]"
"""What continues a word of another script: Korean particles follow Latin words and numbers without a space."""
_UNSPACED = regex.compile(f"[{UNSPACED}]")
_HANGUL = regex.compile(r"\p{Hangul}")


def haystack(messages: Iterable[Message]) -> str:
    """The normalised text of messages; each string on a line, so that no match spans two."""
    return "\n".join(normalise(text) for message in messages for text in message_texts(message)[1:])


def retained(probe: Probe, normalised: str) -> bool | None:
    """Whether every answer that the probe needs stands in a `haystack`.

    None for probes that text cannot decide: `absent` ones, and those not verbatim.
    """
    if not probe.answers or not probe.verbatim:
        return None
    return all(found(aliases, normalised) for aliases in [probe.answers, *probe.also])


def found(answers: Iterable[str], normalised: str) -> bool:
    """Whether any alias stands in a `haystack`; an alias without a letter or digit never does."""
    return any(_found(alias, normalised) for alias in answers)


def _found(alias: str, normalised: str) -> bool:
    needle = normalise(alias)
    if needle not in normalised:  # a plain search is much faster and mostly decides
        return False
    pattern = _pattern(needle)
    return pattern is not None and pattern.search(normalised) is not None


@lru_cache(maxsize=16384)
def _pattern(needle: str) -> "regex.Pattern[str] | None":
    if not any(char.isalnum() for char in needle):
        return None
    return regex.compile(_before(needle[0]) + regex.escape(needle) + _after(needle[-1]), regex.V1)


def _before(first: str) -> str:
    if first.isdigit():
        return rf"(?<!{_WORD}|\p{{Nd}}[.,:/])"
    return rf"(?<!{_WORD})" if _needs_boundary(first) else ""


def _after(last: str) -> str:
    if last.isdigit():
        return rf"(?!{_WORD_AFTER}|[.,:/]\p{{Nd}})"
    if _needs_boundary(last) and not _HANGUL.match(last):  # Korean particles follow without a space
        return rf"(?!{_WORD_AFTER})"
    return r"(?!\p{M})"  # a vowel sign belongs to the letter before it


def _needs_boundary(char: str) -> bool:
    return (char.isalnum() or regex.match(r"[\p{M}_]", char) is not None) and not _UNSPACED.match(char)
