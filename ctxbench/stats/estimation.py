"""Summarises estimation rows: bias and mean absolute error of estimators.

Both are ratios of sums, so that a text counts by its tokens and a message of two
tokens cannot dominate: bias = sum(estimate) / sum(tokens) - 1 (negative: too low),
mae = sum(|estimate - tokens|) / sum(tokens).
"""

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ctxbench.stats.intervals import Mean, ratio

if TYPE_CHECKING:
    import pandas as pd


class EstimationSummary(msgspec.Struct):
    """The error of one estimator against one tokenizer on one group of texts, relative."""

    tokenizer: str
    estimator: str
    group: str
    texts: int
    tokens: int
    bias: Mean | None
    mae: Mean | None


def errors(samples: "pd.DataFrame") -> "pd.DataFrame":
    """One row for each text, tokenizer and estimator: tokens, estimate, signed relative error."""
    import pandas as pd

    keys = ["text", "conversation", "language", "kind", "characters"]
    tokens, estimates = (pd.DataFrame(samples[name].tolist(), index=samples.index) for name in ("tokens", "estimates"))
    parts = [
        samples[keys].assign(
            tokenizer=tokenizer, estimator=estimator, tokens=tokens[tokenizer], estimate=estimates[estimator]
        )
        for tokenizer in map(str, tokens)
        for estimator in map(str, estimates)
    ]
    frame = pd.concat(parts, ignore_index=True)
    frame["error"] = (frame["estimate"] - frame["tokens"]) / frame["tokens"].where(frame["tokens"] > 0)
    return frame


def summarise(frame: "pd.DataFrame", by: str | None, seed: int = 0) -> list[EstimationSummary]:
    """A summary for each tokenizer, estimator and value of the column `by` (None: all together)."""
    keys = ["tokenizer", "estimator", *([by] if by else [])]
    summaries = []
    for values, rows in frame.groupby(keys, sort=False):
        group = str(values[2]) if by else "all"
        tokens, clusters = rows["tokens"].to_numpy(float), rows["conversation"].tolist()
        difference = rows["estimate"].to_numpy(float) - tokens
        summaries.append(
            EstimationSummary(
                tokenizer=str(values[0]),
                estimator=str(values[1]),
                group=group,
                texts=len(rows),
                tokens=int(tokens.sum()),
                bias=ratio(difference, tokens, clusters, seed),
                mae=ratio(np.abs(difference), tokens, clusters, seed),
            )
        )
    return summaries
