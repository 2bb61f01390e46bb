"""Summarises retention rows: the figures of the table, the summary file and the plots.

Effective retention is what a strategy keeps of what there is to lose: (retained - empty)
/ (full - empty), over the same probes. Costs are of the requests that a model would get.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ctxbench.conversation.validity import is_valid
from ctxbench.stats.intervals import Mean, proportion, ratio

if TYPE_CHECKING:
    import pandas as pd


class Cost(msgspec.Struct):
    """What the requests of a group cost. Tokens are sums over turns; dollars by the price table."""

    turns: int
    sent_tokens: int
    full_tokens: int
    """Tokens that would be sent without compression."""
    summary_tokens: int
    """Tokens of the summarizer's own calls, in and out."""
    saved: float
    """1 - (sent + summary) / full."""
    cacheable: float
    """Share of the sent tokens that are the unchanged head of the request before."""
    summaries: int
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    """Of the contexts that were compressed."""
    dollars: float
    dollars_full: float
    """The same without compression, where each request begins with all of the one before."""
    dollars_per_retained: float | None


class RetentionSummary(msgspec.Struct):
    """One group of probes. Tokens are means over the probes; the counts are over contexts."""

    budget: str
    group: str
    conversations: int
    probes: int
    tokens_full: float
    tokens_context: float
    retained: Mean | None
    effective: Mean | None
    retained_empty: Mean | None
    retained_full: Mean | None
    retained_oracle: Mean | None
    retained_random: Mean | None
    stale_only: Mean | None
    stale_both: Mean | None
    """Of probes with an outdated value: it stands in the context, without the right one, and with it."""
    recall: float | None
    answered: Mean | None
    judged: Mean | None
    f1: float | None
    contexts: int
    compressed: int
    over_budget: int
    failed: int
    invalid: int
    """Contexts that the profile `openai` would refuse; see `validity` for the others."""
    inflated: int
    piled_up: int
    """Contexts with more than one summary."""
    model_calls: int
    seconds: float
    cost: Cost


def summarise(
    samples: "pd.DataFrame",
    contexts: "pd.DataFrame",
    by: str | None,
    seed: int = 0,
    prices: Mapping[str, float] | None = None,
) -> list[RetentionSummary]:
    """A summary for each budget and each value of the column `by` (None: all together)."""
    summaries = []
    samples, contexts = (_columns(frame) for frame in (samples, contexts))
    for budget in contexts["budget"].drop_duplicates() if len(contexts) else ():
        here, there = _of(samples, "budget", budget), _of(contexts, "budget", budget)
        if by is None:
            summaries.append(_summary(budget, "all", here, there, seed, prices))
            continue
        source = there if by in there and by != "round" else here
        summaries += [
            _summary(budget, str(value), _of(here, by, value), _chosen(there, by, value), seed, prices)
            for value in sorted(source[by].drop_duplicates())
        ]
    return summaries


