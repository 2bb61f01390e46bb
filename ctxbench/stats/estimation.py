"""Summarises estimation rows: bias, mean absolute error, p95 and worst case of estimators.

Bias and mean absolute error are ratios of sums, so that a text counts by its tokens and
a message of two tokens cannot dominate: bias = sum(estimate) / sum(tokens) - 1 (negative:
too low), mae = sum(|estimate - tokens|) / sum(tokens). p95 and worst are of the relative
error of each text, |estimate - tokens| / tokens.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ctxbench.runs.folder import Row
from ctxbench.stats.intervals import Mean, quantile, ratios
from ctxbench.text.languages import script_of

LENGTHS = (50, 200, 1000, 5000)
"""Ends of the length groups, in characters."""

Group = Mapping[str, Any]


class EstimationSummary(msgspec.Struct):
    """The error of one estimator against one tokenizer on one group of texts, relative."""

    tokenizer: str
    estimator: str
    group: str
    texts: int
    tokens: int
    bias: Mean | None
    mae: Mean | None
    p95: Mean | None
    worst: float | None
    worst_text: str


class ErrorTable:
    """Rows as matrices: tokens (rows, tokenizers) and estimates (rows, estimators).

    `column` is what the estimates are held against: `tokens`, or `prompt` for contexts.
    """

    def __init__(self, rows: Sequence[Row], column: str = "tokens") -> None:
        self.rows = rows
        self.tokenizers = list(rows[0][column]) if rows else []
        self.estimators = list(rows[0]["estimates"]) if rows else []
        self.tokens = _matrix(rows, column, self.tokenizers)
        self.estimates = _matrix(rows, "estimates", self.estimators)
        self.clusters = np.array([row["conversation"] for row in rows], dtype=str)
        self.names = [str(row.get("text") or f"{row['conversation']}#{row['seen']}") for row in rows]

    def summarise(self, by: str | None, seed: int = 0) -> list[EstimationSummary]:
        """A summary for each tokenizer, estimator and group (None: all rows together)."""
        groups = np.array([group_of(row, by) for row in self.rows], dtype=str)
        return [
            summary
            for group in sorted(set(groups.tolist()), key=_group_order)
            for summary in self._group(group, np.flatnonzero(groups == group), seed)
        ]

    def _group(self, group: str, chosen: np.ndarray, seed: int) -> list[EstimationSummary]:
        tokens, clusters = self.tokens[chosen], self.clusters[chosen]
        difference = (self.estimates[chosen][:, None, :] - tokens[:, :, None]).reshape(len(chosen), -1)
        repeated = np.repeat(tokens, len(self.estimators), axis=1)
        both = ratios(np.hstack([difference, np.abs(difference)]), np.hstack([repeated, repeated]), clusters, seed)
        pairs = [(tokenizer, estimator) for tokenizer in self.tokenizers for estimator in self.estimators]
        summaries = []
        for column, (tokenizer, estimator) in enumerate(pairs):
            known = np.flatnonzero(repeated[:, column] > 0)
            relative = np.abs(difference[known, column]) / repeated[known, column]
            worst = int(np.argmax(relative)) if len(known) else -1
            summaries.append(
                EstimationSummary(
                    tokenizer=tokenizer,
                    estimator=estimator,
                    group=group,
                    texts=len(chosen),
                    tokens=int(repeated[:, column].sum()),
                    bias=both[column],
                    mae=both[column + len(pairs)],
                    p95=quantile(relative, clusters[known], 0.95, seed),
                    worst=float(relative[worst]) if len(known) else None,
                    worst_text=self.names[chosen[known[worst]]] if len(known) else "",
                )
            )
        return summaries


def group_of(row: Row, by: str | None) -> str:
    """The group of a row by `language`, `script`, `kind` or `length`; None is `all`."""
    if by is None:
        return "all"
    if by == "script":
        return script_of(row["language"])
    if by == "length":
        length = int(row["characters"])
        end = next((end for end in LENGTHS if length < end), None)
        return f"< {end:,}" if end else f">= {LENGTHS[-1]:,}"
    return str(row[by])


def _group_order(group: str) -> tuple[int, str]:
    """Lengths by their number, all else by name."""
    digits = "".join(filter(str.isdigit, group)) if group[:1] in "<>" else ""
    return (int(digits) + (group[0] == ">") if digits else 0, group)


def _matrix(rows: Sequence[Row], column: str, names: Sequence[str]) -> np.ndarray:
    cells = [[row[column][name] for name in names] for row in rows]
    return np.array(cells, dtype=float).reshape(len(rows), len(names))
