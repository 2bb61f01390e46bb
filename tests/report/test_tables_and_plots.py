from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from ctxbench.report.estimation_plots import plot_bias_heatmap
from ctxbench.report.retention_plots import (
    plot_retained_by_position,
    plot_retained_by_tokens,
    plot_tokens_by_turn,
)
from ctxbench.report.tables import comparison_table, estimation_table, mean_cell, retention_table
from ctxbench.stats import estimation, retention
from ctxbench.stats.intervals import Mean
from tests.stats.test_summaries import CONTEXTS, ESTIMATES, SAMPLES


def text(table: object) -> str:
    console = Console(width=140, record=True)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_cells_tell_mean_and_interval() -> None:
    assert mean_cell(Mean(0.5, 0.25, 0.75, 10, 3, "bootstrap")) == "0.50 [0.25, 0.75] "
    assert mean_cell(Mean(0.5, 0.25, 0.75, 10, 1, "wilson")) == "0.50 [0.25, 0.75]*"
    assert mean_cell(Mean(0.5, float("nan"), float("nan"), 10, 1, "bootstrap")) == "0.50 "
    assert mean_cell(None) == "–"


def test_the_retention_table_shows_the_summary() -> None:
    totals = retention.summarise(SAMPLES, CONTEXTS, None)
    shown = text(retention_table(retention.summarise(SAMPLES, CONTEXTS, "language"), totals, "title"))
    lines = [line.split() for line in shown.splitlines()]
    assert ["en", "1", "2", "100", "→", "50", "(50%)", "0.50"] in [line[:8] for line in lines]
    assert ["budget", "0.25", "2", "3", "100", "→", "45", "(45%)", "0.67"] in [line[:9] for line in lines]
    assert "1/3" in shown


def test_the_comparison_has_a_column_for_what_varied() -> None:
    totals = retention.summarise(SAMPLES, CONTEXTS, None)
    shown = text(comparison_table([{"strategy": "sliding"}, {"strategy": "smart"}], totals * 2, "title"))
    assert "sliding" in shown
    assert "smart" in shown


def test_the_estimation_table_shows_bias_and_error() -> None:
    frame = estimation.errors(ESTIMATES)
    by_language, totals = estimation.summarise(frame, "language"), estimation.summarise(frame, None)
    shown = text(estimation_table(by_language, totals, "t", "title"))
    assert "-20% (30%)" in shown
    assert "–" in shown


@pytest.mark.parametrize(
    "rows", [CONTEXTS, pd.concat([CONTEXTS.assign(language=f"l{i}", conversation=f"c{i}") for i in range(8)])]
)
def test_plots_are_written_as_png_and_svg(tmp_path: Path, rows: pd.DataFrame) -> None:
    samples = SAMPLES.assign(position=[0.0, 0.5, 1.0, float("nan")])
    contexts = rows.assign(seen=range(len(rows)), budget_tokens=25)
    totals = retention.summarise(SAMPLES, CONTEXTS, None)
    paths = plot_retained_by_tokens(
        {"sliding": totals}, tmp_path, "t", retention.summarise(SAMPLES, CONTEXTS, "language")
    )
    paths += plot_retained_by_position(samples, tmp_path, "t")
    paths += plot_tokens_by_turn(contexts, tmp_path, "t")
    paths += plot_bias_heatmap(estimation.summarise(estimation.errors(ESTIMATES), "language"), tmp_path, "t")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    assert len(paths) == 8
    assert all(path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml") for path in paths)


def test_the_same_rows_give_the_same_svg(tmp_path: Path) -> None:
    totals = retention.summarise(SAMPLES, CONTEXTS, None)
    drawn = [plot_retained_by_tokens({"s": totals}, tmp_path / name, "t")[1].read_bytes() for name in "ab"]
    assert drawn[0] == drawn[1]
