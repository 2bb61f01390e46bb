"""Plots of retention runs: against tokens kept, by position of the evidence, tokens by turn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ctxbench.report.style import COLOURS, GREY, MARKERS, look, plot_style, save
from ctxbench.stats.intervals import Mean
from ctxbench.stats.retention import RetentionSummary, shares

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_PANELS = 6
POSITION_BINS = 5


def plot_retained_by_tokens(
    series: Mapping[str, Sequence[RetentionSummary]],
    folder: Path,
    title: str,
    groups: Sequence[RetentionSummary] = (),
    name: str = "retained_by_tokens",
) -> list[Path]:
    """A line for each series over its budgets, with intervals; `groups` are drawn small, with names."""
    from matplotlib import pyplot

    with plot_style():
        figure, axes = pyplot.subplots(figsize=(7.5, 4.8))
        for group in groups:
            if group.retained is not None:
                x, y = kept_percent(group), group.retained.mean
                axes.plot(x, y, ".", color=GREY, markersize=6)
                axes.annotate(group.group, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=8, color=GREY)
        for index, (label, rows) in enumerate(series.items()):
            draw_series(axes, label, rows, index)
        everything = next((row for rows in series.values() for row in rows if row.retained_empty), None)
        if everything is not None and everything.retained_empty is not None:
            axes.axhline(everything.retained_empty.mean, color=GREY, linestyle=":", linewidth=1)
            axes.annotate("system messages alone", (1, everything.retained_empty.mean), va="bottom", fontsize=8)
        axes.plot([0, 100], [0, 1], color=GREY, linewidth=0.8, linestyle="--", label="in proportion to tokens")
        axes.set(xlim=(0, 102), ylim=(-0.02, 1.05), xlabel="tokens kept (% of the whole history)")
        axes.set(ylabel="retained (share of probes)", title=title)
        axes.legend(loc="lower right")
        return save(figure, folder, name)


def draw_series(axes: "Axes", label: str, rows: Sequence[RetentionSummary], index: int) -> None:
    """A line of one series over its budgets, with intervals."""
    points = sorted((kept_percent(row), row.retained) for row in rows if row.retained is not None)
    if not points:
        return
    x, means = zip(*points, strict=True)
    n = means[0].n
    colour, marker, line = look(index)
    axes.errorbar(
        x,
        [mean.mean for mean in means],
        yerr=_bars(means),
        fmt=marker,
        linestyle=line,
        color=colour,
        capsize=3,
        markersize=5,
        linewidth=1.2,
        elinewidth=0.7,
        label=f"{label} (n = {n} probes, 95 % CI)",
    )


def plot_retained_by_position(samples: "pd.DataFrame", folder: Path, title: str, seed: int = 0) -> list[Path]:
    """Retained by where the evidence stands, in five bins from the oldest to the newest."""
    from matplotlib import pyplot

    placed = samples[samples["position"].notna() & samples["retained"].notna()]
    bins = (placed["position"] * POSITION_BINS).astype(int).clip(upper=POSITION_BINS - 1)
    with plot_style():
        figure, axes = pyplot.subplots(figsize=(7.5, 4.2))
        for index, budget in enumerate(placed["budget"].drop_duplicates()):
            means = [
                (place, shares(placed[(bins == place) & (placed["budget"] == budget)], "retained", seed))
                for place in range(POSITION_BINS)
            ]
            known = [(place, mean) for place, mean in means if mean is not None]
            if not known:
                continue
            shift = 0.06 * index
            axes.errorbar(
                [place + shift for place, _ in known],
                [mean.mean for _, mean in known],
                yerr=_bars([mean for _, mean in known]),
                fmt=f"-{MARKERS[index % len(MARKERS)]}",
                color=COLOURS[index % len(COLOURS)],
                capsize=3,
                label=f"budget {budget}",
            )
        counts = bins.value_counts()
        labels = [
            f"{100 * place // POSITION_BINS}–{100 * (place + 1) // POSITION_BINS} %\nn = {counts.get(place, 0)}"
            for place in range(POSITION_BINS)
        ]
        axes.set_xticks(range(POSITION_BINS), labels)
        axes.set(ylim=(-0.02, 1.05), xlabel="position of the evidence (0 % = oldest message; n = probes)")
        axes.set(ylabel="retained (share of probes, 95 % CI)", title=title)
        axes.legend(loc="upper left")
        return save(figure, folder, "retained_by_position")


def plot_retained_by_category(
    series: Mapping[str, Sequence[RetentionSummary]], folder: Path, title: str, name: str = "retained_by_category"
) -> list[Path]:
    """Retained in each category of probes, or any other group; a marker a series, at each series' first budget."""
    from matplotlib import pyplot

    groups = sorted({row.group for rows in series.values() for row in rows if row.retained})
    with plot_style():
        figure, axes = pyplot.subplots(figsize=(max(7.5, 0.62 * len(groups) + 2), 4.4))
        for index, (label, rows) in enumerate(series.items()):
            budget = rows[0].budget if rows else ""
            means = {row.group: row.retained for row in rows if row.budget == budget and row.retained}
            places = [groups.index(group) + 0.14 * (index - (len(series) - 1) / 2) for group in means]
            axes.errorbar(
                places,
                [mean.mean for mean in means.values()],
                yerr=_bars(list(means.values())),
                fmt=MARKERS[index % len(MARKERS)],
                color=COLOURS[index % len(COLOURS)],
                capsize=3,
                label=f"{label}, budget {budget}",
            )
        counts = {row.group: row.retained.n for rows in series.values() for row in rows if row.retained}
        axes.set_xticks(range(len(groups)), [f"{group}\nn={counts[group]}" for group in groups], fontsize=8)
        axes.set(ylim=(-0.02, 1.05), ylabel="retained (share of probes, 95 % CI)", title=title)
        axes.legend(loc="best")
        return save(figure, folder, name)


