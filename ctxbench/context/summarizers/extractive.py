"""extractive: picks the most telling sentences of the old messages. No model, no download.

Sentences are vectors of TF-IDF weights over character n-grams, which need no word
boundaries and so work in every script. A sentence is worth the sum of its weights for
each token that it costs: rare names and numbers count, long sentences do not. One that
says what a better one said already is left out. Those that fit are given in their
original order, each message's behind its role. The same messages give the same summary.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ctxbench.context.failures import CompressionFailed
from ctxbench.conversation.model import Message, content_text
from ctxbench.text.sentences import split_sentences
from ctxbench.tokens.estimators.base import Estimator

FEATURES = 2**16
"""Columns that n-grams are hashed into."""
REDUNDANT = 0.6
"""Cosine similarity from which a sentence counts as said already."""


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
        line = Message("", f"[{role}] {sentence}\n")
        return self.estimator.estimate([line]) + 1  # an estimate is rounded down


def _sentences_of(message: Message) -> list[str]:
    """Sentences of the content, then each tool call as one."""
    calls = [f"{call.function.name}({call.function.arguments})" for call in message.tool_calls]
    return [*split_sentences(content_text(message)), *calls]


def _in_order(messages: Sequence[Message], chosen: list[tuple[int, str]]) -> str:
    lines: dict[int, list[str]] = {}
    for index, sentence in chosen:
        lines.setdefault(index, []).append(sentence)
    return "\n".join(f"[{messages[index].role}] {' '.join(parts)}" for index, parts in lines.items())


def _choose(sentences: list[str], costs: list[int], room: int) -> list[int]:
    """Positions of the sentences most worth their cost that fit into the room, repetitions left out."""
    import numpy as np
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfTransformer

    if not sentences:
        return []
    rows = [_grams(sentence) for sentence in sentences]
    ends = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    columns, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    counts = csr_matrix((values, columns, ends), shape=(len(rows), FEATURES))
    weights = TfidfTransformer(norm=None, sublinear_tf=True).fit_transform(counts)
    worth = np.asarray(weights.sum(axis=1)).ravel() / np.asarray(costs)
    lengths = np.sqrt(np.asarray(weights.multiply(weights).sum(axis=1)).ravel())
    unit = weights.multiply(1 / np.maximum(lengths, 1e-12)[:, None]).tocsr()
    chosen: list[int] = []
    dense = np.zeros(FEATURES)
    said = np.zeros(len(sentences), dtype=bool)
    least = min(costs)
    for position in np.argsort(-worth, kind="stable"):
        if room < least:
            break
        if not said[position] and costs[position] <= room:
            room -= costs[position]
            chosen.append(int(position))
            mine = slice(ends[position], ends[position + 1])
            dense[unit.indices[mine]] = unit.data[mine]  # one dense row at a time: sparse times sparse is slower
            said |= unit @ dense >= REDUNDANT
            dense[unit.indices[mine]] = 0.0
    return chosen


@lru_cache(maxsize=16384)
def _grams(sentence: str) -> tuple[Any, Any]:
    """The sentence's character n-grams, hashed, so that every text shares the columns: columns and counts."""
    row = _vectorizer().transform([sentence])
    return row.indices, row.data


@lru_cache
def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(
        analyzer="char_wb", ngram_range=(1, 3), n_features=FEATURES, norm=None, alternate_sign=False
    )
