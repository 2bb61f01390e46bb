"""Trigger error: compression that starts too late or too early because the estimate is off.

An application compresses when the estimate passes the window. Too late: before that, a
request was already larger than the window, and would be refused. Too early: at that
point the request still fitted, and context is thrown away. Each conversation that
reaches the window, by the estimate or in truth, counts once. Truth is the whole prompt,
with the provider's framing: that is what is refused.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from ctxbench.runs.folder import Row
from ctxbench.stats.intervals import Mean, proportion


class TriggerSummary(msgspec.Struct):
    """One estimator, tokenizer and window; tokens are means over the conversations concerned."""

    window: str
    tokenizer: str
    estimator: str
    conversations: int
    late: Mean | None
    late_tokens: float
    early: Mean | None
    early_tokens: float


class Outcome(msgspec.Struct):
    """One conversation: by how many tokens it was too late, or too early; 0 is neither."""

    conversation: str
    late: int
    early: int


def trigger(contexts: Sequence[Row], tokenizer: str, estimator: str, window: int) -> Outcome | None:
    """What happens in one conversation, whose contexts are in order; None when it stays below."""
    late = 0
    for row in contexts:
        tokens, estimate = row["prompt"][tokenizer], row["estimates"][estimator]
        if estimate > window:
            return Outcome(row["conversation"], late, max(0, window - tokens))
        late = max(late, tokens - window)
    return Outcome(contexts[0]["conversation"], late, 0) if late > 0 else None


def summarise(rows: Sequence[Row], windows: Iterable[float], seed: int = 0) -> list[TriggerSummary]:
    """A summary for each window, tokenizer and estimator.

    A window is tokens, or a fraction (up to 1) of each conversation's last context.
    """
    by_conversation: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_conversation[row["conversation"]].append(row)
    if not rows:
        return []
    return [
        _summary(list(by_conversation.values()), window, tokenizer, estimator, seed)
        for window in windows
        for tokenizer in rows[0]["tokens"]
        for estimator in rows[0]["estimates"]
    ]


def _summary(
    conversations: list[list[Row]], window: float, tokenizer: str, estimator: str, seed: int
) -> TriggerSummary:
    outcomes = []
    for contexts in conversations:
        limit = int(window * contexts[-1]["prompt"][tokenizer]) if window <= 1 else int(window)
        if (outcome := trigger(contexts, tokenizer, estimator, limit)) is not None:
            outcomes.append(outcome)
    names = [outcome.conversation for outcome in outcomes]
    late, early = [one.late for one in outcomes if one.late], [one.early for one in outcomes if one.early]
    return TriggerSummary(
        window=f"{window:g}" if window <= 1 else f"{int(window):,}",
        tokenizer=tokenizer,
        estimator=estimator,
        conversations=len(outcomes),
        late=proportion([outcome.late > 0 for outcome in outcomes], names, seed),
        late_tokens=sum(late) / len(late) if late else 0.0,
        early=proportion([outcome.early > 0 for outcome in outcomes], names, seed),
        early_tokens=sum(early) / len(early) if early else 0.0,
    )
