"""The plot of estimation runs: a heatmap of bias, estimator by language, a panel a tokenizer."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ctxbench.report.style import plot_style, save
from ctxbench.stats.estimation import EstimationSummary

LARGEST = 1.0
"""Bias at which the colours end; larger ones are written in the cell all the same."""


def plot_bias_heatmap(rows: Sequence[EstimationSummary], folder: Path, title: str) -> list[Path]:
    """Signed bias of each estimator in each language; orange is too high, violet too low."""
    from matplotlib import pyplot

    tokenizers = list(dict.fromkeys(row.tokenizer for row in rows))
    estimators = list(dict.fromkeys(row.estimator for row in rows))
    groups = list(dict.fromkeys(row.group for row in rows))
    texts = {row.group: row.texts for row in rows}
    bias = {(row.tokenizer, row.estimator, row.group): row.bias.mean for row in rows if row.bias is not None}
    with plot_style():
        size = (max(6.0, 0.62 * len(groups) + 2.6), (0.34 * len(estimators) + 0.45) * len(tokenizers) + 1.6)
        figure, grid = pyplot.subplots(len(tokenizers), 1, figsize=size, squeeze=False, sharex=True)
        for axes, tokenizer in zip(grid.flat, tokenizers, strict=True):
            cells = np.array([[bias.get((tokenizer, name, group), np.nan) for group in groups] for name in estimators])
            image = axes.imshow(cells, cmap="PuOr_r", vmin=-LARGEST, vmax=LARGEST, aspect="auto")
            axes.grid(visible=False)
            axes.set_yticks(range(len(estimators)), estimators)
            axes.set_title(tokenizer, fontsize=10)
            for (y, x), value in np.ndenumerate(cells):
                if not np.isnan(value):
                    colour = "white" if abs(value) > 0.65 * LARGEST else "black"
                    axes.text(x, y, f"{100 * value:+.0f}", ha="center", va="center", fontsize=8, color=colour)
        grid.flat[-1].set_xticks(range(len(groups)), [f"{group}\nn={texts[group]}" for group in groups], fontsize=8)
        grid.flat[-1].set_xlabel("language (n = messages)")
        bar = figure.colorbar(image, ax=grid.ravel().tolist(), shrink=0.6, extend="max")
        bar.set_label("bias: sum(estimate) / sum(tokens) − 1")
        bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:+.0f} %")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        return save(figure, folder, "bias_heatmap")
