"""Summarises retention rows: the figures of the table, the summary file and the plots."""

from typing import TYPE_CHECKING, Any

import msgspec

from ctxbench.stats.intervals import Mean, proportion

if TYPE_CHECKING:
    import pandas as pd


class RetentionSummary(msgspec.Struct):
    """One group of probes. Tokens are means over the probes; the rest are sums over contexts."""

    budget: str
    group: str
    conversations: int
    probes: int
    tokens_full: float
    tokens_context: float
    retained: Mean | None
    retained_empty: Mean | None
    retained_full: Mean | None
    recall: float | None
    contexts: int
    compressed: int
    over_budget: int
    failed: int
    invalid: int
    model_calls: int
    seconds: float


def summarise(
    samples: "pd.DataFrame", contexts: "pd.DataFrame", by: str | None, seed: int = 0
) -> list[RetentionSummary]:
    """A summary for each budget and each value of the column `by` (None: all together)."""
    summaries = []
    for budget in contexts["budget"].drop_duplicates() if len(contexts) else ():
        here, there = _of(samples, "budget", budget), _of(contexts, "budget", budget)
        if by is None:
            summaries.append(_summary(budget, "all", here, there, seed))
            continue
        source = there if by in there else here
        summaries += [
            _summary(budget, str(value), _of(here, by, value), _of(there, by, value), seed)
            for value in sorted(source[by].drop_duplicates())
        ]
    return summaries


def shares(rows: "pd.DataFrame", column: str, seed: int = 0) -> Mean | None:
    """The share of true values of a column, over the rows where it is known."""
    if not len(rows):
        return None
    known = rows[rows[column].notna()]
    return proportion(known[column].astype(float).tolist(), known["conversation"].tolist(), seed)


def _of(frame: "pd.DataFrame", column: str, value: Any) -> "pd.DataFrame":
    """The rows with this value; all of them where the table has no such column."""
    return frame[frame[column] == value] if column in frame else frame


def _summary(budget: str, group: str, samples: "pd.DataFrame", contexts: "pd.DataFrame", seed: int) -> RetentionSummary:
    asked = samples if len(samples) else contexts
    return RetentionSummary(
        budget=budget,
        group=group,
        conversations=int(asked["conversation"].nunique()),
        probes=len(samples),
        tokens_full=float(asked["tokens_full"].mean()),
        tokens_context=float(asked["tokens_context"].mean()),
        retained=shares(samples, "retained", seed),
        retained_empty=shares(samples, "retained_empty", seed),
        retained_full=shares(samples, "retained_full", seed),
        recall=float(samples["recall"].mean()) if len(samples) and samples["recall"].notna().any() else None,
        contexts=len(contexts),
        compressed=int((contexts["outcome"] == "compressed").sum()),
        over_budget=int(contexts["over_budget"].sum()),
        failed=int(contexts["failure"].notna().sum()),
        invalid=int((contexts["validity"].map(len) > 0).sum()),
        model_calls=int(contexts["model_calls"].sum()),
        seconds=float(contexts["latency_ms"].sum() / 1000),
    )
