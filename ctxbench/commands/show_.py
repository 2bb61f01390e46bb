"""`python -m ctxbench show RUN`: what a retention run kept, dropped and added, message by message.

A run keeps figures, not contexts: one conversation is replayed as the run did it. Printing is
`report.case`'s matter.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxbench.errors import CtxbenchError, unknown_name

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from ctxbench.conversation.model import Conversation
    from ctxbench.experiments.replay import Step
    from ctxbench.report.case import Case
    from ctxbench.runs.folder import Row, RunFolder

HELP = "show what became of a conversation of a run, and why an answer was lost"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a retention run")
    parser.add_argument("--conversation", metavar="ID", help="the one to show; without it they are listed, worst first")
    parser.add_argument("--probe", metavar="ID", help="show this probe only, where it is asked")
    parser.add_argument("--budget", metavar="B", help="one of the run's budgets; by default its first")
    parser.add_argument("--lost", action="store_true", help="only probes whose answer was lost")


def run(arguments: argparse.Namespace) -> int:
    """Replay and print the conversation, or list the conversations or lost probes of the run."""
    from ctxbench.report.case import print_case, print_conversations, print_lost
    from ctxbench.runs.folder import RunFolder

    folder = RunFolder.open(arguments.run)
    described = folder.description()
    if described["task"] != "retention":
        raise CtxbenchError(f"{folder.path} is a run of task={described['task']}; only task=retention has contexts")
    budgets = _budgets(described)
    budget = next(iter(budgets)) if arguments.budget is None else arguments.budget
    if budget not in budgets:
        raise unknown_name("budget", budget, list(budgets))
    if described["config"].get("rounds"):
        print("note: shown is the end of the recorded conversation, before the rounds of other talk", file=sys.stderr)
    if arguments.conversation is not None:
        print_case(_case(folder, arguments, budget, budgets[budget]))
        return 0
    if arguments.probe is not None:
        raise CtxbenchError("--probe needs --conversation, too: each conversation has probes of its own")
    (print_lost if arguments.lost else print_conversations)(_samples(folder, budget), budget)
    return 0


def _samples(folder: "RunFolder", budget: str) -> "list[Row]":
    """The rows of a budget, the first of each probe: later ones are of rounds of other talk."""
    first: dict[tuple[str, str], Row] = {}
    for row in folder.rows("samples"):
        if row["budget"] == budget:
            first.setdefault((row["conversation"], row["probe"]), row)
    return list(first.values())


def _budgets(described: dict[str, Any]) -> dict[str, Any]:
    """The run's budgets by the names that stand in its rows."""
    value = described["config"]["budget"]
    return {str(budget): budget for budget in (value if isinstance(value, list) else [value])}


def _case(folder: "RunFolder", arguments: argparse.Namespace, budget: str, value: Any) -> "Case":
    """The context to show, made again."""
    from ctxbench.experiments.retention import budget_tokens
    from ctxbench.parts import build_tokenizer, manager_factory
    from ctxbench.report.case import Case
    from ctxbench.scoring.retained import haystack, retained
    from ctxbench.tokens.tokenizers import count_messages

    described = folder.description()
    config = _config(described)
    conversation = _conversation(folder, config, arguments.conversation)
    seen = _seen(conversation, arguments.probe)
    tokenizer = build_tokenizer(config.tokenizer)
    limit = budget_tokens(value, conversation, tokenizer)
    if _asks_model(described):
        print("note: the model's answers were not recorded; it writes the summary again", file=sys.stderr)
    step = _step(conversation, manager_factory(config)(conversation, limit), seen)
    probes = [probe for probe in step.probes if arguments.probe in (None, probe.id)]
    if arguments.lost:
        here = haystack(step.context.messages)
        probes = [probe for probe in probes if retained(probe, here) is False]
    full, context = (count_messages(tokenizer, messages) for messages in (step.history, step.context.messages))
    case = Case(conversation, budget, limit, full, context, step, probes)
    _tell_difference(folder, case)
    return case


def _config(described: dict[str, Any]) -> "DictConfig":
    """The run's configuration, as resuming it takes it, but with sessions in memory.

    Where sessions are kept changes no context; the run's own place may be a server, or a
    path that only Hydra can tell.
    """
    from omegaconf import DictConfig, OmegaConf

    from ctxbench.resources import group_options

    config = OmegaConf.create(described["config_source"])
    assert isinstance(config, DictConfig)
    config.storage = OmegaConf.load(group_options("storage")["memory"])
    if described["choices"].get("llm") == "recorded" and config.llm.mode == "record":
        config.llm.mode = "auto"  # what the run recorded is there; asking again could change it
    return config


def _conversation(folder: "RunFolder", config: "DictConfig", name: str) -> "Conversation":
    from ctxbench.app import dataset_facts
    from ctxbench.parts import build_dataset

    dataset = build_dataset(config.dataset)
    if dataset_facts(dataset) != folder.description()["dataset"]:
        raise CtxbenchError(f"{folder.path}: the dataset has changed since this run began; start a new run")
    by_id = {conversation.id: conversation for conversation in dataset.conversations}
    if name not in by_id:
        raise unknown_name("conversation", name, list(by_id))
    return by_id[name]


def _seen(conversation: "Conversation", probe: str | None) -> int:
    """After how many messages to look: where the probe is asked, or where the last ones are."""
    from ctxbench.experiments.replay import asks

    due = asks(conversation)
    where = {one.id: seen for seen, probes in due.items() for one in probes}
    if probe is not None and probe not in where:
        raise unknown_name(f"probe of {conversation.id}", probe, list(where))
    if not due:
        raise CtxbenchError(f"{conversation.id}: no context is asked for: it has no probes and no assistant turns")
    return max(where.values(), default=max(due)) if probe is None else where[probe]


def _asks_model(described: dict[str, Any]) -> bool:
    """Whether a model writes summaries whose answers were not recorded."""
    from ctxbench.tasks.retention import asks_model

    config, recorded = described["config"], described["choices"].get("llm") == "recorded"
    return "summarizer" in config["strategy"] and asks_model(config["summarizer"]) and not recorded


def _step(conversation: "Conversation", manager: Any, seen: int) -> "Step":
    from ctxbench.context.failures import CompressionFailed
    from ctxbench.experiments.replay import replay

    try:
        return next(step for step in replay(conversation, manager) if len(step.history) == seen)
    except CompressionFailed as failure:  # with on_failure=raise the run ended here as well
        raise CtxbenchError(f"{conversation.id}: compression failed: {failure}") from failure


def _tell_difference(folder: "RunFolder", case: "Case") -> None:
    """Say when the run had another context here: what is shown does not explain its rows then."""
    from ctxbench.experiments.retention import compare_messages

    history = case.step.history
    now = (*compare_messages(history, case.step.context.messages), case.tokens_context)
    for row in folder.rows("contexts"):
        then = (row["kept"], row["dropped"], row["added"], row["tokens_context"])
        place = (row["conversation"], row["budget"], row["seen"])
        if place == (case.conversation.id, case.budget, len(history)) and then != now:
            print(
                f"note: the run recorded {then[0]} kept, {then[1]} dropped, {then[2]} added, {then[3]:,} tokens here: "
                "the program or the model's answer has changed since",
                file=sys.stderr,
            )
