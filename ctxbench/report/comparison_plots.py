"""Plots over the jobs of a sweep: the frontier of tokens and retention, positions, cost."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ctxbench.report.retention_plots import draw_series, kept_percent
from ctxbench.report.style import GREY, look, plot_style, save
from ctxbench.stats.retention import RetentionSummary

if TYPE_CHECKING:
    import pandas as pd

Series = Mapping[str, Sequence[RetentionSummary]]
DEPTHS = 5


def plot_frontier(series: Series, folder: Path, title: str) -> list[Path]:
    """Retained against tokens kept, a line a job over its budgets, with the baselines and the Pareto frontier."""
    from matplotlib import pyplot

    with plot_style():
        figure, axes = pyplot.subplots(figsize=(8.4, 5.2))
        for index, (label, rows) in enumerate(series.items()):
            draw_series(axes, label, rows, index)
        first = next(iter(series.values()), [])
        for name, style in (("oracle", "-."), ("random", ":")):
            points = sorted(
                (_share_of_budget(row), getattr(row, f"retained_{name}").mean) for row in first if row.retained_random
            )
            if points:
                axes.plot(*zip(*points, strict=True), linestyle=style, color=GREY, label=f"{name} (at the budget)")
        frontier = _pareto(
            [(kept_percent(row), row.retained.mean) for rows in series.values() for row in rows if row.retained]
        )
        axes.step(*zip(*frontier, strict=True), where="post", color="black", linewidth=0.8, label="Pareto frontier")
        axes.set(xlim=(0, 102), ylim=(-0.02, 1.05), xlabel="tokens kept (% of the whole history)")
        axes.set(ylabel="retained (share of probes, 95 % CI)", title=title)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return save(figure, folder, "comparison")


def plot_depths(frames: Mapping[str, "pd.DataFrame"], folder: Path, title: str) -> list[Path]:
    """Retained by depth of the evidence and budget, a heatmap a job."""
    from matplotlib import pyplot

    budgets = list(dict.fromkeys(value for frame in frames.values() for value in frame["budget"]))
    with plot_style():
        size = (2.6 * len(frames) + 1.4, 0.42 * len(budgets) + 1.9)
        figure, grid = pyplot.subplots(1, len(frames), figsize=size, squeeze=False, sharey=True)
        for axes, (label, frame) in zip(grid.flat, frames.items(), strict=True):
            cells = _by_depth(frame, budgets)
            image = axes.imshow(cells, cmap="viridis", vmin=0, vmax=1, aspect="auto")
            axes.grid(visible=False)
            for (y, x), value in np.ndenumerate(cells):
                if not np.isnan(value):
                    colour = "white" if value < 0.6 else "black"
                    cell = axes.text(x, y, f"{100 * value:.0f}", ha="center", va="center", fontsize=8, color=colour)
                    cell.set_in_layout(False)
            axes.set_xticks(range(DEPTHS), [f"{100 * place // DEPTHS}–" for place in range(DEPTHS)], fontsize=8)
            axes.set_yticks(range(len(budgets)), budgets)
            axes.set_title(label, fontsize=9)
        grid.flat[0].set_ylabel("budget")
        n = max(int(frame["retained"].notna().sum()) // max(1, len(budgets)) for frame in frames.values())
        figure.supxlabel(f"depth of the evidence (% of the messages; n = {n} probes a row)", fontsize=9)
        figure.colorbar(image, ax=grid.ravel().tolist(), label="retained (share)")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        return save(figure, folder, "depths")


def plot_cost(series: Series, folder: Path, title: str) -> list[Path]:
    """Retained against dollars for a thousand requests."""
    from matplotlib import pyplot

    with plot_style():
        figure, axes = pyplot.subplots(figsize=(8.4, 4.8))
        for index, (label, rows) in enumerate(series.items()):
            points = sorted((1000 * r.cost.dollars / max(1, r.cost.turns), r.retained.mean) for r in rows if r.retained)
            if points:
                colour, marker, line = look(index)
                axes.plot(*zip(*points, strict=True), label=label, marker=marker, color=colour, linestyle=line)
        axes.set(ylim=(-0.02, 1.05), ylabel="retained (share of probes)", title=title)
        axes.set_xlim(left=0)
        axes.set_xlabel("dollars for 1,000 requests, summaries included, unchanged heads cached")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return save(figure, folder, "cost")


def _by_depth(frame: "pd.DataFrame", budgets: Sequence[str]) -> np.ndarray:
    known = frame[frame["retained"].notna() & frame["position"].notna()]
    depth = (known["position"] * DEPTHS).astype(int).clip(upper=DEPTHS - 1)
    cells = np.full((len(budgets), DEPTHS), np.nan)
    for row, budget in enumerate(budgets):
        for place in range(DEPTHS):
            chosen = known[(known["budget"] == budget) & (depth == place)]
            if len(chosen):
                cells[row, place] = chosen["retained"].astype(float).mean()
    return cells


def _share_of_budget(row: RetentionSummary) -> float:
    """The budget in % of the history: where a baseline that fills it stands."""
    budget = float(row.budget)
    return 100 * budget if budget <= 1 else min(100.0, 100 * budget / max(1.0, row.tokens_full))


def _pareto(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points than which none keeps more answers in fewer tokens, by tokens."""
    best: list[tuple[float, float]] = []
    for tokens, share in sorted(points):
        if not best or share > best[-1][1]:
            best.append((tokens, share))
    return best
