"""What a sweep (`-m`) shows in the end: one table and one plot over all its jobs."""

from pathlib import Path
from typing import Any

from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from ctxbench.runs.folder import RunFolder
from ctxbench.runs.frames import load_frame


class ComparisonCallback(Callback):
    """Hydra calls this when all jobs have ended, whichever launcher ran them."""

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Compare the runs that the sweep left."""
        compare_sweep(Path(config.hydra.sweep.dir))


def compare_sweep(folder: Path) -> None:
    """Print the comparison of the finished runs below a sweep's folder and draw its plot."""
    runs = [RunFolder(path.parent) for path in sorted(folder.glob("*/summary.json"), key=_job_number)]
    tasks = {run.description()["task"] for run in runs}
    if tasks != {"retention"}:
        if runs:
            print(f"sweep: {folder}")
        return
    from ctxbench.report.retention_plots import plot_retained_by_tokens
    from ctxbench.report.tables import comparison_table, console
    from ctxbench.stats.retention import RetentionSummary, summarise

    jobs = _varied(runs)
    rows: list[RetentionSummary] = []
    series: dict[str, list[RetentionSummary]] = {}
    for run, job in zip(runs, jobs, strict=True):
        line = ", ".join(f"{name}={value}" if name != "strategy" else value for name, value in job.items())
        samples, contexts = load_frame(run), load_frame(run, "contexts")
        totals = summarise(samples, contexts, None, run.description()["seed"])
        series.setdefault(line, []).extend(totals)
        rows += totals
    dataset = runs[0].description()["dataset"]["name"]
    console().print(comparison_table(jobs, rows, f"sweep of {len(runs)} jobs · dataset {dataset}"))
    if any(row.probes for row in rows):
        plot_retained_by_tokens(series, folder, f"retained against tokens kept · dataset {dataset}", name="comparison")
    print(f"sweep: {folder}", flush=True)


def _job_number(summary: Path) -> tuple[int, str]:
    name = summary.parent.name
    return (int(name) if name.isdigit() else 0, name)


def _varied(runs: list[RunFolder]) -> list[dict[str, str]]:
    """For each job its settings that are not the same in all jobs; the budget stands in its rows."""
    jobs = []
    for run in runs:
        described = run.description()
        overrides = dict(entry.partition("=")[::2] for entry in described["overrides"])
        jobs.append({"strategy": described["choices"]["strategy"], **overrides})
    names = dict.fromkeys(name for job in jobs for name in job)
    varied = [name for name in names if name != "budget" and len({job.get(name) for job in jobs}) > 1]
    return [{name: job.get(name, "–") for name in varied or ["strategy"]} for job in jobs]
