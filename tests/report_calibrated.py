"""Writes what the shipped `calibrated` weights reach on text that they were not fitted on.

    python -m tests.report_calibrated DATA [OUT.md]

DATA as for `tests.fit_calibrated`: here the other half of each set is used, and all
bundled conversations. Error of a context: consecutive texts up to 1,000 tokens, mean of
|estimate - tokens| / tokens; of a message: the same for single texts of 200 characters
and more.
"""

import sys
from collections import defaultdict
from pathlib import Path

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.importers.registry import import_conversations
from ctxbench.files import write_atomic
from ctxbench.parts import build_option
from ctxbench.tokens.calibration import NOT_LANGUAGES, labelled_texts
from ctxbench.tokens.estimators.calibrated import Calibrated
from tests.fit_calibrated import DATA, TOKENIZERS, generated, half

CONTEXT, LONG = 1000, 200
Errors = tuple[float | None, float | None, int]


def errors(texts: list[str], tokens: list[int], sizes: list[int]) -> Errors:
    """Mean error of contexts and of long messages, and the number of contexts."""
    contexts: list[float] = []
    messages: list[float] = []
    summed = estimated = 0.0
    for text, count, size in zip(texts, tokens, sizes, strict=True):
        summed, estimated = summed + count, estimated + size / 1000
        if len(text) >= LONG:
            messages.append(abs(size / 1000 - count) / count)
        if summed >= CONTEXT:
            contexts.append(abs(estimated - summed) / summed)
            summed = estimated = 0.0
    return _mean(contexts), _mean(messages), len(contexts)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def groups(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Texts by language or kind, public data and bundled conversations apart."""
    public = [one for name, path in DATA for one in half(import_conversations(name, folder / path), 1)]
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for source, conversations in (("public", [*public, *generated(2)]), ("core", load_dataset("core").conversations)):
        for text, label in labelled_texts(conversations).items():
            found[label, source].append(text)
    return dict(sorted(found.items()))


def main() -> None:
    """Measure and write a Markdown table."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else Path("results/calibrated.md")
    lines = [
        "# What `calibrated` reaches on unseen text",
        "",
        "Mean absolute error in % of contexts of 1,000 tokens / of messages of 200 characters and more. *public*: the half",
        "of NTREX-128, MT-bench, tau-bench, SWE-agent, XQuAD, FunctionChat and KdConv that was not fitted on (and generated",
        "base64, hashes, logs, emoji); *core*: the bundled conversations, nothing of which was fitted on. **Bold**: above 5 %",
        "a context or 10 % a message (10 % a context for code, JSON, logs, base64, emoji). Made by `tests.report_calibrated`.",
        "",
        "| text | source | contexts | " + " | ".join(TOKENIZERS) + " |",
        "|---|---|--:|" + "--:|" * len(TOKENIZERS),
    ]
    for (label, source), texts in groups(folder).items():
        cells, count = [], 0
        for name in TOKENIZERS:
            tokenizer, estimator = build_option("tokenizer", name), Calibrated(name)
            context, message, count = errors(texts, tokenizer.count_batch(texts), _sizes(estimator, texts))
            cells.append(_cell(context, message, 0.10 if label in NOT_LANGUAGES else 0.05))
        lines.append(f"| {label} | {source} | {count} | " + " | ".join(cells) + " |")
    with write_atomic(out) as stream:
        stream.write(("\n".join(lines) + "\n").encode())
    print(f"written: {out}")


def _sizes(estimator: Calibrated, texts: list[str]) -> list[int]:
    estimator.prepare(texts)
    return [estimator._remembered[text] for text in texts]


def _cell(context: float | None, message: float | None, limit: float) -> str:
    shown = [
        "–" if value is None else f"**{100 * value:.1f}**" if value > most else f"{100 * value:.1f}"
        for value, most in ((context, limit), (message, 0.10))
    ]
    return " / ".join(shown)


if __name__ == "__main__":
    main()
