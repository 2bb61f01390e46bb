"""The retention task: from parts and a run folder to rows, a summary, plots and a printed table."""

import sys
from typing import Any

from omegaconf import DictConfig

from ctxbench.context.window import check_count
from ctxbench.conversation.dataset import Dataset
from ctxbench.experiments.retention import Setup, run_conversation
from ctxbench.parts import Choices, build_tokenizer, manager_factory
from ctxbench.runs.folder import RunFolder
from ctxbench.runs.frames import load_frame
from ctxbench.runs.schema import SCHEMA_VERSION
from ctxbench.runs.units import Tables, Unit, run_units
from ctxbench.tasks.answering import answer_function

MOST_FAILURES = 3
"""Kinds of failures that are told after a run; all stand in the rows of `contexts`."""


def run(config: DictConfig, choices: Choices, dataset: Dataset, folder: RunFolder) -> None:
    """Replay every conversation under every budget; rows go to `contexts` and `samples`."""
    by_id = {conversation.id: conversation for conversation in dataset.conversations}
    budgets = {str(budget): budget for budget in _as_list(config.budget)}
    setup = Setup(
        make_manager=manager_factory(config),
        tokenizer=build_tokenizer(config.tokenizer),
        strategy=choices["strategy"],
        summarizer=choices["summarizer"],
        seed=config.seed,
        rounds=check_count("rounds", config.rounds),
        turn_s=check_count("turn_s", config.get("turn_s", 0.0)),
        answer=answer_function(config, dataset, folder),
    )

    def work(unit: Unit) -> Tables:
        contexts, samples = run_conversation(by_id[unit.conversation], budgets[unit.budget or ""], setup)
        return {"contexts": contexts, "samples": samples}

    units = [Unit(name, budget) for budget in budgets for name in by_id]
    run_units(folder, units, work, workers=config.workers, label="replaying")


GROUPS = ("totals", "by_language", "by_category", "by_round")


def summary_of(folder: RunFolder) -> dict[str, Any]:
    """All figures of a run, from its rows."""
    from ctxbench.stats.retention import half_lives, summarise
    from ctxbench.stats.validity import rules_broken, valid_shares

    samples, contexts = load_frame(folder, "samples"), load_frame(folder, "contexts")
    described = folder.description()
    seed, prices, rounds = described["seed"], described["config"]["prices"], described["config"]["rounds"]
    groups = {"totals": None, "by_language": "language"}
    if len(samples):
        groups |= {"by_category": "category", **({"by_round": "round"} if rounds else {})}
    last = samples[samples["round"] == 0] if rounds and len(samples) else samples
    lives = {"half_lives": half_lives(samples)} if "by_round" in groups else {}
    validity = {"validity": valid_shares(contexts, seed), "rules_broken": rules_broken(contexts)}
    return {"schema_version": SCHEMA_VERSION, **validity, **lives} | {
        name: summarise(samples if by == "round" else last, contexts, by, seed, prices) for name, by in groups.items()
    }


def written_summary(folder: RunFolder) -> dict[str, Any]:
    """`summary.json`, as `summary_of` gave it."""
    import msgspec

    from ctxbench.stats.intervals import Mean
    from ctxbench.stats.retention import RetentionSummary

    raw: dict[str, Any] = _with_nan(msgspec.json.decode((folder.path / "summary.json").read_bytes()))
    groups = {name: msgspec.convert(raw[name], list[RetentionSummary]) for name in raw if name in GROUPS}
    return raw | groups | {"validity": msgspec.convert(raw["validity"], dict[str, Mean | None])}


def _with_nan(value: Any) -> Any:
    """JSON has no NaN: an interval that is not known is null there."""
    if isinstance(value, list):
        return [_with_nan(item) for item in value]
    if not isinstance(value, dict):
        return value
    nan = float("nan")
    return {key: nan if item is None and key in ("low", "high") else _with_nan(item) for key, item in value.items()}


