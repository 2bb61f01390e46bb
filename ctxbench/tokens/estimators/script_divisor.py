"""script_divisor: two characters a token in CJK scripts, four in all others."""

from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.estimators.cjk import count_cjk


class ScriptDivisor(AdditiveEstimator):
    """floor(cjk / 2 + other / 4), one division over all messages."""

    def size_of_text(self, text: str) -> int:
        """Quarter tokens: two for each CJK character, one for each other."""
        return count_cjk(text) + len(text)

    def tokens(self, size: int) -> int:
        """floor(quarters / 4)."""
        return size // 4
