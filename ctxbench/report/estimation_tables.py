"""The tables that an estimation run prints. Every figure in them stands in `summary.json`."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from ctxbench.report.tables import add_numbers, new_table
from ctxbench.stats.estimation import EstimationSummary
from ctxbench.stats.fertility import Fertility
from ctxbench.stats.intervals import Mean
from ctxbench.stats.trigger import TriggerSummary

MOST_COLUMNS = 17
"""Languages that fit beside each other; with more, scripts are shown."""


def tables(summary: dict[str, Any], tokenizer: str, dataset: str) -> list[Table]:
    """Bias by language, errors and speed, trigger errors, tokenizers compared."""
    languages = {row.group for row in summary["by_language"]}
    shown = "by_language" if len(languages) <= MOST_COLUMNS else "by_script"
    title = f"{dataset}, against {tokenizer}"
    made = [
        bias_table(summary[shown], tokenizer, f"bias in % by {shown.removeprefix('by_')} · {title}"),
        bias_table(summary["by_kind"], tokenizer, f"bias in % by kind of text · {title}"),
        error_table(summary, tokenizer, f"errors · {title}"),
    ]
    if any(row.conversations for row in summary["trigger"]):
        made.append(trigger_table(summary["trigger"], tokenizer, f"trigger error · {title}"))
    made.append(tokenizer_table(summary, dataset))
    return [*made, ratio_table(summary["fertility"], tokenizer, f"tokens, {tokenizer} = 1 · {dataset}")]


def bias_table(rows: Sequence[EstimationSummary], tokenizer: str, title: str) -> Table:
    """A row an estimator, a column a group."""
    table = new_table(title, "sum(estimate) / sum(tokens) - 1, in %: -50 means that half of the tokens are seen.")
    table.add_column("estimator", no_wrap=True)
    chosen = [row for row in rows if row.tokenizer == tokenizer]
    groups = list(dict.fromkeys(row.group for row in chosen))
    add_numbers(table, *groups)
    cells = {(row.estimator, row.group): row.bias for row in chosen}
    for estimator in dict.fromkeys(row.estimator for row in chosen):
        means = [cells.get((estimator, group)) for group in groups]
        table.add_row(estimator, *(f"{100 * mean.mean:+.0f}" if mean else "–" for mean in means))
    return table


_ERRORS = (
    "texts: single messages; contexts: whole histories at each assistant turn; prompts: the same with the provider's "
    "framing. mae: sum(|estimate - tokens|) / sum(tokens). p95, worst: of |estimate - tokens| / tokens of single "
    "texts. time: of one message by itself uncached, calibrated in batches. n and intervals of all: summary.json."
)


def error_table(summary: dict[str, Any], tokenizer: str, title: str) -> Table:
    """A row an estimator: errors of texts, contexts and prompts, and time."""
    table = new_table(title, _ERRORS)
    table.add_column("estimator", no_wrap=True)
    add_numbers(
        table, "bias [95 % CI]", "mae", "p95", "worst", "contexts: bias", "mae [95 % CI]", "prompts: mae", "time"
    )
    contexts = {row.estimator: row for row in summary["contexts"] if row.tokenizer == tokenizer}
    prompts = {row.estimator: row for row in summary["prompts"] if row.tokenizer == tokenizer}
    times = {speed.name: speed.us_per_text for speed in summary["speed"]}
    for row in (row for row in summary["totals"] if row.tokenizer == tokenizer):
        context, prompt = contexts.get(row.estimator), prompts.get(row.estimator)
        table.add_row(
            row.estimator,
            _percent(row.bias, interval=True),
            _percent(row.mae),
            _percent(row.p95),
            "–" if row.worst is None else f"{row.worst:.0%}",
            _percent(context.bias) if context else "–",
            _percent(context.mae, interval=True) if context else "–",
            _percent(prompt.mae) if prompt else "–",
            f"{times[row.estimator]:.1f} µs" if row.estimator in times else "–",
        )
    return table


def trigger_table(rows: Sequence[TriggerSummary], tokenizer: str, title: str) -> Table:
    """A row an estimator, for each window that a conversation reaches: too late, too early, by how much."""
    caption = (
        "Of the conversations that reach the window: late: a request was larger than the window before the estimate "
        "passed it; early: it still fitted when the estimate passed. tokens: mean over those concerned."
    )
    table = new_table(title, caption)
    table.add_column("estimator", no_wrap=True)
    chosen = [row for row in rows if row.tokenizer == tokenizer and row.conversations]
    windows = list(dict.fromkeys(row.window for row in chosen))
    for window in windows:
        add_numbers(table, f"{window}: late", "tokens", "early", "tokens", "conv.")
    cells = {(row.estimator, row.window): row for row in chosen}
    for estimator in dict.fromkeys(row.estimator for row in chosen):
        table.add_row(
            estimator, *(text for window in windows for text in _trigger_cells(cells.get((estimator, window))))
        )
    return table


def _trigger_cells(row: TriggerSummary | None) -> list[str]:
    if row is None:
        return ["–"] * 5
    late, early = f"{row.late_tokens:,.0f}", f"{row.early_tokens:,.0f}"
    return [_percent(row.late, sign=False), late, _percent(row.early, sign=False), early, str(row.conversations)]


def tokenizer_table(summary: dict[str, Any], dataset: str) -> Table:
    """A row a tokenizer: tokens a character, speed, and how chars4 does against it."""
    caption = (
        "chars4: its bias on all texts. time: counting one message, uncached. counted once: looking up a message's "
        "count again, which is what a growing history costs when each message is counted exactly once."
    )
    table = new_table(f"tokenizers · {dataset}", caption)
    table.add_column("tokenizer", no_wrap=True)
    add_numbers(table, "tokens", "tokens a character", "chars4 bias", "time", "MB/s", "counted once")
    speeds = {speed.name: speed for speed in summary["speed"]}
    for name in dict.fromkeys(row.tokenizer for row in summary["fertility"]):
        rows = [row for row in summary["fertility"] if row.tokenizer == name]
        tokens, characters = sum(row.tokens for row in rows), sum(row.characters for row in rows)
        chars4 = next((r for r in summary["totals"] if (r.tokenizer, r.estimator) == (name, "chars4")), None)
        speed, cached = speeds[name], speeds[f"{name}, counted once"]
        bias = _percent(chars4.bias) if chars4 else "–"
        figures = (f"{tokens:,}", f"{tokens / max(1, characters):.3f}", bias)
        times = (f"{speed.us_per_text:.1f} µs", f"{speed.mb_per_s:.1f}", f"{cached.us_per_text:.1f} µs")
        table.add_row(name, *figures, *times)
    return table


def ratio_table(rows: Sequence[Fertility], tokenizer: str, title: str) -> Table:
    """A row a language, a column a tokenizer: its tokens over those of `tokenizer`, on the same texts."""
    table = new_table(title, "premium: tokens for the same content, English = 1, where there is parallel text.")
    table.add_column("language", no_wrap=True)
    names = list(dict.fromkeys(row.tokenizer for row in rows))
    add_numbers(table, *names, "premium")
    cells = {(row.language, row.tokenizer): row for row in rows}
    for language in dict.fromkeys(row.language for row in rows):
        one = cells[language, tokenizer]
        ratios = [f"{cells[language, name].tokens / max(1, one.tokens):.2f}" for name in names]
        table.add_row(language, *ratios, "–" if one.premium is None else f"{one.premium:.2f}")
    return table


def _percent(mean: Mean | None, *, interval: bool = False, sign: bool | None = None) -> str:
    if mean is None:
        return "–"
    signed = mean.mean < 0 or mean.low < 0 if sign is None else sign
    text = f"{mean.mean:+.0%}" if signed else f"{mean.mean:.1%}"
    return f"{text} [{100 * mean.low:+.0f}, {100 * mean.high:+.0f}]" if interval else text
