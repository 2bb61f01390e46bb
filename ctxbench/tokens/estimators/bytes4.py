"""bytes4: four UTF-8 bytes are a token. The original module's estimate (`len` of a Go string)."""

from ctxbench.tokens.estimators.base import AdditiveEstimator


class Bytes4(AdditiveEstimator):
    """floor(UTF-8 bytes / 4), one division over all messages."""

    def size_of_text(self, text: str) -> int:
        """UTF-8 bytes of the text; a lone surrogate, which UTF-8 has no form for, is three."""
        return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))

    def tokens(self, size: int) -> int:
        """floor(bytes / 4)."""
        return size // 4
