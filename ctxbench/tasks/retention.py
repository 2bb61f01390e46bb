"""The retention task: from parts and a run folder to rows, a summary, plots and a printed table."""

import sys
from typing import Any

from omegaconf import DictConfig

from ctxbench.conversation.dataset import Dataset
from ctxbench.experiments.retention import run_conversation
from ctxbench.parts import Choices, build_tokenizer, manager_factory
from ctxbench.runs.folder import RunFolder
from ctxbench.runs.frames import load_frame
from ctxbench.runs.schema import SCHEMA_VERSION
from ctxbench.runs.units import Tables, Unit, run_units


def run(config: DictConfig, choices: Choices, dataset: Dataset, folder: RunFolder) -> None:
    """Replay every conversation under every budget; rows go to `contexts` and `samples`."""
    tokenizer = build_tokenizer(config.tokenizer)
    make_manager = manager_factory(config)
    by_id = {conversation.id: conversation for conversation in dataset.conversations}
    budgets = {str(budget): budget for budget in _as_list(config.budget)}

    def work(unit: Unit) -> Tables:
        contexts, samples = run_conversation(
            by_id[unit.conversation],
            budgets[unit.budget or ""],
            make_manager=make_manager,
            tokenizer=tokenizer,
            strategy=choices["strategy"],
            summarizer=choices["summarizer"],
        )
        return {"contexts": contexts, "samples": samples}

    units = [Unit(name, budget) for budget in budgets for name in by_id]
    run_units(folder, units, work, workers=config.workers, label="replaying")


def report(folder: RunFolder, *, quiet: bool) -> None:
    """Write `summary.json`; unless quiet, draw the plots and print the table."""
    from ctxbench.stats.retention import summarise

    samples, contexts = load_frame(folder, "samples"), load_frame(folder, "contexts")
    seed = folder.description()["seed"]
    totals, by_language = summarise(samples, contexts, None, seed), summarise(samples, contexts, "language", seed)
    by_category = summarise(samples, contexts, "category", seed) if len(samples) else []
    summary = {
        "schema_version": SCHEMA_VERSION,
        "totals": totals,
        "by_language": by_language,
        "by_category": by_category,
    }
    folder.write_json("summary.json", summary)
    _warn_about_ceiling(samples)
    if quiet:
        return
    if len(samples):
        from ctxbench.report import retention_plots as plots

        title = _plot_title(folder)
        plots.plot_retained_by_tokens(
            {folder.description()["choices"]["strategy"]: totals}, folder.path, title, by_language
        )
        plots.plot_retained_by_position(samples, folder.path, title, seed)
        plots.plot_tokens_by_turn(contexts, folder.path, title)
    from ctxbench.report.tables import console, retention_table

    console().print(retention_table(by_language, totals, _title(folder)))


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, int | float | str) else list(value)


def _warn_about_ceiling(samples: Any) -> None:
    if not len(samples):
        print("no probes in this dataset: nothing to score, only tokens are reported", file=sys.stderr)
        return
    broken = samples[samples["retained_full"].eq(False)]
    if len(broken):
        names = ", ".join(f"{row.conversation}/{row.probe}" for row in broken.head(3).itertuples())
        print(f"BROKEN DATA: {len(broken)} probes are not answered by the whole conversation: {names}", file=sys.stderr)


def _title(folder: RunFolder) -> str:
    return " · ".join(f"{name} {value}" for name, value in settings_shown(folder.description()).items())


def _plot_title(folder: RunFolder) -> str:
    shown = settings_shown(folder.description())
    return (
        f"{shown['strategy']}, {shown.get('summarizer', 'no summarizer')} · {shown['estimator']} · {shown['dataset']}"
    )


def settings_shown(described: dict[str, Any]) -> dict[str, str]:
    """What a reader must know of a run: strategy, summarizer, estimator, tokenizer, model, dataset."""
    choices, config = described["choices"], described["config"]
    strategy = choices["strategy"]
    if "recent_messages" in config["strategy"]:
        strategy += f" (N = {config['strategy']['recent_messages']})"
    shown = {"strategy": strategy}
    if "summarizer" in config["strategy"]:
        shown["summarizer"] = choices["summarizer"]
        if "model" in config["summarizer"]:
            model = config["llm"].get("model") or config["llm"].get("inner", {}).get("model")
            shown["model"] = f"{model} ({choices['llm']})"
    return shown | {
        "estimator": choices["estimator"],
        "tokenizer": choices["tokenizer"],
        "dataset": described["dataset"]["name"],
    }
