"""calibrated: weights for classes of characters, fitted to a tokenizer, language by language.

A text's profile (its language, or its kind for code, JSON and the like) is guessed from
its letters by naive Bayes; the profile's non-negative weights times the text's features
are its tokens. Everything is done for many texts at once: one text by itself costs more
than counting it exactly. How weights are fitted is `ctxbench.tokens.calibration`'s matter.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np

from ctxbench.errors import CtxbenchError
from ctxbench.files import decode_json
from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.estimators.features import features

SHIPPED = Path(__file__).with_name("calibrated.json")
BATCH = 512
"""Texts whose features are in memory at once; more do not stay in the processor's cache."""
THOUSAND = 1000


class Weights(msgspec.Struct, frozen=True):
    """Fitted weights and where they are from.

    `profiles`: names, in the order of the rows below. `letters`: hundredths of the log
    probability of each letter class in each profile. `weights`: by tokenizer, tokens for
    each feature in each profile.
    """

    fitted: str
    data: str
    profiles: list[str]
    texts: list[int]
    letters: list[list[int]]
    weights: dict[str, list[list[float]]]


@lru_cache
def load_weights(path: Path = SHIPPED) -> Weights:
    """Read a file of weights; raises `CtxbenchError` when it is none."""
    if not path.is_file():
        raise CtxbenchError(f"{path}: no such file of weights; python -m ctxbench calibrate makes one")
    try:
        return msgspec.convert(decode_json(path.read_bytes(), str(path)), Weights)
    except msgspec.ValidationError as error:
        raise CtxbenchError(f"{path}: not a file of weights: {error}") from None


class Calibrated(AdditiveEstimator):
    """Tokens of `tokenizer`, estimated with fitted weights.

    Args:
        tokenizer: the name of the tokenizer that the weights were fitted to.
        weights: a file that `ctxbench calibrate` wrote; None is the one that comes along.
    """

    def __init__(self, tokenizer: str = "o200k_base", weights: str | None = None) -> None:
        super().__init__()
        loaded = load_weights(Path(weights) if weights else SHIPPED)
        if tokenizer not in loaded.weights:
            known = ", ".join(sorted(loaded.weights))
            raise CtxbenchError(
                f"estimator calibrated: no weights for {tokenizer!r}; known: {known}; fit some with calibrate"
            )
        self.profiles = loaded.profiles
        self._letters = np.array(loaded.letters, dtype=float) / 100
        self._weights = np.array(loaded.weights[tokenizer], dtype=np.float32)

    def prepare(self, texts: Sequence[str]) -> None:
        """Estimate texts in batches, so that asking for each is a look-up."""
        missing = self._remembered.unknown(texts)
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            self._remembered.remember(batch, self.sizes_of_texts(batch))

    def sizes_of_texts(self, texts: Sequence[str]) -> list[int]:
        """Thousandths of tokens of each text."""
        grouped, letters = features(texts)
        profile = self._profile(letters)
        tokens = np.einsum("tf,tf->t", grouped, self._weights[profile])
        return [int(size) for size in np.rint(tokens * THOUSAND)]

    def profiles_of(self, texts: Sequence[str]) -> list[str]:
        """The profile that each text is taken for."""
        return [self.profiles[index] for index in self._profile(features(texts)[1])]

    def _profile(self, letters: np.ndarray) -> np.ndarray:
        """The profile that fits each text's letters best; rounded, so that a tie does not hang on the batch's size."""
        scores = np.rint(1e6 * (letters.astype(float) @ self._letters.T))
        best: np.ndarray = np.argmax(scores, axis=1)
        return best

    def size_of_text(self, text: str) -> int:
        """Thousandths of tokens of one text."""
        return self.sizes_of_texts([text])[0]

    def tokens(self, size: int) -> int:
        """The sum, rounded to the nearest token."""
        return (size + THOUSAND // 2) // THOUSAND
