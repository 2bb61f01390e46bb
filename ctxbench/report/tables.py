"""The tables that a run prints. Every figure in them stands in `summary.json`."""

import math
import sys
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ctxbench.stats.intervals import Mean
from ctxbench.stats.retention import RetentionSummary

WIDTH = 160
"""Columns to assume where the output is no terminal."""


def console() -> Console:
    """Where tables go: stdout, as wide as the terminal."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def retention_table(
    by_group: Sequence[RetentionSummary], totals: Sequence[RetentionSummary], title: str, group: str = "language"
) -> Table:
    """One row a group and one total, for each budget."""
    table = new_table(title, _RETENTION_CAPTION)
    table.add_column(group, no_wrap=True)
    add_numbers(table, "conv.", "probes", "tokens full → context", "retained [95 % CI]", "empty", "full")
    add_numbers(table, "over budget", "calls", "time")
    for total in totals:
        for row in (one for one in by_group if one.budget == total.budget):
            table.add_row(row.group, *_retention_cells(row))
        table.add_section()
        table.add_row(f"budget {total.budget}", *_retention_cells(total), style="bold")
        table.add_section()
    return table


_RETENTION_CAPTION = (
    "tokens: mean at the probes, exact tokenizer. retained: share of probes whose answer is still found, "
    "empty: with the system messages alone; full: with everything (strategy none). over budget: contexts with "
    "more tokens than the budget. time: building the contexts. * one conversation or no variance: Wilson interval."
)


def _retention_cells(row: RetentionSummary) -> list[str]:
    return [
        str(row.conversations),
        str(row.retained.n if row.retained else 0),
        f"{row.tokens_full:,.0f} → {row.tokens_context:,.0f} ({row.tokens_context / max(1, row.tokens_full):.0%})",
        mean_cell(row.retained),
        _plain(row.retained_empty),
        _plain(row.retained_full),
        f"{row.over_budget}/{row.contexts}",
        str(row.model_calls),
        f"{row.seconds:.1f} s",
    ]


def new_table(title: str, caption: str) -> Table:
    """A table as all of ours look."""
    return Table(
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )


def add_numbers(table: Table, *names: str) -> None:
    """Add columns of figures."""
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def comparison_table(jobs: Sequence[Mapping[str, str]], rows: Sequence[RetentionSummary], title: str) -> Table:
    """One row for each job and budget of a sweep; the first columns say what the job varied.

    `rows` are the jobs' totals in the jobs' order, the same number for each job.
    """
    table = new_table(title, _RETENTION_CAPTION + " recall: share of the evidence's wording that is still there.")
    for name in jobs[0]:
        table.add_column(name, no_wrap=True)
    add_numbers(table, "budget", "probes", "tokens full → context", "retained [95 % CI]", "recall", "empty", "full")
    add_numbers(table, "over budget", "failed", "calls", "time")
    for index, row in enumerate(rows):
        job = jobs[index * len(jobs) // len(rows)]
        cells = _retention_cells(row)
        recall = "–" if row.recall is None else f"{row.recall:.2f}"
        shown = [*job.values(), row.budget]
        table.add_row(*shown, *cells[1:4], recall, *cells[4:7], str(row.failed), *cells[7:])
    return table


def mean_cell(mean: Mean | None) -> str:
    """`0.42 [0.31, 0.55]`, with a star where the interval is not clustered."""
    if mean is None:
        return "–"
    interval = "" if math.isnan(mean.low) else f" [{mean.low:.2f}, {mean.high:.2f}]"
    return f"{mean.mean:.2f}{interval}{'*' if mean.method == 'wilson' else ' '}"


def _plain(mean: Mean | None) -> str:
    return "–" if mean is None else f"{mean.mean:.2f}"
