"""cjk_x3: the original module's later, CJK-aware estimate."""

from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.estimators.cjk import count_cjk


class CjkX3(AdditiveEstimator):
    """Per string floor((3 * cjk + other) / 2) tokens; 4 more a message, 8 more a tool call."""

    per_message = 4
    per_call = 8

    def size_of_text(self, text: str) -> int:
        """Tokens of one string; the rounding is per string, as in the original."""
        return (2 * count_cjk(text) + len(text)) // 2  # 3 * cjk + other, where other = length - cjk

    def tokens(self, size: int) -> int:
        """The sum is in tokens already."""
        return size
