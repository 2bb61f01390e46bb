"""head_tail: the oldest and the newest messages that fit; the middle goes.

The beginning of a conversation often sets the task and its rules, the end is what is
being talked about.
"""

from ctxbench.context.draft import Draft
from ctxbench.context.strategies.budget import BudgetStrategy
from ctxbench.errors import CtxbenchError
from ctxbench.tokens.estimators.base import Estimator


class HeadTail(BudgetStrategy):
    """Gives `head_share` (0 to 1) of the room to the oldest messages, what is left to the newest."""

    def __init__(self, estimator: Estimator, head_share: float = 0.25) -> None:
        super().__init__(estimator)
        if not 0 <= head_share <= 1:
            raise CtxbenchError(f"strategy.head_share is {head_share}; give a share from 0 to 1")
        self.head_share = head_share

    def choose(self, draft: Draft) -> None:
        """Units from both ends."""
        for unit in draft.units:
            if not draft.add(unit, share=self.head_share):
                break
        draft.add_newest([[unit] for unit in draft.units])
