"""token_window: the newest turns that fit into the budget, and the first user message.

A turn is what the user says and all that answers it; the first user message often holds
the task. Only the turn that is under way may be cut: at its own messages, never within a
tool call and its results.
"""

from ctxbench.context.draft import Draft
from ctxbench.context.strategies.budget import BudgetStrategy
from ctxbench.context.units import Unit, split_turns


class TokenWindow(BudgetStrategy):
    """Keeps whole turns, newest first, until one does not fit."""

    def choose(self, draft: Draft) -> None:
        """The first user message, then turns."""
        first = next((unit for unit in draft.units if draft.messages[unit[0]].role == "user"), None)
        if first is not None:
            draft.add(first)
        add_turns(draft, draft.units)


def add_turns(draft: Draft, units: list[Unit], share: float = 1.0) -> int:
    """Choose the newest of these units, turn by turn; returns the place of the first one chosen."""
    turns = split_turns(draft.messages, units)
    if not turns:
        return 0
    *earlier, latest = turns
    start = draft.add_newest([[unit] for unit in latest], share)
    if start > 0:
        return len(units) - len(latest) + start
    begun = draft.add_newest(earlier, share)
    return sum(len(turn) for turn in earlier[:begun])
