"""The estimation task: from tokenizers and estimators to rows, a summary, plots and printed tables."""

import sys
from collections.abc import Iterable
from typing import Any

from omegaconf import DictConfig

from ctxbench.conversation.dataset import Dataset
from ctxbench.conversation.model import message_texts
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.estimation import estimate_contexts, estimate_texts
from ctxbench.experiments.speed import Speed, measure
from ctxbench.files import write_atomic
from ctxbench.parts import Choices, build_option, option_names
from ctxbench.runs.folder import RunFolder
from ctxbench.runs.schema import SCHEMA_VERSION
from ctxbench.runs.units import Tables, Unit, run_units
from ctxbench.tokens.estimators.base import AdditiveEstimator

BATCH = 64
"""Conversations of one unit: short ones are many."""


def run(config: DictConfig, choices: Choices, dataset: Dataset, folder: RunFolder) -> None:
    """Count and estimate every message and context; rows go to `samples` and `contexts`."""
    estimators = _loaded("estimator", config.task.estimators, strict=config.task.strict)
    tokenizers = _loaded("tokenizer", config.task.tokenizers, strict=config.task.strict)
    texts = [text for one in dataset.conversations for message in one.messages for text in message_texts(message)]
    folder.write_json("speed.json", measure(texts, estimators, tokenizers))
    for estimator in estimators.values():
        estimator.prepare(texts)
    for tokenizer in tokenizers.values():
        tokenizer.count_batch(texts)
    observed = choices["tokenizer"] if choices["tokenizer"] in tokenizers else next(iter(tokenizers))
    batches = {
        f"{start}": dataset.conversations[start : start + BATCH]
        for start in range(0, len(dataset.conversations), BATCH)
    }

    def work(unit: Unit) -> Tables:
        chosen = batches[unit.conversation]
        contexts = (estimate_contexts(one, estimators, tokenizers, observed=observed) for one in chosen)
        samples = (estimate_texts(one, estimators, tokenizers) for one in chosen)
        return {
            "samples": [row for rows in samples for row in rows],
            "contexts": [row for rows in contexts for row in rows],
        }

    batch_of = {one.id: Unit(name) for name, chosen in batches.items() for one in chosen}
    units = [Unit(name) for name in batches]
    run_units(folder, units, work, unit_of=lambda row: batch_of[row["conversation"]], label="counting")


def _loaded(group: str, chosen: Iterable[str] | None, *, strict: bool) -> dict[str, Any]:
    """The options that can be loaded; the others are left out with a line, or with `strict` an error."""
    loaded = {}
    for name in option_names(group, chosen):
        try:
            option = build_option(group, name)
            if group == "estimator" and not isinstance(option, AdditiveEstimator):
                raise CtxbenchError("it is no AdditiveEstimator, which counts text by text")
            loaded[name] = option
        except CtxbenchError as error:
            if strict:
                raise
            print(f"left out: {group} {name}: {error}", file=sys.stderr)
    if not loaded:
        raise CtxbenchError(f"no {group} could be loaded: pip install 'ctxbench[tokenizers]'")
    return loaded


def summary_of(folder: RunFolder) -> dict[str, Any]:
    """All figures of a run, from its rows."""
    import msgspec

    from ctxbench.stats.claims import claims
    from ctxbench.stats.estimation import ErrorTable
    from ctxbench.stats.fertility import fertility
    from ctxbench.stats.trigger import summarise as trigger_errors

    described, rows, contexts = folder.description(), folder.rows("samples"), folder.rows("contexts")
    seed, windows = described["seed"], described["config"]["task"]["windows"]
    speeds = msgspec.convert(msgspec.json.decode((folder.path / "speed.json").read_bytes()), list[Speed])
    texts = ErrorTable(rows)
    by_language = texts.summarise("language", seed)
    return {
        "schema_version": SCHEMA_VERSION,
        "totals": texts.summarise(None, seed),
        "by_language": by_language,
        "by_script": texts.summarise("script", seed),
        "by_kind": texts.summarise("kind", seed),
        "by_length": texts.summarise("length", seed),
        "contexts": ErrorTable(contexts).summarise(None, seed),
        "contexts_by_language": ErrorTable(contexts).summarise("language", seed),
        "prompts": ErrorTable(contexts, "prompt").summarise(None, seed),
        "trigger": trigger_errors(contexts, windows, seed),
        "fertility": fertility(rows),
        "speed": speeds,
        "claims": claims(by_language, speeds),
    }


def report(folder: RunFolder, *, quiet: bool) -> None:
    """Write `summary.json` and `claims.md`; unless quiet, draw the plots and print the tables."""
    from ctxbench.stats.claims import markdown

    summary = summary_of(folder)
    folder.write_json("summary.json", summary)
    dataset = folder.description()["dataset"]["name"]
    with write_atomic(folder.path / "claims.md") as stream:
        stream.write(markdown(summary["claims"], dataset).encode())
    if quiet:
        return
    from ctxbench.report import estimation_plots as plots
    from ctxbench.report.estimation_tables import tables
    from ctxbench.report.tables import console

    known = list(dict.fromkeys(row.tokenizer for row in summary["totals"]))
    chosen = folder.description()["choices"]["tokenizer"]
    tokenizer = chosen if chosen in known else known[0]
    plots.draw_all(summary, folder.path, tokenizer, dataset)
    for table in tables(summary, tokenizer, dataset):
        console().print(table)