def report(folder: RunFolder, *, quiet: bool) -> None:
    """Write `summary.json`; unless quiet, draw the plots and print the tables."""
    summary = summary_of(folder)
    folder.write_json("summary.json", summary)
    samples, contexts = load_frame(folder, "samples"), load_frame(folder, "contexts")
    _warn_about_ceiling(samples)
    _tell_failures(folder.description()["choices"]["strategy"], contexts, quiet=quiet)
    if quiet:
        return
    from ctxbench.report import retention_tables as tables
    from ctxbench.report.tables import console

    if len(samples):
        _draw(folder, summary, samples, contexts)
    several = len({row.group for row in summary["by_language"]}) > 1
    group = "language" if several or "by_category" not in summary else "category"
    shown = [tables.retention_table(summary[f"by_{group}"], summary["totals"], _title(folder), group)]
    if "by_round" in summary:
        shown.append(tables.round_table(summary["by_round"], "after further rounds of other talk"))
    shown.append(tables.cost_table(summary["totals"], folder.description()["choices"]["prices"]))
    shown.append(tables.validity_table({"all budgets": summary}))
    for table in shown:
        console().print(table)


def _draw(folder: RunFolder, summary: dict[str, Any], samples: Any, contexts: Any) -> None:
    from ctxbench.report import retention_plots as plots

    title, described = _plot_title(folder), folder.description()
    series = {described["choices"]["strategy"]: summary["totals"]}
    plots.plot_retained_by_tokens(series, folder.path, title, summary["by_language"])
    plots.plot_retained_by_position(samples[samples["round"] == 0], folder.path, title, described["seed"])
    plots.plot_tokens_by_turn(contexts, folder.path, title)
    plots.plot_retained_by_category({title: summary["by_category"]}, folder.path, title)
    if "by_round" in summary:
        plots.plot_retained_by_round(samples, folder.path, title, described["seed"])


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


def _tell_failures(strategy: str, contexts: Any, *, quiet: bool) -> None:
    """The most frequent kinds of failed compressions; those that differ in figures and quotes only are one kind.

    In a sweep small budgets are meant to be too small: there, what cannot fit is left to the table.
    """
    if not len(contexts):
        return
    failed = contexts[contexts["failure"].notna() & ~(quiet & contexts["outcome"].eq("cannot_fit"))]
    kinds = failed["failure"].str.replace(r"'[^']*'|\d+", "", regex=True)
    groups = sorted(failed.groupby([failed["outcome"], kinds]), key=lambda group: -len(group[1]))
    for (outcome, _), rows in groups[:MOST_FAILURES]:
        count = f"{len(rows):,} of {len(contexts):,} contexts ({outcome})"
        print(f"{strategy} failed in {count}: {rows['failure'].iloc[0]}", file=sys.stderr)


def _title(folder: RunFolder) -> str:
    return " · ".join(f"{name} {value}" for name, value in settings_shown(folder.description()).items())


def _plot_title(folder: RunFolder) -> str:
    shown = settings_shown(folder.description())
    return (
        f"{shown['strategy']}, {shown.get('summarizer', 'no summarizer')} · {shown['estimator']} · {shown['dataset']}"
    )


def asks_model(part: Any) -> bool:
    """Whether a part's configuration has a model, itself or in one of its parts."""
    return isinstance(part, dict) and ("model" in part or any(map(asks_model, part.values())))


def settings_shown(described: dict[str, Any]) -> dict[str, str]:
    """What a reader must know of a run: strategy, summarizer, estimator, tokenizer, model, dataset."""
    choices, config = described["choices"], described["config"]
    strategy = choices["strategy"]
    if "recent_messages" in config["strategy"]:
        strategy += f" (N = {config['strategy']['recent_messages']})"
    shown = {"strategy": strategy}
    if "summarizer" in config["strategy"]:
        shown["summarizer"] = choices["summarizer"]
        if asks_model(config["summarizer"]):
            model = config["llm"].get("model") or config["llm"].get("inner", {}).get("model")
            shown["model"] = f"{model} ({choices['llm']})"
    return shown | {
        "estimator": "exact check" if config["strategy"].get("exact_check") else choices["estimator"],
        "tokenizer": choices["tokenizer"],
        "dataset": described["dataset"]["name"],
    }
