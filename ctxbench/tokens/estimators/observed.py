"""observed: any estimator, corrected by what the provider says a request really had.

Every answer of an API tells the prompt's tokens. The ratio to the estimate of the same
messages scales the next estimate: a session's language and framing change slowly.
"""

from collections.abc import Sequence

from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.base import AdditiveEstimator

THOUSAND = 1000


class Observed(AdditiveEstimator):
    """The tokens of `inner` times a scale that `observe` sets, within `lowest` and `highest`.

    It belongs to one session (or to sessions that are alike): `fresh` gives another its own.
    """

    def __init__(self, inner: AdditiveEstimator, lowest: float = 0.25, highest: float = 4.0) -> None:
        super().__init__()
        self.inner = inner
        self._bounds = round(lowest * THOUSAND), round(highest * THOUSAND)
        self._scale = THOUSAND

    def observe(self, messages: Sequence[Message], prompt_tokens: int) -> None:
        """Learn that a request with these messages had so many tokens."""
        self.observe_size(self.sizes(messages), prompt_tokens)

    def observe_size(self, size: int, prompt_tokens: int) -> None:
        """The same, for messages whose summed size is known."""
        estimate = self.inner.tokens(size)
        if estimate > 0 and prompt_tokens > 0:
            lowest, highest = self._bounds
            self._scale = min(highest, max(lowest, round(THOUSAND * prompt_tokens / estimate)))

    def fresh(self) -> "Observed":
        """The same estimator, before it has observed anything."""
        lowest, highest = self._bounds
        return Observed(self.inner, lowest / THOUSAND, highest / THOUSAND)

    def prepare(self, texts: Sequence[str]) -> None:
        """Let the inner estimator prepare."""
        self.inner.prepare(texts)

    def size(self, message: Message) -> int:
        """The inner size."""
        return self.inner.size(message)

    def size_of_text(self, text: str) -> int:
        """The inner size of a text."""
        return self.inner.size_of_text(text)

    def tokens(self, size: int) -> int:
        """The inner tokens, scaled, rounded to the nearest."""
        return (self.inner.tokens(size) * self._scale + THOUSAND // 2) // THOUSAND
