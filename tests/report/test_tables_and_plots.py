import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from ctxbench.experiments.speed import Speed
from ctxbench.report.comparison_plots import plot_cost, plot_depths, plot_frontier
from ctxbench.report.estimation_plots import draw_all
from ctxbench.report.estimation_tables import tables
from ctxbench.report.retention_plots import (
    plot_retained_by_category,
    plot_retained_by_position,
    plot_retained_by_round,
    plot_retained_by_tokens,
    plot_tokens_by_turn,
)
from ctxbench.report.retention_tables import (
    comparison_table,
    cost_table,
    difference_table,
    retention_table,
    round_table,
)
from ctxbench.report.tables import mean_cell
from ctxbench.stats import estimation, fertility, retention, trigger
from ctxbench.stats.compare import paired
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
    assert shown.count("effective [95 % CI]") == 1
    assert "1/3" in shown


def test_the_cost_and_round_tables_show_the_summary() -> None:
    totals = retention.summarise(SAMPLES, CONTEXTS, None, prices={"input": 1.0, "cached_input": 0.5, "output": 2.0})
    shown = text(cost_table(totals, "example"))
    assert "300 → 120" in shown
    assert "25%" in shown  # 30 of 120 tokens are an unchanged head
    rounds = retention.summarise(pd.concat([SAMPLES, SAMPLES.assign(round=1, retained=False)]), CONTEXTS, "round")
    assert [row.group for row in rounds] == ["0", "1"]
    assert "0.00" in text(round_table(rounds, "rounds"))


def test_the_difference_table_shows_verdicts() -> None:
    from tests.stats.test_compare import row  # rows of two runs, by hand

    a = [row(f"c{n}", retained=False) for n in range(6)]
    b = [row(f"c{n}", retained=n != 0) for n in range(6)]
    found = [one for one in paired(a, b) if one.metric == "retained"]
    shown = text(difference_table(["first", "second"], [("second", found[0])], 0.05))
    assert "+0.83" in shown
    assert "better" in shown


def test_the_comparison_has_a_column_for_what_varied() -> None:
    totals = retention.summarise(SAMPLES, CONTEXTS, None)
    shown = text(comparison_table([{"strategy": "sliding"}, {"strategy": "smart"}], totals * 2, "title"))
    assert "sliding" in shown
    assert "smart" in shown


def summary() -> dict[str, Any]:
    table = estimation.ErrorTable(ESTIMATES)
    rows = [{"conversation": "a", "seen": n, "language": "en", "tokens": {"t": 40 * n}, "prompt": {"t": 44 * n},
             "estimates": {"e": 50 * n, "f": 20 * n}} for n in range(1, 6)]  # fmt: skip
    names = ("e", "f", "t", "t, counted once")
    kinds = ("estimator", "estimator", "tokenizer", "cached")
    return {
        "totals": table.summarise(None),
        "by_language": table.summarise("language"),
        "by_script": table.summarise("script"),
        "by_length": table.summarise("length"),
        "by_kind": table.summarise("kind"),
        "contexts": estimation.ErrorTable(rows).summarise(None),
        "prompts": estimation.ErrorTable(rows, "prompt").summarise(None),
        "trigger": trigger.summarise(rows, [0.5, 100]),
        "fertility": fertility.fertility(ESTIMATES),
        "speed": [
            Speed(name, kind, 1.5 * n + 0.1, 10.0) for n, (name, kind) in enumerate(zip(names, kinds, strict=True))
        ],
    }


def test_the_estimation_tables_show_the_summary() -> None:
    shown = "".join(text(table) for table in tables(summary(), "t", "made"))
    assert "bias in % by language" in shown
    assert re.search(r"e +-20 +-80", shown)  # 32 of 40 tokens in English, 3 of 15 in Chinese
    assert "trigger error" in shown
    assert "100: late" in shown


def test_the_estimation_plots_are_drawn(tmp_path: Path) -> None:
    paths = draw_all(summary(), tmp_path, "t", "made")
    assert {path.stem for path in paths} == {
        "bias_t", "tokens_per_character", "error_by_length", "error_by_time", "trigger_error",
    }  # fmt: skip
    assert all(path.stat().st_size > 1000 for path in paths)


def test_the_history_is_drawn(tmp_path: Path) -> None:
    from ctxbench.report.history_plot import plot_history
    from tests.stats.test_history import record

    rows = [
        record(mae=value, commit=f"{n:040}", date=f"2026-01-{n + 1:02}")
        for n, value in enumerate([0.3] * 5 + [0.1] * 5)
    ]
    assert [path.name for path in plot_history(rows, tmp_path)] == ["estimation.png", "estimation.svg"]


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
    by_category = retention.summarise(SAMPLES, CONTEXTS, "category")
    paths += plot_retained_by_category({"a": by_category, "b": by_category}, tmp_path, "t")
    paths += plot_retained_by_round(pd.concat([SAMPLES, SAMPLES.assign(round=1, retained=False)]), tmp_path, "t")
    paths += plot_frontier({"sliding": totals}, tmp_path, "t")
    paths += plot_cost({"sliding": totals}, tmp_path, "t")
    paths += plot_depths({"sliding": samples}, tmp_path, "t")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)
    assert len(paths) == 16
    assert all(path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml") for path in paths)


def test_the_same_rows_give_the_same_svg(tmp_path: Path) -> None:
    totals = retention.summarise(SAMPLES, CONTEXTS, None)
    drawn = [plot_retained_by_tokens({"s": totals}, tmp_path / name, "t")[1].read_bytes() for name in "ab"]
    assert drawn[0] == drawn[1]
