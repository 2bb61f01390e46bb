"""Exact token counts. Text is always ordinary text.

`<|endoftext|>` in a message is counted as the characters it is, nothing is added
before or after, and no string makes a tokenizer raise. Counts are cached by text.
Where vocabularies come from is `vocab`'s matter; this module knows none of them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ctxbench.conversation.model import Message, message_texts
from ctxbench.tokens.remembered import Remembered

CountBatch = Callable[[list[str]], list[int]]


class Tokenizer(Protocol):
    """Anything that counts tokens exactly."""

    @property
    def name(self) -> str:
        """The name under which its counts are reported."""
        ...

    def count(self, text: str) -> int:
        """Tokens of one string."""
        ...

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each string."""
        ...


class CachedTokenizer:
    """A tokenizer around a function that counts a batch; no text is counted twice."""

    def __init__(self, name: str, count_batch: CountBatch) -> None:
        self.name = name
        self._count_batch = count_batch
        self._counts = Remembered(lambda text: self.count_uncached([text])[0])

    def count(self, text: str) -> int:
        """Tokens of one string."""
        return self._counts[text]

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each string; those not seen before are counted in one batch."""
        if missing := self._counts.unknown(texts):
            self._counts.remember(missing, self.count_uncached(missing))
        return [self._counts[text] for text in texts]

    def count_uncached(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each string, counted afresh; for timing."""
        return self._count_batch([_encodable(text) for text in texts])


def count_messages(tokenizer: Tokenizer, messages: Iterable[Message]) -> int:
    """Tokens of the messages' texts (role, content, calls), without a provider's framing.

    These are the strings that an `Estimator` sees, so that the two can be compared.
    """
    return sum(tokenizer.count_batch([text for message in messages for text in message_texts(message)]))


def _encodable(text: str) -> str:
    """The text, with lone surrogates (which no UTF-8 tokenizer accepts) as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