def _columns(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The columns that summaries read; every group takes rows of all that are there."""
    return frame[[name for name in frame if name not in _UNREAD]]


_UNREAD = frozenset({"probe", "position", "strategy", "summarizer", "answer", "exact", "kept", "dropped", "repairs"})


def shares(rows: "pd.DataFrame", column: str, seed: int = 0) -> Mean | None:
    """The share of true values of a column, over the rows where it is known."""
    if not len(rows):
        return None
    known = rows[column].notna().to_numpy()  # two columns at a time: taking rows of all of them is slow
    values, clusters = (rows[name].to_numpy()[known] for name in (column, "conversation"))
    return proportion(values.astype(float), clusters, seed)


def effective(rows: "pd.DataFrame", seed: int = 0) -> Mean | None:
    """(retained - empty) / (full - empty), over the rows where all three are known."""
    known = rows.loc[rows["retained"].notna(), ["retained", "retained_empty", "retained_full", "conversation"]]
    if not len(known):
        return None
    kept, floor, ceiling = (known[name].astype(float) for name in ("retained", "retained_empty", "retained_full"))
    if (ceiling - floor).eq(1).all():  # then it is the raw rate, whose interval also holds without variance
        return shares(known, "retained", seed)
    return ratio((kept - floor).to_numpy(), (ceiling - floor).to_numpy(), known["conversation"].tolist(), seed)


def _of(frame: "pd.DataFrame", column: str, value: Any) -> "pd.DataFrame":
    """The rows with this value; all of them where the table has no such column."""
    return frame[frame[column] == value] if column in frame else frame


def _chosen(contexts: "pd.DataFrame", by: str, value: Any) -> "pd.DataFrame":
    """The contexts of a group; a context's own `round` counts something else."""
    return contexts if by == "round" else _of(contexts, by, value)


def _summary(
    budget: str,
    group: str,
    samples: "pd.DataFrame",
    contexts: "pd.DataFrame",
    seed: int,
    prices: Mapping[str, float] | None,
) -> RetentionSummary:
    asked = samples if len(samples) else contexts
    retained = shares(samples, "retained", seed)
    return RetentionSummary(
        budget=budget,
        group=group,
        conversations=int(asked["conversation"].nunique()),
        probes=len(samples),
        tokens_full=float(asked["tokens_full"].mean()),
        tokens_context=float(asked["tokens_context"].mean()),
        retained=retained,
        effective=effective(samples, seed) if len(samples) else None,
        retained_empty=shares(samples, "retained_empty", seed),
        retained_full=shares(samples, "retained_full", seed),
        retained_oracle=shares(samples, "retained_oracle", seed),
        retained_random=shares(samples, "retained_random", seed),
        stale_only=_stale(samples, seed, beside_the_right_one=False),
        stale_both=_stale(samples, seed, beside_the_right_one=True),
        recall=_mean(samples, "recall"),
        answered=shares(samples, "answered", seed),
        judged=shares(samples, "judged", seed),
        f1=_mean(samples, "f1"),
        contexts=len(contexts),
        compressed=int((contexts["outcome"] == "compressed").sum()),
        over_budget=int(contexts["over_budget"].sum()),
        failed=int(contexts["failure"].notna().sum()),
        invalid=sum(not is_valid(rules, "openai") for rules in contexts["validity"]),
        inflated=int(contexts["inflated"].sum()),
        piled_up=int((contexts["added"] > 1).sum()),
        model_calls=int(contexts["model_calls"].sum()),
        seconds=float(contexts["latency_ms"].sum() / 1000),
        cost=cost(contexts, prices, hits=round(retained.mean * retained.n) if retained else 0),
    )


def cost(contexts: "pd.DataFrame", prices: Mapping[str, float] | None, hits: int) -> Cost:
    """What the turns of these contexts cost, with and without compression."""
    turns = contexts[contexts["turn"]]
    sent, full, prefix = (int(turns[name].sum()) for name in ("tokens_context", "tokens_full", "prefix_tokens"))
    read, written = int(contexts["prompt_tokens"].sum()), int(contexts["completion_tokens"].sum())
    repeated = int(turns.groupby(["conversation", "budget"])["tokens_full"].shift(1).sum())
    price = prices or {"input": 0.0, "cached_input": 0.0, "output": 0.0}

    def dollars(tokens: int, cached: int, summary_in: int = 0, summary_out: int = 0) -> float:
        fresh = (tokens - cached + summary_in) * price["input"]
        return (fresh + cached * price["cached_input"] + summary_out * price["output"]) / 1e6

    waited = contexts.loc[contexts["outcome"].isin(["compressed", "fallback", "kept"]), "latency_ms"]
    total = dollars(sent, prefix, read, written)
    return Cost(
        turns=len(turns),
        sent_tokens=sent,
        full_tokens=full,
        summary_tokens=read + written,
        saved=1 - (sent + read + written) / max(1, full),
        cacheable=prefix / max(1, sent),
        summaries=len(waited),
        latency_p50_ms=float(waited.quantile(0.5)) if len(waited) else None,
        latency_p95_ms=float(waited.quantile(0.95)) if len(waited) else None,
        dollars=total,
        dollars_full=dollars(full, repeated),
        dollars_per_retained=total / hits if hits else None,
    )


def half_lives(samples: "pd.DataFrame") -> dict[str, dict[str, int | None]]:
    """By budget and category, the first round after which less than half is retained; None while it is not."""
    known = samples[samples["retained"].notna()]
    lives: dict[str, dict[str, int | None]] = {}
    for budget in known["budget"].drop_duplicates():
        rows = known[known["budget"] == budget]
        rates = rows["retained"].astype(float).groupby([rows["category"], rows["round"]]).mean().unstack()
        below = rates < 0.5
        lives[str(budget)] = {
            str(category): int(below.columns[list(row).index(True)]) if any(row) else None
            for category, row in zip(below.index, below.to_numpy(), strict=True)
        }
    return lives


def _stale(samples: "pd.DataFrame", seed: int, *, beside_the_right_one: bool) -> Mean | None:
    if not len(samples):
        return None
    is_known = samples["stale"].notna() & samples["retained"].notna()
    known = samples.loc[is_known, ["stale", "retained", "conversation"]]
    right = known["retained"].astype(bool)
    hits = known["stale"].astype(bool) & (right if beside_the_right_one else ~right)
    return proportion(hits.astype(float).tolist(), known["conversation"].tolist(), seed)


def _mean(samples: "pd.DataFrame", column: str) -> float | None:
    if not len(samples) or not samples[column].notna().any():
        return None
    return float(samples[column].astype(float).mean())
