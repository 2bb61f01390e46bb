"""smart: like sliding, but the old messages are replaced by a summary.

The summary stands after the system messages, before the recent ones. Who writes it
is a summarizer's matter, what happens when it fails the context manager's.
"""

from collections.abc import Sequence

from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.context.summaries import HEADING, write_summary
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.context.window import check_count, split_recent, split_system
from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.base import Estimator

LEAST_SHARE = 8
"""A summary may have 1/8 of `summary_tokens` even when the recent messages fill the budget."""


class SmartSummary(EstimatorStrategy):
    """Summarises what is older than the `recent_messages` most recent messages.

    With fewer than `summarize_threshold` old messages nothing is dropped. A summary has
    at most `summary_tokens` tokens, and fewer where the budget leaves less. With
    `pair_tools=False` the messages are split as the original splits them.
    """

    def __init__(
        self,
        estimator: Estimator,
        summarizer: Summarizer,
        recent_messages: int,
        summarize_threshold: int,
        *,
        summary_tokens: int = 500,
        summary_role: str = "system",
        summary_heading: str = HEADING,
        pair_tools: bool = True,
    ) -> None:
        super().__init__(estimator)
        self.summarizer = summarizer
        self.recent_messages = check_count("strategy.recent_messages", recent_messages)
        self.summarize_threshold = check_count("strategy.summarize_threshold", summarize_threshold)
        self.summary_tokens = check_count("strategy.summary_tokens", summary_tokens)
        self.summary_role = summary_role
        self.summary_heading = summary_heading
        self.pair_tools = pair_tools

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """System messages, the summary, the recent messages; raises `CompressionFailed`."""
        if len(messages) <= self.recent_messages:
            return list(messages)
        system, others = split_system(messages)
        old, recent = split_recent(others, self.recent_messages, pair_tools=self.pair_tools)
        if len(old) < max(1, self.summarize_threshold):
            return system + others
        text = write_summary(self.summarizer, old, self._room(system + recent, max_tokens), self.estimator)
        return [*system, Message(self.summary_role, self.summary_heading + text), *recent]

    def _room(self, kept: list[Message], max_tokens: int) -> int:
        heading = Message(self.summary_role, self.summary_heading)
        left = max_tokens - self.estimate_tokens([*kept, heading])
        return min(self.summary_tokens, max(left, self.summary_tokens // LEAST_SHARE))
