"""The plot of the history: mean absolute error of each estimator over commits, change points marked."""

from collections.abc import Sequence
from pathlib import Path

from ctxbench.report.style import GREY, look, plot_style, save
from ctxbench.stats.history import Record, change_points

TOKENIZER = "o200k_base"


def plot_history(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw all texts together, against one tokenizer; a change of the data is a dotted line."""
    from matplotlib import pyplot

    chosen = [one for one in records if one.language == "all" and one.tokenizer == TOKENIZER and one.mae is not None]
    moments = list(dict.fromkeys((one.date, one.commit, one.dataset) for one in chosen))
    with plot_style():
        figure, axes = pyplot.subplots(figsize=(9, 5))
        for index, estimator in enumerate(dict.fromkeys(one.estimator for one in chosen)):
            series = [
                (moments.index((r.date, r.commit, r.dataset)), 100 * (r.mae or 0))
                for r in chosen
                if r.estimator == estimator
            ]
            places, values = [place for place, _ in series], [value for _, value in series]
            colour, marker, line = look(index)
            axes.plot(
                places, values, color=colour, marker=marker, linestyle=line, linewidth=1, markersize=4, label=estimator
            )
            for point in change_points(values):
                axes.plot(places[point], values[point], "o", markersize=13, fillstyle="none", color=colour)
        for place in range(1, len(moments)):
            if moments[place][2] != moments[place - 1][2]:
                axes.axvline(place - 0.5, color=GREY, linestyle=":")
        labels = [f"{date}\n{(commit or 'no commit')[:7]}" for date, commit, _ in moments]
        axes.set_xticks(range(len(moments)), labels, fontsize=8)
        axes.set(ylabel="mean absolute error (%)", ylim=(0, None), xlabel="date and commit (dotted: the data changed)")
        axes.set_title(f"error of estimators over time, against {TOKENIZER} (ringed: change point)")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return save(figure, folder, "estimation")
