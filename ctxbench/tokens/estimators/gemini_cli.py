"""gemini_cli: a quarter token an ASCII character, 1.5 any other; long texts by length alone.

As gemini-cli estimates (August 2026): it counts UTF-16 units, so that a character
outside the basic plane is two.
"""

from ctxbench.tokens.estimators.base import AdditiveEstimator

LONG = 100_000
"""UTF-16 units above which a text is units / 4, whatever it holds."""


def utf16_units(text: str) -> int:
    """The length of a text as JavaScript has it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class GeminiCli(AdditiveEstimator):
    """floor of 0.25 * ASCII units + 1.5 * other units."""

    def size_of_text(self, text: str) -> int:
        """Quarter tokens: one for each ASCII unit, six for each other."""
        units = utf16_units(text)
        if units > LONG:
            return units
        ascii_units = len(text) if text.isascii() else sum(char < "\x80" for char in text)
        return ascii_units + 6 * (units - ascii_units)

    def tokens(self, size: int) -> int:
        """floor(quarters / 4)."""
        return size // 4
