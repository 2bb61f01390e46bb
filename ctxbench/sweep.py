"""What a sweep (`-m`) shows in the end: one table and one plot over all its jobs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from ctxbench.runs.folder import RunFolder
from ctxbench.runs.frames import load_frame
from ctxbench.stats.compare import MARGIN, Paired, holm, paired
from ctxbench.stats.retention import RetentionSummary

MOST_PANELS = 6
"""Jobs that one plot can show side by side."""

JOB_ERROR = "error.txt"
"""In the folder of a job that failed: why. Jobs may run in other processes, so that only files tell of them."""

failed_jobs: list[Path] = []
"""The `error.txt` of each job that failed in the sweep of this process."""


class ComparisonCallback(Callback):
    """Hydra calls this when all jobs have ended, whichever launcher ran them."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Compare the runs that the sweep left."""
        folder = Path(config.hydra.sweep.dir)
        failed_jobs.extend(sorted(folder.glob(f"*/{JOB_ERROR}")))
        compare_sweep(folder)


def compare_sweep(folder: Path) -> None:
    """Print the comparison of the finished runs below a sweep's folder and draw its plots."""
    runs = [RunFolder(path.parent) for path in sorted(folder.glob("*/summary.json"), key=_job_number)]
    tasks = {run.description()["task"] for run in runs}
    if tasks != {"retention"}:
        if runs:
            print(f"sweep: {folder}")
        return
    from ctxbench.report.retention_tables import comparison_table, difference_table, round_table, validity_table
    from ctxbench.report.tables import console
    from ctxbench.tasks.retention import written_summary

    jobs = _varied(runs)
    names = [
        ", ".join(
            f"{name.removeprefix('strategy.')}={value}" if name != "strategy" else value for name, value in job.items()
        )
        for job in jobs
    ]
    summaries = [written_summary(run) for run in runs]
    rows: list[RetentionSummary] = [row for summary in summaries for row in summary["totals"]]
    dataset = runs[0].description()["dataset"]["name"]
    if any(row.probes for row in rows):
        _draw(runs, names, summaries, folder, dataset)
    console().print(comparison_table(jobs, rows, f"sweep of {len(runs)} jobs · dataset {dataset}"))
    console().print(validity_table(dict(zip(names, summaries, strict=True))))
    differences = _differences(runs, names)
    if differences:
        console().print(difference_table(names, differences, MARGIN))
    for name, summary in zip(names, summaries, strict=True):
        if "by_round" in summary:
            console().print(round_table(summary["by_round"], f"{name}, after further rounds of other talk"))
    print(f"sweep: {folder}", flush=True)


def _differences(runs: list[RunFolder], names: list[str]) -> list[tuple[str, Paired]]:
    """Retained of each job against the first, over all budgets that both have, p adjusted over the jobs."""
    rows = [run.rows("samples") for run in runs]
    found = []
    for name, other in zip(names[1:], rows[1:], strict=True):
        metrics = paired(rows[0], other, MARGIN, runs[0].description()["seed"])
        found += [(name, one) for one in metrics if one.metric == "retained"]
    for (_, one), adjusted in zip(found, holm([one.p for _, one in found]), strict=True):
        one.p_adjusted = adjusted
    return found


def _draw(runs: list[RunFolder], names: list[str], summaries: list[dict[str, Any]], folder: Path, dataset: str) -> None:
    import pandas as pd

    from ctxbench.report import comparison_plots as plots
    from ctxbench.report.retention_plots import plot_retained_by_category

    def series(group: str) -> dict[str, list[Any]]:
        joined: dict[str, list[Any]] = {}
        for name, summary in zip(names, summaries, strict=True):
            joined.setdefault(name, []).extend(summary.get(group, []))
        return joined

    frames: dict[str, pd.DataFrame] = {}
    for name, run in zip(names, runs, strict=True):
        frame = load_frame(run)
        frames[name] = pd.concat([frames[name], frame]) if name in frames else frame
    plots.plot_frontier(series("totals"), folder, f"retained against tokens kept · {dataset}")
    plots.plot_cost(series("totals"), folder, f"retained against cost · {dataset}")
    shown = _leading(series("totals"))
    depths = {name: frames[name] for name in shown}
    plots.plot_depths(depths, folder, f"retained by depth and budget · {dataset}")
    for group in ("category", "language", "round"):
        if not any(summary.get(f"by_{group}") for summary in summaries):
            continue
        chosen = {name: rows for name, rows in series(f"by_{group}").items() if name in shown}
        plot_retained_by_category(chosen, folder, f"retained by {group} · {dataset}", f"by_{group}")


def _leading(series: Mapping[str, Sequence[RetentionSummary]]) -> list[str]:
    """The jobs that are drawn side by side: all, or those that retain most without keeping everything."""
    if len(series) <= MOST_PANELS:
        return list(series)

    def retained(rows: Sequence[RetentionSummary]) -> float:
        whole = all(row.tokens_context >= row.tokens_full for row in rows)
        return -1.0 if whole else sum(row.retained.mean for row in rows if row.retained)

    best = sorted(series, key=lambda name: -retained(series[name]))[:MOST_PANELS]
    return [name for name in series if name in best]


def _job_number(summary: Path) -> tuple[int, str]:
    name = summary.parent.name
    return (int(name) if name.isdigit() else 0, name)


def _varied(runs: list[RunFolder]) -> list[dict[str, str]]:
    """For each job its settings that are not the same in all jobs; the budget stands in its rows."""
    jobs = []
    for run in runs:
        described = run.description()
        overrides = dict(entry.partition("=")[::2] for entry in described["overrides"])
        jobs.append({**overrides, "strategy": described["choices"]["strategy"]})
    names = dict.fromkeys(["strategy", *(name for job in jobs for name in job)])
    varied = [name for name in names if name != "budget" and len({job.get(name) for job in jobs}) > 1]
    return [{name: job.get(name, "–") for name in varied or ["strategy"]} for job in jobs]
