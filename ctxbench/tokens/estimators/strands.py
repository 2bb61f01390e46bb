"""strands: text by characters / 4, tool calls and results (JSON) by characters / 2, both rounded up.

As the Strands agents SDK estimates.
"""

from ctxbench.conversation.model import Message, message_texts
from ctxbench.tokens.estimators.base import AdditiveEstimator


class Strands(AdditiveEstimator):
    """ceil(characters / 4) of each text, ceil(characters / 2) of each piece of JSON."""

    def size(self, message: Message) -> int:
        """Tokens of one message; role and content count as text, except a tool's content."""
        texts = message_texts(message)
        calls = 2 * len(message.tool_calls)
        plain, json = texts[: len(texts) - calls], texts[len(texts) - calls :]
        if message.role == "tool":
            plain, json = plain[:1], plain[1:]
        return sum(map(self.cached_size, plain)) + sum(-(-len(text) // 2) for text in json)

    def size_of_text(self, text: str) -> int:
        """ceil(characters / 4)."""
        return -(-len(text) // 4)

    def tokens(self, size: int) -> int:
        """The sum is in tokens already."""
        return size
