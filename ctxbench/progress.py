"""A progress bar on stderr: only on a terminal, gone when the work is done."""

import sys
from collections.abc import Iterable, Iterator
from multiprocessing import parent_process
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], total: int, label: str) -> Iterator[Item]:
    """Yield the items, showing how many of `total` are done and how long the rest may take."""
    if not sys.stderr.isatty() or parent_process() is not None:  # several processes would draw over each other
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total)
