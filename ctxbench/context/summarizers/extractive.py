"""extractive: picks the most telling sentences of the old messages. No model, no download.

Sentences are vectors of TF-IDF weights over character n-grams, which need no word
boundaries and so work in every script. A sentence is worth the sum of its weights for
each token that it costs: rare names and numbers count, long sentences do not. One that
says what a better one said already is left out. Those that fit are given in their
original order, each message's behind its role. The same messages give the same summary.
"""

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.information import GRAIN
from ctxbench.context.summarizers.base import label
from ctxbench.conversation.model import Message, content_text
from ctxbench.text.sentences import split_sentences
from ctxbench.tokens.estimators.base import Estimator

REMEMBERED = 32_768
"""Sentences whose n-grams are kept."""
FEATURES = 2**16
"""Columns that n-grams are hashed into."""
REDUNDANT = 0.6
"""Cosine similarity from which a sentence counts as said already."""
TELLTALE = 12
"""Sentences are compared when they share one of their heaviest n-grams: others are not that similar."""
LOOKED_AT = 16
"""Chosen sentences with the same telltale n-gram that a new one is compared with, the last ones."""


class ExtractiveSummarizer:
    """Chooses sentences up to the token limit, counted by the estimator."""

    def __init__(self, estimator: Estimator) -> None:
        self.estimator = estimator

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str:
        """The chosen sentences, a message's on one line behind `[role]`."""
        sentences = [(index, sentence) for index, message in enumerate(messages) for sentence in _sentences_of(message)]
        costs = [self._cost(messages[index].role, sentence) for index, sentence in sentences]
        chosen = _choose([sentence for _, sentence in sentences], costs, max_tokens)
        if not chosen:
            raise CompressionFailed("empty", f"no sentence fits into {max_tokens} tokens", final=True)
        return _in_order(messages, [sentences[position] for position in sorted(chosen)])

    def _cost(self, role: str, sentence: str) -> int:
        line = Message("", f"{label(role)}{sentence}\n")
        return self.estimator.estimate([line]) + 1  # an estimate is rounded down


def _sentences_of(message: Message) -> list[str]:
    """Sentences of the content, then each tool call as one."""
    calls = [f"{call.function.name}({call.function.arguments})" for call in message.tool_calls]
    return [*split_sentences(content_text(message)), *calls]


def _in_order(messages: Sequence[Message], chosen: list[tuple[int, str]]) -> str:
    lines: dict[int, list[str]] = {}
    for index, sentence in chosen:
        lines.setdefault(index, []).append(sentence)
    return "\n".join(label(messages[index].role) + " ".join(parts) for index, parts in lines.items())


def _choose(sentences: list[str], costs: list[int], room: int) -> list[int]:
    """Positions of the sentences most worth their cost that fit into the room, repetitions left out."""
    import numpy as np

    if not sentences:
        return []
    weighted = _weighted(sentences)
    worth = np.array([values.sum() for _, values in weighted]) / np.asarray(costs)
    chosen: list[int] = []
    holders: dict[int, deque[int]] = {}  # telltale n-gram -> chosen sentences
    dense = np.zeros(FEATURES)
    least = min(costs)
    for position in map(int, np.argsort(-worth, kind="stable")):
        if room < least:
            break
        if costs[position] > room:
            continue
        columns, values = weighted[position]
        telltale = columns[np.argsort(-values, kind="stable")[:TELLTALE]].tolist()
        near = [weighted[other] for other in {other for column in telltale for other in holders.get(column, ())}]
        dense[columns] = values
        said = any(_cosine(dense[places], theirs, values) >= REDUNDANT for places, theirs in near)
        dense[columns] = 0.0
        if not said:
            room -= costs[position]
            chosen.append(position)
            for column in telltale:
                holders.setdefault(column, deque(maxlen=LOOKED_AT)).append(position)
    return chosen


def _cosine(shared: Any, theirs: Any, mine: Any) -> float:
    """The similarity of two sentences; `shared` are my weights at their n-grams."""
    return float(shared @ theirs / max(1e-12, (theirs @ theirs * (mine @ mine)) ** 0.5))


def _weighted(sentences: Sequence[str]) -> list[tuple[Any, Any]]:
    """TF-IDF of each sentence: its n-grams, as columns, and (1 + ln count) * (1 + ln((1 + sentences) / (1 + holders))).

    As scikit-learn's `TfidfTransformer` gives it, whose checks would take longer than the rest,
    but rounded to 1/GRAIN, so that no processor's way to add or to take logarithms decides a tie.
    """
    import numpy as np

    rows = _grams(sentences)
    columns, counts = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    rarity = 1 + np.log((1 + len(rows)) / (1 + np.bincount(columns, minlength=FEATURES)))
    values = np.rint((1 + np.log(counts)) * rarity[columns] * GRAIN) / GRAIN
    ends = np.cumsum([len(own) for own, _ in rows]).tolist()
    return [(columns[start:end], values[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


_remembered: dict[str, tuple[Any, Any]] = {}


def _grams(sentences: Sequence[str]) -> list[tuple[Any, Any]]:
    """Each sentence's character n-grams, hashed, so that every text shares the columns: columns and counts."""
    import numpy as np

    found = {sentence: _remembered.get(sentence) for sentence in sentences}
    missing = [sentence for sentence, row in found.items() if row is None]
    if missing:  # all at once: one by one costs several times as much
        matrix = _vectorizer().transform(missing)
        parts = (np.split(array, matrix.indptr[1:-1]) for array in (matrix.indices, matrix.data))
        new = dict(zip(missing, zip(*parts, strict=True), strict=True))
        if len(_remembered) + len(new) > REMEMBERED:
            _remembered.clear()
        _remembered.update(new)
        found |= new
    return [row for row in map(found.get, sentences) if row is not None]


@lru_cache
def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(
        analyzer="char_wb", ngram_range=(1, 3), n_features=FEATURES, norm=None, alternate_sign=False
    )
