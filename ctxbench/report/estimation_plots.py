"""Plots of estimation runs: bias, tokens a character, error by length, trigger error, error against time."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxbench.experiments.speed import Speed
from ctxbench.report.style import COLOURS, GREY, MARKERS, plot_style, save
from ctxbench.stats.estimation import EstimationSummary
from ctxbench.stats.fertility import Fertility
from ctxbench.stats.trigger import TriggerSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST = 1.0
"""Bias at which the colours end; larger ones are written in the cell all the same."""
MOST_LINES = 8


def draw_all(summary: dict[str, Any], folder: Path, tokenizer: str, dataset: str) -> list[Path]:
    """Every plot of a run; a heatmap for each tokenizer."""
    paths = []
    for name in dict.fromkeys(row.tokenizer for row in summary["totals"]):
        rows = [row for row in summary["by_language"] if row.tokenizer == name]
        paths += plot_bias_heatmap(rows, folder, f"bias of estimators against {name} · {dataset}", f"bias_{name}")
    title = f"against {tokenizer} · {dataset}"
    paths += plot_fertility(summary["fertility"], folder, f"tokens a character · {dataset}")
    by_length = [row for row in summary["by_length"] if row.tokenizer == tokenizer]
    paths += plot_error_by_length(by_length, folder, f"error by length of the text · {title}")
    totals = [row for row in summary["totals"] if row.tokenizer == tokenizer]
    paths += plot_error_by_time(totals, summary["speed"], folder, f"error and time of one message · {title}")
    triggers = [row for row in summary["trigger"] if row.tokenizer == tokenizer and row.conversations]
    return paths + (plot_trigger(triggers, folder, f"trigger error · {title}") if triggers else [])


def plot_bias_heatmap(
    rows: Sequence[EstimationSummary], folder: Path, title: str, name: str = "bias_heatmap"
) -> list[Path]:
    """Signed bias of each estimator in each group; orange is too high, violet too low."""
    from matplotlib import pyplot

    estimators = list(dict.fromkeys(row.estimator for row in rows))
    groups = list(dict.fromkeys(row.group for row in rows))
    texts = {row.group: row.texts for row in rows}
    bias = {(row.estimator, row.group): row.bias.mean for row in rows if row.bias is not None}
    cells = np.array([[bias.get((estimator, group), np.nan) for group in groups] for estimator in estimators])
    with plot_style():
        size = (max(6.0, 0.56 * len(groups) + 3.0), 0.33 * len(estimators) + 1.7)
        figure, axes = pyplot.subplots(figsize=size)
        image = axes.imshow(cells, cmap="PuOr_r", vmin=-LARGEST, vmax=LARGEST, aspect="auto")
        axes.grid(visible=False)
        axes.set_yticks(range(len(estimators)), estimators)
        for (y, x), value in np.ndenumerate(cells):
            if not np.isnan(value):
                colour = "white" if abs(value) > 0.65 * LARGEST else "black"
                cell = axes.text(x, y, f"{100 * value:+.0f}", ha="center", va="center", fontsize=8, color=colour)
                cell.set_in_layout(False)  # it stands within the axes, and measuring hundreds takes seconds
        axes.set_xticks(range(len(groups)), [f"{group}\nn={texts[group]}" for group in groups], fontsize=8)
        axes.set_xlabel("language (n = messages)")
        bar = figure.colorbar(image, extend="max", pad=0.01)
        bar.set_label("sum(estimate) / sum(tokens) − 1")
        bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:+.0f} %")
        axes.set_title(title)
        return save(figure, folder, name)


def plot_fertility(rows: Sequence[Fertility], folder: Path, title: str) -> list[Path]:
    """Tokens a character of each language under each tokenizer, and the premium against English."""
    from matplotlib import pyplot

    languages = list(dict.fromkeys(row.language for row in rows))
    tokenizers = list(dict.fromkeys(row.tokenizer for row in rows))
    panels: list[tuple[str, str]] = [("tokens_per_character", "tokens a character")]
    if any(row.premium is not None for row in rows):
        panels.append(("premium", "tokens for the same content (English = 1)"))
    with plot_style():
        size = (max(7.0, 0.42 * len(languages) + 2), 3.0 * len(panels) + 0.8)
        figure, grid = pyplot.subplots(len(panels), 1, figsize=size, squeeze=False, sharex=True)
        for axes, (field, label) in zip(grid.flat, panels, strict=True):
            for index, tokenizer in enumerate(tokenizers):
                values = {row.language: getattr(row, field) for row in rows if row.tokenizer == tokenizer}
                places = np.arange(len(languages)) + 0.11 * (index - len(tokenizers) / 2)
                heights = [values[language] for language in languages]
                style = {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
                axes.plot(places, [np.nan if h is None else h for h in heights], linestyle="", label=tokenizer, **style)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        if len(panels) > 1:
            grid.flat[1].axhline(1, color=GREY, linewidth=0.8)
        grid.flat[-1].set_xticks(range(len(languages)), languages, rotation=60 if len(languages) > 12 else 0)
        grid.flat[0].set_title(title)
        figure.legend(
            *grid.flat[0].get_legend_handles_labels(), ncols=min(6, len(tokenizers)), loc="outside lower center"
        )
        return save(figure, folder, "tokens_per_character")


def plot_error_by_length(rows: Sequence[EstimationSummary], folder: Path, title: str) -> list[Path]:
    """Mean absolute error of each estimator by length of the text, with intervals; the best ones are named."""
    from matplotlib import pyplot

    groups = list(dict.fromkeys(row.group for row in rows))
    texts = {row.group: row.texts for row in rows}
    estimators = _best_first(rows)[:MOST_LINES]
    with plot_style():
        figure, axes = pyplot.subplots(figsize=(8, 4.6))
        for index, estimator in enumerate(estimators):
            means = {row.group: row.mae for row in rows if row.estimator == estimator}
            known = [(place, mean) for place, group in enumerate(groups) if (mean := means.get(group)) is not None]
            heights = [100 * mean.mean for _, mean in known]
            low = [max(0.0, 100 * (mean.mean - mean.low)) for _, mean in known]
            high = [max(0.0, 100 * (mean.high - mean.mean)) for _, mean in known]
            axes.errorbar(
                [place + 0.04 * index for place, _ in known],
                heights,
                yerr=np.nan_to_num(np.array([low, high])),
                fmt=f"-{MARKERS[index % len(MARKERS)]}",
                color=COLOURS[index % len(COLOURS)],
                capsize=2,
                label=estimator,
            )
        axes.set_xticks(range(len(groups)), [f"{group}\nn = {texts[group]:,}" for group in groups])
        axes.set(
            ylabel="mean absolute error (%, 95 % CI)", xlabel="characters of the message (n = messages)", title=title
        )
        axes.set_ylim(bottom=0)
        axes.legend(ncols=2)
        return save(figure, folder, "error_by_length")


def plot_error_by_time(
    rows: Sequence[EstimationSummary], speeds: Sequence[Speed], folder: Path, title: str
) -> list[Path]:
    """Error against the time of one message; exact counters stand at 0 %. The frontier is drawn."""
    from matplotlib import pyplot

    errors = {row.estimator: 100 * row.mae.mean for row in rows if row.mae is not None}
    points = [(s.us_per_text, errors[s.name], s.name, s.kind) for s in speeds if s.name in errors]
    exact = {row.tokenizer for row in rows}
    points += [(s.us_per_text, 0.0, s.name, s.kind) for s in speeds if s.name.partition(",")[0] in exact]
    with plot_style():
        figure, axes = pyplot.subplots(figsize=(8, 4.8))
        for kind, marker, colour in (
            ("estimator", "o", COLOURS[0]),
            ("tokenizer", "s", COLOURS[1]),
            ("cached", "D", COLOURS[2]),
        ):
            chosen = [point for point in points if point[3] == kind]
            axes.plot([p[0] for p in chosen], [p[1] for p in chosen], marker, color=colour, label=_KINDS[kind])
            for time, error, name, _ in chosen:
                axes.annotate(name, (time, error), xytext=(5, 4), textcoords="offset points", fontsize=8)
        frontier = _frontier([(time, error) for time, error, _, _ in points])
        axes.step(*zip(*frontier, strict=True), where="post", color=GREY, linewidth=1, label="frontier")
        axes.set(xscale="log", xlabel="time of one message (µs)", ylabel="mean absolute error (%)", title=title)
        axes.set_ylim(bottom=-3)
        axes.margins(x=0.12)
        axes.legend()
        return save(figure, folder, "error_by_time")


_KINDS = {
    "estimator": "estimator",
    "tokenizer": "exact, counted each time",
    "cached": "exact, counted once and looked up",
}


def plot_trigger(rows: Sequence[TriggerSummary], folder: Path, title: str) -> list[Path]:
    """Shares of conversations in which compression starts too late or too early, a panel a window."""
    from matplotlib import pyplot

    windows = list(dict.fromkeys(row.window for row in rows))
    with plot_style():
        height = 0.27 * len({row.estimator for row in rows}) + 1.6
        figure, grid = pyplot.subplots(
            1, len(windows), figsize=(3.4 * len(windows) + 2, height), squeeze=False, sharey=True
        )
        for axes, window in zip(grid.flat, windows, strict=True):
            chosen = [row for row in rows if row.window == window]
            _draw_trigger(axes, chosen, window)
        grid.flat[0].invert_yaxis()  # the panels share it
        grid.flat[0].set_title(title)
        figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return save(figure, folder, "trigger_error")


def _draw_trigger(axes: "Axes", rows: Sequence[TriggerSummary], window: str) -> None:
    places = np.arange(len(rows))
    late = [-100 * row.late.mean if row.late else 0.0 for row in rows]
    early = [100 * row.early.mean if row.early else 0.0 for row in rows]
    axes.barh(places, late, color=COLOURS[1], label="too late: the request is larger than the window")
    axes.barh(places, early, color=COLOURS[5], label="too early: context is thrown away")
    axes.set_yticks(places, [row.estimator for row in rows], fontsize=8)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlim(-105, 130)
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    for place, row in zip(places, rows, strict=True):
        axes.annotate(f"n={row.conversations}", (127, place), ha="right", va="center", fontsize=7, color=GREY)
    named = f"window {window} of the tokens" if "." in window else f"window {window} tokens"
    axes.set_xlabel(f"% of the n conversations that reach it\n{named}", fontsize=9)


def _best_first(rows: Sequence[EstimationSummary]) -> list[str]:
    totals: dict[str, float] = {}
    for row in rows:
        totals[row.estimator] = totals.get(row.estimator, 0.0) + (row.mae.mean if row.mae else 0.0)
    return sorted(totals, key=lambda name: totals[name])


def _frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points than which none is both faster and more exact, by time."""
    best: list[tuple[float, float]] = []
    for time, error in sorted(points):
        if not best or error < best[-1][1]:
            best.append((time, error))
    return best
