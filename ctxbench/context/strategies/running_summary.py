"""running_summary: one summary, folded forward block by block, never stacked.

Each block of old messages is summarised together with the summary so far.
"""

from collections.abc import Sequence

from ctxbench.context.strategies.summarised import SHRUNK, SummaryStrategy, blocks
from ctxbench.context.summarizers.base import SUMMARY
from ctxbench.conversation.model import Message


class RunningSummary(SummaryStrategy):
    """Folds blocks that are some times as long as the summary may be."""

    def write(self, old: Sequence[Message], max_tokens: int) -> str:
        """The last fold."""
        so_far: list[Message] = []
        for block in blocks(old, SHRUNK * max_tokens, self.estimator):
            text = self.summarise([*so_far, *block], max_tokens)
            so_far = [Message(SUMMARY, text)]
        return text
