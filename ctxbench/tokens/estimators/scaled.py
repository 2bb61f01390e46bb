"""scaled: an exact tokenizer's count times a factor, as a safety margin or for another model.

Roo Code takes ceil(1.5 * o200k); inspect_ai floor(1.1 * o200k), at least 1.
"""

from typing import Literal

from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.tokenizers import Tokenizer

THOUSAND = 1000


class Scaled(AdditiveEstimator):
    """`factor` times the tokens of `tokenizer`, rounded once; `least` where there is any message."""

    def __init__(
        self, tokenizer: Tokenizer, factor: float = 1.0, rounding: Literal["up", "down"] = "up", least: int = 0
    ) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self._thousandths = round(factor * THOUSAND)
        self._up = rounding == "up"
        self._least = least

    def size_of_text(self, text: str) -> int:
        """Thousandths of tokens."""
        return self.tokenizer.count(text) * self._thousandths

    def tokens(self, size: int) -> int:
        """The sum, rounded."""
        return max(self._least, -(-size // THOUSAND) if self._up else size // THOUSAND)
