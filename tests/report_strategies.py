"""What every strategy retains at a budget, on the bundled data and on public files.

    python -m tests.report_strategies ../shared/data      rewrites results/strategies.md

Contexts are made where probes are due, with the exact check; probes whose answer does not
stand word for word in the conversation are left out. `sliding` is the newest messages that
fill the budget: its count is set so high that only the exact check limits it.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ctxbench.app import composed
from ctxbench.context.failures import CannotFit, CompressionFailed
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.conversation.importers.registry import import_conversations
from ctxbench.conversation.jsonl import read_conversations
from ctxbench.conversation.model import Conversation, Message
from ctxbench.experiments.replay import asks
from ctxbench.files import write_atomic
from ctxbench.parts import build_dataset, manager_factory
from ctxbench.scoring.retained import haystack, retained
from ctxbench.scoring.soundness import mark_verbatim
from ctxbench.stats.intervals import proportion, ratio
from ctxbench.tokens.tokenizers import count_messages
from ctxbench.tokens.vocab import tiktoken_encoding
from tests.conftest import ROOT

TOKENIZER = tiktoken_encoding("o200k_base")
NAMES = (
    "token_window", "head_tail", "mask_tools", "importance", "density", "prune_words", "smart", "running_summary",
    "hierarchical", "anchored",
)  # fmt: skip
SHARES = (0.1, 0.25, 0.5)
LEAST_HITS = 5
"""Answers that sliding must retain for a ratio to it to mean something."""
TUNED_ON = ("core", "locomo", "bfcl")

Hits = list[tuple[str, float]]
"""Conversation, and 1 where the answer is retained, a pair a probe."""


def strategies() -> dict[str, CompressionStrategy]:
    """By name, with the exact check; those that are limited by a count have a high one."""
    overrides = {"sliding": ["strategy.recent_messages=100000"], "smart": ["strategy.recent_messages=4"]}
    built = {}
    for name in ("sliding", *NAMES):
        config, _ = composed([f"strategy={name}", "strategy.exact_check=true", *overrides.get(name, [])])
        built[name] = manager_factory(config)(Conversation("one", "en", "report", []), 1).strategy
    return built


def hits(strategy: CompressionStrategy, conversations: Sequence[Conversation], share: float) -> Hits:
    """Whether each probe's answer is retained at this share of its conversation's tokens."""
    found: Hits = []
    for one in conversations:
        budget = int(share * count_messages(TOKENIZER, one.messages))
        for seen, probes in asks(one).items():
            scored = [probe for probe in probes if probe.answers and probe.verbatim]
            if scored:
                here = haystack(_context(strategy, one.messages[:seen], budget))
                found += [(one.id, float(bool(retained(probe, here)))) for probe in scored]
    return found


def _context(strategy: CompressionStrategy, messages: Sequence[Message], budget: int) -> Sequence[Message]:
    if count_messages(TOKENIZER, messages) <= budget:
        return messages
    try:
        return strategy.compress(messages, budget)
    except CannotFit as failure:
        return failure.messages
    except CompressionFailed:
        return []


def datasets(data: Path) -> dict[str, list[Conversation]]:
    """The bundled conversations, the public ones whose answers stand in them, and generated ones."""
    sources = {
        "locomo": ("locomo", data / "locomo" / "locomo10.json"),
        "bfcl": ("bfcl", data / "bfcl"),
        "longmemeval": ("longmemeval", data / "longmemeval" / "oracle16_rekeyed.json"),
    }
    read = {"core": list(read_conversations(ROOT / "datasets" / "core"))}
    for name, (source, path) in sources.items():
        read[name] = [mark_verbatim(one) for one in import_conversations(source, path)]
    config, _ = composed(["dataset=synthetic", "dataset.tokens=8000", "dataset.conversations=24"])
    return read | {"synthetic": list(build_dataset(config.dataset).conversations)}


def table(found: Mapping[str, Mapping[str, Hits]]) -> list[str]:
    """Rows of Markdown: retained with interval, and how many times what sliding retains."""
    lines = ["| strategy | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for name in ("sliding", *NAMES):
        cells = [_cell(by_name[name], by_name["sliding"]) for by_name in found.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def _cell(mine: Hits, sliding: Hits) -> str:
    clusters = [one for one, _ in mine]
    mean = proportion([hit for _, hit in mine], clusters)
    assert mean is not None
    text = f"{mean.mean:.2f} [{mean.low:.2f}, {mean.high:.2f}]"
    times = ratio(np.array([hit for _, hit in mine]), np.array([hit for _, hit in sliding]), clusters)
    if mine is sliding or times is None or sum(hit for _, hit in sliding) < LEAST_HITS:
        return text
    return f"{text}, {times.mean:.2f} [{times.low:.2f}, {times.high:.2f}] ×"


def main(data: Path) -> None:
    """Measure and write."""
    read, built = datasets(data), strategies()
    lines = [
        "# What strategies retain",
        "",
        "Share of probes whose answer still stands in the context, at a share of the conversation's tokens (o200k_base, "
        "exact check), 95 % interval clustered by conversation; then how many times what `sliding`, the newest messages "
        f"that fill the budget, retains on the same probes (no ratio below {LEAST_HITS} answers). No model. Written by `python -m tests.report_strategies`.",
        "",
        f"The constants of `density` and `prune_words` were chosen on {', '.join(TUNED_ON)}; the others were not looked "
        "at. An interval over few conversations is wide: see the last line of each table.",
    ]
    for share in SHARES:
        found = {
            dataset: {name: hits(strategy, conversations, share) for name, strategy in built.items()}
            for dataset, conversations in read.items()
        }
        sizes = [f"{len(one['sliding'])} in {len({c for c, _ in one['sliding']})}" for one in found.values()]
        lines += ["", f"## {share:.0%} of the tokens", "", *table(found)]
        lines.append("| probes in conversations | " + " | ".join(sizes) + " |")
        print(f"{share:.0%} done", file=sys.stderr, flush=True)
    with write_atomic(ROOT / "results" / "strategies.md") as stream:
        stream.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
