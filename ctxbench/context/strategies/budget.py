"""What strategies share that fill the budget: they choose what stays in a `Draft`.

The count is the estimator's; with an exact tokenizer behind it the budget is kept exactly.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ctxbench.context.draft import Draft
from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.conversation.model import Message


class BudgetStrategy(EstimatorStrategy, ABC):
    """Write `choose`: it adds to the draft what stays besides the system and the last user message."""

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """At most `max_tokens`; all messages when they fit. Raises `CannotFit` when what must stay does not."""
        if self.estimate_tokens(messages) <= max_tokens:
            return list(messages)
        draft = Draft(messages, max_tokens, self.estimator)
        self.choose(draft)
        return draft.context()

    @abstractmethod
    def choose(self, draft: Draft) -> None:
        """Add units to the draft as long as they fit."""
