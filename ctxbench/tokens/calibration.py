"""Fits the weights of the `calibrated` estimator to a tokenizer and to data.

For each profile (a language, or a kind of text that is no language) non-negative least
squares on the relative error: every text counts alike, long or short. A little ridge
keeps weights of features that hardly occur near zero.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ctxbench.conversation.model import Conversation, message_texts
from ctxbench.errors import CtxbenchError
from ctxbench.text.kinds import kind_of
from ctxbench.tokens.estimators.calibrated import Weights
from ctxbench.tokens.estimators.features import features
from ctxbench.tokens.tokenizers import Tokenizer

LEAST_TEXTS = 40
"""Texts that a profile needs; those of smaller groups go into the profile `other`."""
LEAST_CHARACTERS = 12
RIDGE = 0.1
NOT_LANGUAGES = ("code", "json", "log", "base64", "emoji")


def labelled_texts(conversations: Iterable[Conversation]) -> dict[str, str]:
    """Each text of some length, once, and its profile: its kind, or the conversation's language."""
    labels: dict[str, str] = {}
    for conversation in conversations:
        for message in conversation.messages:
            for text in message_texts(message)[1:]:
                if len(text) >= LEAST_CHARACTERS:
                    kind = kind_of(text)
                    labels[text] = kind if kind in NOT_LANGUAGES else conversation.language
    return labels


def fit(labels: Mapping[str, str], tokenizers: Sequence[Tokenizer], *, fitted: str, data: str) -> Weights:
    """Weights from labelled texts. `fitted` and `data` say when and from what, for the record."""
    sizes = Counter(labels.values())
    texts = list(labels)
    names = [labels[text] if sizes[labels[text]] >= LEAST_TEXTS else "other" for text in texts]
    profiles = sorted(set(names))
    if len(texts) < LEAST_TEXTS:
        raise CtxbenchError(f"calibrate: {len(texts)} texts are too few; give a dataset with {LEAST_TEXTS} or more")
    grouped, letters = features(texts)
    rows = {profile: np.flatnonzero(np.array(names) == profile) for profile in profiles}
    counts = {one.name: np.array(one.count_batch(texts), dtype=float) for one in tokenizers}
    return Weights(
        fitted=fitted,
        data=data,
        profiles=profiles,
        texts=[len(rows[profile]) for profile in profiles],
        letters=[_log_probabilities(letters[rows[profile]]) for profile in profiles],
        weights={
            name: [_weights(grouped[rows[profile]], tokens[rows[profile]]) for profile in profiles]
            for name, tokens in counts.items()
        },
    )


def _log_probabilities(letters: np.ndarray) -> list[int]:
    smoothed = letters.sum(axis=0) + 0.5
    return [int(value) for value in np.rint(100 * np.log(smoothed / smoothed.sum()))]


def _weights(grouped: np.ndarray, tokens: np.ndarray) -> list[float]:
    """Weights w >= 0 that minimise the sum of ((w . features - tokens) / tokens)^2."""
    from scipy.optimize import nnls

    relative = grouped / np.maximum(tokens, 1)[:, None]
    ridge = RIDGE * np.eye(relative.shape[1]) * np.sqrt(len(relative) / 500)
    solution, _ = nnls(np.vstack([relative, ridge]), np.concatenate([np.ones(len(relative)), np.zeros(len(ridge))]))
    return [round(float(value), 4) for value in solution]
