"""chars4: four characters are a token. The rule of thumb that most applications use."""

from ctxbench.tokens.estimators.base import AdditiveEstimator


class Chars4(AdditiveEstimator):
    """floor(code points / divisor); the divisor of the common rule is 4."""

    def __init__(self, divisor: int = 4) -> None:
        super().__init__()
        self.divisor = divisor

    def size_of_text(self, text: str) -> int:
        """Code points of the text."""
        return len(text)

    def tokens(self, size: int) -> int:
        """floor(code points / divisor)."""
        return size // self.divisor
