"""hierarchical: old messages are summarised in blocks, and the oldest summaries again.

Each part of the summary has the same room, so that the older a message is, the more
others share its part.
"""

from collections.abc import Sequence
from typing import Unpack

from ctxbench.context.strategies.summarised import LEAST_TOKENS, SHRUNK, SummarySettings, SummaryStrategy, blocks
from ctxbench.context.summarizers.base import SUMMARY, Summarizer
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.tokens.estimators.base import Estimator


class Hierarchical(SummaryStrategy):
    """Keeps at most `parts` summaries: of blocks, and of what was such a summary."""

    def __init__(
        self, estimator: Estimator, summarizer: Summarizer, parts: int = 4, **shared: Unpack[SummarySettings]
    ) -> None:
        super().__init__(estimator, summarizer, **shared)
        if parts < 2:
            raise CtxbenchError(f"strategy.parts is {parts}; give 2 or more")
        self.parts = parts

    def write(self, old: Sequence[Message], max_tokens: int) -> str:
        """The summaries of the blocks, the oldest joined until there are few enough."""
        parts = max(1, min(self.parts, max_tokens // LEAST_TOKENS))
        limit = max_tokens // parts - 1
        texts: list[str] = []
        for block in blocks(old, SHRUNK * limit, self.estimator):
            texts.append(self.summarise(block, limit))
            if len(texts) > parts:
                oldest = [Message(SUMMARY, text) for text in texts[:2]]
                texts[:2] = [self.summarise(oldest, limit)]
        return "\n".join(texts)
