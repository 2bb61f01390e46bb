"""How good an answer in words is, against a probe, without a model.

Three measures from strict to mild: the answer is an alias (`exact`), shares its words
(`f1`), or holds it (`contains`, the rule of `retained`, which decides whether it is
right). A right answer in a script without spaces, or in a whole sentence, is not
punished for that. Who answers is told in `readers`; what text cannot decide in `judges`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec
import regex

from ctxbench.conversation.model import Probe
from ctxbench.scoring.retained import found
from ctxbench.text.normalise import normalise
from ctxbench.text.words import UNSPACED

UNKNOWN = "UNKNOWN"
"""The word that a reader is told to say when the conversation does not tell."""
MOST_WORDS = 12
"""Words of an answer that only says UNKNOWN; a longer one tells something as well."""

# The long vowel mark of kana is of no script of its own; digits are of any length, marks belong to their letter.
_SINGLE = rf"[{UNSPACED}\u30fc]"
_WORD = regex.compile(
    rf"{_SINGLE}\p{{M}}*|\p{{Nd}}+(?:[.,:/]\p{{Nd}}+)+|[[\p{{L}}\p{{M}}\p{{N}}]--{_SINGLE}]+", regex.V1
)
_IS_SINGLE = regex.compile(_SINGLE)
# Not what belongs to a number: `-5` and `5%` are not `5`.
_EDGE = r"(?:[[\p{P}\s]--[%‰\-]]|-(?!\p{Nd}))+"
_SURROUNDING = regex.compile(rf"^{_EDGE}|{_EDGE}$", regex.V1)
# No `\b`: particles of other scripts follow without a space (`UNKNOWN입니다`).
_SAYS_UNKNOWN = regex.compile(rf"(?<![\p{{Latin}}\p{{N}}_]){UNKNOWN.casefold()}(?![\p{{Latin}}\p{{M}}\p{{N}}_])")


class AnswerScore(msgspec.Struct, frozen=True):
    """What an answer is worth; `right` is the verdict, the others say how it is put.

    An `absent` probe has no alias: its `exact`, `f1` and `contains` are never reached,
    so leave it out of their means.
    """

    exact: bool
    f1: float
    contains: bool
    right: bool


WRONG = AnswerScore(exact=False, f1=0.0, contains=False, right=False)


def score_answer(probe: Probe, answer: str | None) -> AnswerScore:
    """Score an answer; None and blank ones are wrong everywhere.

    A probe with `also` needs all of its answers: they count as one text, of the best alias each.
    """
    said = normalise(answer or "")
    if not said:
        return WRONG
    if not probe.answers:
        return msgspec.structs.replace(WRONG, right=_only_unknown(said))
    words = _words(said)
    needed = [probe.answers, *probe.also]
    best = [word for aliases in needed for word in _best(aliases, words)]
    exact = words == best if probe.also else _bare(said) in {_bare(normalise(alias)) for alias in probe.answers}
    contains = all(found(aliases, said) for aliases in needed)
    return AnswerScore(exact, _f1(words, best), contains, right=contains)


def _only_unknown(said: str) -> bool:
    """Whether the answer says UNKNOWN and hardly more; two characters without spaces count as a word."""
    words = _words(said)
    length = sum(0.5 if _IS_SINGLE.match(word) else 1.0 for word in words)
    return _SAYS_UNKNOWN.search(said) is not None and length <= MOST_WORDS


def _bare(normalised: str) -> str:
    bare: str = _SURROUNDING.sub("", normalised)
    return bare


def _words(normalised: str) -> list[str]:
    """Words without punctuation, numbers whole; single characters where a script writes no spaces."""
    words: list[str] = _WORD.findall(normalised)
    return words


def _best(aliases: Iterable[str], words: Sequence[str]) -> list[str]:
    """The words of the alias that is nearest to an answer's `words`; of several, the first."""
    return max((_words(normalise(alias)) for alias in aliases), key=lambda gold: _f1(words, gold), default=[])


def _f1(words: Sequence[str], gold: Sequence[str]) -> float:
    """Harmonic mean of the shares of `words` and of `gold` that the two have in common."""
    common = (Counter(words) & Counter(gold)).total()
    return 2 * common / (len(words) + len(gold)) if common else 0.0
