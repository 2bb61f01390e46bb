"""The two tasks: from parts and a run folder to rows, a summary, plots and a printed table."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from omegaconf import DictConfig

from ctxbench.conversation.dataset import Dataset
from ctxbench.errors import CtxbenchError, unknown_name
from ctxbench.experiments.estimation import estimate_conversation
from ctxbench.experiments.retention import run_conversation
from ctxbench.parts import build_option, build_tokenizer, manager_factory
from ctxbench.resources import group_options
from ctxbench.runs.folder import RunFolder
from ctxbench.runs.frames import load_frame
from ctxbench.runs.schema import SCHEMA_VERSION
from ctxbench.runs.units import Tables, Unit, run_units

Choices = Mapping[str, str]
"""Group -> the name of the chosen option."""


def retention(config: DictConfig, choices: Choices, dataset: Dataset, folder: RunFolder) -> None:
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


def report_retention(folder: RunFolder, *, quiet: bool) -> None:
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


def estimation(config: DictConfig, choices: Choices, dataset: Dataset, folder: RunFolder) -> None:
    """Count and estimate every message; rows go to `samples`."""
    estimators = {name: build_option("estimator", name) for name in _names("estimator", config.task.estimators)}
    tokenizers = {}
    for name in _names("tokenizer", config.task.tokenizers):
        try:
            tokenizers[name] = build_option("tokenizer", name)
        except CtxbenchError as error:
            if config.task.strict:
                raise
            print(f"left out: tokenizer {name}: {error}", file=sys.stderr)
    if not tokenizers:
        raise CtxbenchError("no tokenizer could be loaded: pip install 'ctxbench[tokenizers]'")
    by_id = {conversation.id: conversation for conversation in dataset.conversations}

    def work(unit: Unit) -> Tables:
        return {"samples": list(estimate_conversation(by_id[unit.conversation], estimators, tokenizers))}

    run_units(folder, [Unit(name) for name in by_id], work, label="counting")


def report_estimation(folder: RunFolder, *, quiet: bool) -> None:
    """Write `summary.json`; unless quiet, draw the heatmap and print the table."""
    from ctxbench.stats.estimation import errors, summarise

    frame = errors(load_frame(folder))
    seed = folder.description()["seed"]
    totals, by_language = summarise(frame, None, seed), summarise(frame, "language", seed)
    folder.write_json("summary.json", {"schema_version": SCHEMA_VERSION, "totals": totals, "by_language": by_language})
    if quiet:
        return
    from ctxbench.report.estimation_plots import plot_bias_heatmap
    from ctxbench.report.tables import console, estimation_table

    plot_bias_heatmap(
        by_language, folder.path, f"bias of estimators · dataset {folder.description()['dataset']['name']}"
    )
    known = list(dict.fromkeys(row.tokenizer for row in totals))
    chosen = folder.description()["choices"]["tokenizer"]
    shown = chosen if chosen in known else known[0]
    console().print(estimation_table(by_language, totals, shown, _title(folder)))


TASKS = {"retention": (retention, report_retention), "estimation": (estimation, report_estimation)}


def _names(group: str, chosen: Iterable[str] | None) -> list[str]:
    """The options to compare: those chosen, or all that need no setting of the user's."""
    known = [name for name, file in group_options(group).items() if "???" not in file.read_text("utf-8")]
    for name in chosen or ():
        if name not in known:
            raise unknown_name(group, name, known)
    return list(chosen) if chosen else known


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
    described = folder.description()
    if described["task"] == "estimation":
        return f"estimation · dataset {described['dataset']['name']}"
    return " · ".join(f"{name} {value}" for name, value in settings_shown(described).items())


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
