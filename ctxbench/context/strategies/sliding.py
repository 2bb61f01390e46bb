"""sliding: the system messages and the N most recent others.

As in the original module the count decides, not the budget: N long messages can be
over it, which the run records.
"""

from collections.abc import Sequence

from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.context.window import check_count, split_recent, split_system
from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.base import Estimator


class SlidingWindow(EstimatorStrategy):
    """Keeps `recent_messages` messages, and more where a tool call would lose its result.

    The last user message stays, however many tool calls have followed it. `pair_tools=False`
    is the original's behaviour, which counts only, and cuts between a call and its result.
    """

    def __init__(self, estimator: Estimator, recent_messages: int, *, pair_tools: bool = True) -> None:
        super().__init__(estimator)
        self.recent_messages = check_count("strategy.recent_messages", recent_messages)
        self.pair_tools = pair_tools

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """System messages first, then the recent ones; the input itself when it is that short."""
        if len(messages) <= self.recent_messages:
            return list(messages)
        system, others = split_system(messages)
        return system + split_recent(others, self.recent_messages, pair_tools=self.pair_tools)[1]
