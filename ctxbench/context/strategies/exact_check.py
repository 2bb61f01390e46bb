"""exact_check: lets another strategy compress, counts exactly, and goes on until the budget is kept.

Whatever the strategy counts with, and whether it looks at the budget at all: what comes out
fits, or `CannotFit` tells what is in the way.
"""

from collections.abc import Sequence

from ctxbench.context.draft import Draft
from ctxbench.context.strategies.base import CompressionStrategy, EstimatorStrategy
from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.scaled import Scaled
from ctxbench.tokens.tokenizers import Tokenizer

MARGIN = 0.98
"""The second try aims a little lower than the first one's excess demands: rounding, other words."""


class ExactCheck(EstimatorStrategy):
    """`strategy`, checked with `tokenizer`; the check also decides when a history is over the budget."""

    def __init__(self, strategy: CompressionStrategy, tokenizer: Tokenizer) -> None:
        super().__init__(Scaled(tokenizer))
        self.strategy = strategy

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """What the strategy makes of the messages, made smaller until it fits.

        The strategy is asked once more, for less, as its own summary may be better than a
        cut one. Then the oldest messages go, and what the strategy added goes last.
        """
        context = self.strategy.compress(messages, max_tokens, session_id=session_id)
        tokens = self.estimate_tokens(context)
        if tokens <= max_tokens:
            return context
        less = int(MARGIN * max_tokens * max_tokens / tokens)
        context = self.strategy.compress(messages, less, session_id=session_id)
        if self.estimate_tokens(context) <= max_tokens:
            return context
        return self._cut(messages, context, max_tokens)

    def _cut(self, messages: Sequence[Message], context: Sequence[Message], max_tokens: int) -> list[Message]:
        old = {id(message) for message in messages}
        added = [index for index, message in enumerate(context) if id(message) not in old and message not in messages]
        draft = Draft(context, max_tokens, self.estimator, added)
        for unit in draft.units:
            if unit[0] in added:
                draft.add(unit)
        draft.add_newest([[unit] for unit in draft.units])
        return draft.context()
