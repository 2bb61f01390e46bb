"""framed: any estimator plus a fixed number of tokens a message and a request.

The OpenAI cookbook counts 3 tokens around each message and 3 at the end for the reply;
Continue and others use 4. It estimates what is billed rather than the texts alone.
"""

from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.base import AdditiveEstimator


class Framed(AdditiveEstimator):
    """The tokens of `inner`, plus `per_message` for each message and `per_request` once."""

    def __init__(self, inner: AdditiveEstimator, per_message: int = 3, per_request: int = 3) -> None:
        super().__init__()
        self.inner = inner
        self._per_message, self._per_request = per_message, per_request
        self._messages = 1 << 40
        """Messages are counted above this bit, so that one integer carries both sums."""

    def size(self, message: Message) -> int:
        """The inner size, and one message."""
        return self.inner.size(message) + self._messages

    def size_of_text(self, text: str) -> int:
        """The inner size of a text, which has no frame."""
        return self.inner.size_of_text(text)

    def tokens(self, size: int) -> int:
        """The inner tokens and the frames; nothing at all is no request."""
        messages, inner = divmod(size, self._messages)
        framed = messages * self._per_message + (self._per_request if messages else 0)
        return self.inner.tokens(inner) + framed