def plot_retained_by_round(samples: "pd.DataFrame", folder: Path, title: str, seed: int = 0) -> list[Path]:
    """Survival by round, a line a category; where a category falls below half is marked."""
    from matplotlib import pyplot

    budget = samples["budget"].iloc[0]
    rows = samples[(samples["budget"] == budget) & samples["retained"].notna()]
    rounds = sorted(rows["round"].unique())
    with plot_style():
        figure, axes = pyplot.subplots(figsize=(8, 4.6))
        for index, category in enumerate([None, *sorted(rows["category"].unique())]):
            chosen = rows if category is None else rows[rows["category"] == category]
            means = [shares(chosen[chosen["round"] == number], "retained", seed) for number in rounds]
            heights = [mean.mean if mean else np.nan for mean in means]
            label = f"all (n = {means[0].n if means[0] else 0})" if category is None else category
            colour, marker, line = look(index - 1) if category is not None else ("black", "o", "-")
            width = 1.0 if category is not None else 2.5
            (drawn,) = axes.plot(rounds, heights, color=colour, linewidth=width, label=label)
            drawn.set(linestyle=line, marker=marker, markersize=5)
            fallen = next((place for place, height in zip(rounds, heights, strict=True) if height < 0.5), None)
            if fallen is not None and heights[0] >= 0.5:
                axes.plot(fallen, heights[rounds.index(fallen)], "o", markersize=11, fillstyle="none", color=GREY)
        axes.axhline(0.5, color=GREY, linestyle=":", linewidth=1)
        axes.set_xticks(rounds)
        axes.set(ylim=(-0.02, 1.05), ylabel="retained (share of probes)", title=f"{title} · budget {budget}")
        axes.set_xlabel("rounds of other talk after the end (ringed: first below half)")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return save(figure, folder, "retained_by_round")


def plot_tokens_by_turn(contexts: "pd.DataFrame", folder: Path, title: str) -> list[Path]:
    """Tokens of the history and of the context at each request, for one conversation a language."""
    from matplotlib import pyplot

    first_budget = contexts[contexts["budget"] == contexts["budget"].iloc[0]]
    chosen = first_budget.groupby("language", sort=False)["conversation"].first().tolist()[:MOST_PANELS]
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    with plot_style():
        figure, grid = pyplot.subplots(rows, columns, figsize=(3.4 * columns + 0.6, 2.7 * rows + 0.9), squeeze=False)
        for axes in grid.flat[len(chosen) :]:
            axes.set_visible(False)
        for axes, conversation in zip(grid.flat, chosen, strict=False):
            _draw_turns(axes, first_budget[first_budget["conversation"] == conversation], conversation)
        handles, labels = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        figure.supylabel("tokens (exact)", fontsize=10)
        return save(figure, folder, "tokens_by_turn")


def _draw_turns(axes: "Axes", rows: "pd.DataFrame", conversation: str) -> None:
    rows = rows.sort_values("seen")
    axes.plot(rows["seen"], rows["tokens_full"], color=GREY, label="whole history")
    axes.plot(rows["seen"], rows["tokens_context"], color=COLOURS[0], label="context")
    axes.axhline(rows["budget_tokens"].iloc[0], color=COLOURS[1], linestyle="--", linewidth=1, label="budget")
    compressed = rows[rows["outcome"].isin(["compressed", "fallback"])]
    axes.plot(compressed["seen"], compressed["tokens_context"], "v", color=COLOURS[1], markersize=5, label="compressed")
    axes.set_title(conversation, fontsize=9)
    axes.set_xlabel("messages seen", fontsize=9)
    axes.set_ylim(bottom=0)


def kept_percent(row: RetentionSummary) -> float:
    """Tokens of the contexts, in % of the whole histories."""
    return 100 * row.tokens_context / max(1.0, row.tokens_full)


def _bars(means: Sequence[Mean]) -> np.ndarray:
    """Distances from the means to the ends of their intervals, as matplotlib wants them."""
    lows = [max(0.0, mean.mean - mean.low) for mean in means]
    highs = [max(0.0, mean.high - mean.mean) for mean in means]
    bars: np.ndarray = np.nan_to_num(np.array([lows, highs]))
    return bars
