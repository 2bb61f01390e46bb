"""What all tables share: where they go, how they look, how a mean is written."""

import math
import sys

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ctxbench.stats.intervals import Mean

WIDTH = 200
"""Columns to assume where the output is no terminal."""


def console() -> Console:
    """Where tables go: stdout, as wide as the terminal."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDTH, highlight=False)


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


def mean_cell(mean: Mean | None) -> str:
    """`0.42 [0.31, 0.55]`, with a star where the interval is not clustered."""
    if mean is None:
        return "–"
    interval = "" if math.isnan(mean.low) else f" [{mean.low:.2f}, {mean.high:.2f}]"
    return f"{mean.mean:.2f}{interval}{'*' if mean.method == 'wilson' else ' '}"
