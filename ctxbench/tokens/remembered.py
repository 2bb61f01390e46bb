"""Sizes of texts that were counted already, within a bound on memory."""

from collections.abc import Callable, Iterable, Sequence

CHARACTERS = 50_000_000
"""Characters of text whose sizes are remembered at once (200 MB at most)."""


class Remembered(dict[str, int]):
    """Sizes by text; one that is not there is counted when it is asked for.

    All are forgotten when they have more than `CHARACTERS` together: libraries join whole
    histories to count them, so that a bound on the number of texts would be none.
    """

    def __init__(self, size_of: Callable[[str], int]) -> None:
        super().__init__()
        self._size_of = size_of
        self._characters = 0

    def __missing__(self, text: str) -> int:
        """The size of a text that was not counted yet."""
        size = self._size_of(text)
        self.remember([text], [size])
        return size

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Those of the texts, each once, that were not counted yet."""
        return list({text: None for text in texts if text not in self})

    def remember(self, texts: Sequence[str], sizes: Iterable[int]) -> None:
        """Keep the sizes of texts that were counted."""
        if self._characters > CHARACTERS:
            self.clear()
            self._characters = 0
        self.update(zip(texts, sizes, strict=True))
        self._characters += sum(map(len, texts))
