"""What an estimator is: a cheap count of the tokens of messages.

Every estimator in use adds up a size of each message and turns the sum into tokens
once, at the end. Keeping the two steps apart lets a caller keep a running sum, so
that a growing conversation costs the new message only. Exact counts are `tokenizers`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Protocol

from ctxbench.conversation.model import Message, message_texts
from ctxbench.tokens.remembered import Remembered


class Estimator(Protocol):
    """Anything that estimates the tokens of messages."""

    def estimate(self, messages: Sequence[Message]) -> int:
        """Estimated tokens of the messages together; never negative."""
        ...


class AdditiveEstimator(ABC):
    """An estimator that adds up sizes; write `size_of_text`, and `tokens` for the rounding.

    A size is in the estimator's own unit (characters, bytes, half tokens); it is an
    integer, so that a running sum never drifts.
    """

    per_message = 0
    """Size added for each message."""
    per_call = 0
    """Size added for each tool call."""

    def __init__(self) -> None:
        self._remembered = Remembered(self.size_of_text)
        self.cached_size = self._remembered.__getitem__
        """`size_of_text`, counted once for each text."""

    @abstractmethod
    def size_of_text(self, text: str) -> int:
        """The size of one string."""

    @abstractmethod
    def tokens(self, size: int) -> int:
        """The tokens that a sum of sizes stands for."""

    def prepare(self, texts: Sequence[str]) -> None:  # noqa: B027 - most have nothing to do
        """Get ready for texts that will be asked for; for estimators that work in batches."""

    def size(self, message: Message) -> int:
        """The size of one message: its texts (role, content, calls) and the fixed parts."""
        texts = sum(map(self.cached_size, message_texts(message)))
        return texts + self.per_message + self.per_call * len(message.tool_calls)

    def sizes(self, messages: Iterable[Message]) -> int:
        """The summed size of messages."""
        return sum(map(self.size, messages))

    def estimate(self, messages: Sequence[Message]) -> int:
        """Estimated tokens of the messages together."""
        return self.tokens(self.sizes(messages))

    def estimate_text(self, text: str) -> int:
        """Estimated tokens of one string, without any message around it."""
        return self.tokens(self.cached_size(text))
