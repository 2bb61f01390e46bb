"""Does the units of a run one after the other, and none of them twice.

A unit (a conversation under a budget, say) is done when its rows are written and it
stands in `done.jsonl`. A run that was killed between the two is mended on resuming:
rows of units that are not done are removed, and the units are done again.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from ctxbench.errors import CtxbenchError
from ctxbench.progress import track
from ctxbench.runs.folder import Row, RunFolder

Tables = dict[str, Sequence[msgspec.Struct]]
"""Rows by table, such as `samples`."""


class Unit(msgspec.Struct, frozen=True):
    """What identifies a unit: a conversation and its budget, or the name of a batch."""

    conversation: str
    budget: str | None = None


def run_units(
    folder: RunFolder,
    units: Sequence[Unit],
    work: Callable[[Unit], Tables],
    *,
    unit_of: Callable[[Row], Unit] | None = None,
    workers: int = 1,
    label: str = "",
) -> None:
    """Do all units that the folder does not have yet, appending their rows in the units' order.

    `unit_of` tells which unit a row is of; by default its conversation and budget say so.
    """
    if workers < 1:
        raise CtxbenchError(f"workers is {workers}; give 1 or more")
    done = _mended(folder, unit_of or _by_conversation_and_budget)
    waiting = [unit for unit in units if unit not in done]
    for unit, tables in track(_results(waiting, work, workers), len(waiting), label):
        for name, rows in tables.items():
            folder.append(name, rows)
        folder.append("done", [unit])


def _results(units: Sequence[Unit], work: Callable[[Unit], Tables], workers: int) -> Iterator[tuple[Unit, Tables]]:
    if workers <= 1:
        yield from ((unit, work(unit)) for unit in units)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        yield from zip(units, pool.map(work, units), strict=True)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # after Ctrl-C, only those under way end


def _mended(folder: RunFolder, unit_of: Callable[[Row], Unit]) -> set[Unit]:
    """The units that are done; rows of others are removed."""
    done = {msgspec.convert(row, Unit) for row in folder.rows("done")}
    for name in ("samples", "contexts"):
        if (folder.path / f"{name}.jsonl").is_file():
            folder.keep_rows(name, lambda row: unit_of(row) in done)
    if (folder.path / "done.jsonl").is_file():
        folder.keep_rows("done", bool)  # a line that was cut off goes
    return done


def _by_conversation_and_budget(row: Row) -> Unit:
    return Unit(row["conversation"], row.get("budget"))
