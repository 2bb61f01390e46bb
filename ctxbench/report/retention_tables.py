"""The tables that retention runs and sweeps print. Every figure in them stands in `summary.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from ctxbench.conversation.validity import PROFILES
from ctxbench.report.tables import add_numbers, mean_cell, new_table
from ctxbench.stats.compare import Paired
from ctxbench.stats.intervals import Mean
from ctxbench.stats.retention import RetentionSummary

MOST_RULES = 3
"""Broken rules that a row of the validity table names."""
_CAPTION = (
    "tokens: mean at the probes, exact tokenizer. retained: share of probes whose answer is still in the context; "
    "effective: (retained - empty) / (full - empty). Baselines on the same probes: empty: the system messages alone; "
    "random: random messages up to the budget; oracle: the evidence alone, within the budget; full: everything "
    "(strategy none). over budget: contexts with more tokens than the budget. * Wilson interval over probes (one "
    "conversation or no variance); else 95 %, clustered by conversation."
)


def retention_table(
    by_group: Sequence[RetentionSummary], totals: Sequence[RetentionSummary], title: str, group: str = "language"
) -> Table:
    """One row a group and one total, for each budget."""
    table = new_table(title, _CAPTION)
    table.add_column(group, no_wrap=True)
    answered = any(row.answered for row in totals)
    add_numbers(table, "conv.", *_figure_names(answered), "calls", "time")
    for total in totals:
        for row in (one for one in by_group if one.budget == total.budget):
            table.add_row(row.group, str(row.conversations), *_figures(row, answered), *_effort(row))
        table.add_section()
        cells = [str(total.conversations), *_figures(total, answered), *_effort(total)]
        table.add_row(f"budget {total.budget}", *cells, style="bold")
        table.add_section()
    return table


def comparison_table(jobs: Sequence[Mapping[str, str]], rows: Sequence[RetentionSummary], title: str) -> Table:
    """One row for each job and budget of a sweep; the first columns say what the job varied.

    `rows` are the jobs' totals in the jobs' order, the same number for each job.
    """
    table = new_table(title, _CAPTION)
    for name in jobs[0]:
        table.add_column(name, no_wrap=True)
    answered = any(row.answered for row in rows)
    add_numbers(table, "budget", *_figure_names(answered), "saved", "invalid", "calls", "time")
    for index, row in enumerate(rows):
        job = jobs[index * len(jobs) // len(rows)]
        extra = [f"{row.cost.saved:.0%}", f"{row.invalid / max(1, row.contexts):.0%}"]
        table.add_row(*job.values(), row.budget, *_figures(row, answered), *extra, *_effort(row))
    return table


def validity_table(summaries: Mapping[str, Mapping[str, Any]]) -> Table:
    """The share of contexts that each provider's profile accepts, a row a job, and the rules that are broken most."""
    caption = (
        "share of all contexts that keep the rules of a profile: openai (a call and its results together), anthropic "
        "(and the user begins, speakers take turns), mistral (one system message, turns), qwen (one system message, a "
        "user). Recorded conversations may break some themselves: see strategy none. Broken most: contexts by rule."
    )
    table = new_table("valid contexts", caption)
    table.add_column("job", no_wrap=True)
    add_numbers(table, *PROFILES)
    table.add_column("broken most")
    for name, summary in summaries.items():
        worst = list(summary["rules_broken"].items())[:MOST_RULES]
        broken = ", ".join(f"{rule.replace('_', ' ')} {count:,}" for rule, count in worst)
        table.add_row(name, *(mean_cell(summary["validity"][profile]) for profile in PROFILES), broken or "–")
    return table


def round_table(rows: Sequence[RetentionSummary], title: str) -> Table:
    """What survives after each further round."""
    table = new_table(
        title, "Rounds of other talk after the end; in each the session is compressed again where needed."
    )
    table.add_column("round", no_wrap=True)
    add_numbers(table, "budget", "probes", "tokens", "retained [95 % CI]", "stale only", "stale too")
    for row in rows:
        cells = [
            row.budget,
            str(_scored(row)),
            f"{row.tokens_context:,.0f}",
            mean_cell(row.retained),
            _plain(row.stale_only),
            _plain(row.stale_both),
        ]
        table.add_row(row.group, *cells)
    return table


def difference_table(names: Sequence[str], found: Sequence[tuple[str, Paired]], margin: float) -> Table:
    """Each job against the first one, on the same probes, p adjusted over the jobs."""
    caption = (
        f"retained, each job minus {names[0]!r}, on the same probes and budgets. p: permutation of whole "
        "conversations, adjusted by Holm over the jobs. verdict: by the interval, which is not adjusted; equivalent, "
        f"not worse: within a margin of {margin}. smallest: the difference that the data could show with 80 % power."
    )
    table = new_table(f"differences from {names[0]}", caption)
    table.add_column("job", no_wrap=True)
    add_numbers(table, "pairs", "difference [95 % CI]", "p (Holm)", "smallest", "verdict")
    for name, one in found:
        interval = "" if one.low is None or one.high is None else f" [{one.low:+.2f}, {one.high:+.2f}]"
        p = "–" if one.p_adjusted is None else f"{one.p_adjusted:.4f}"
        smallest = "–" if one.smallest is None else f"{one.smallest:.2f}"
        table.add_row(name, str(one.n), f"{one.difference:+.2f}{interval}", p, smallest, one.verdict)
    return table


def cost_table(rows: Sequence[RetentionSummary], prices: str) -> Table:
    """What the requests cost, a row a budget."""
    caption = (
        "sent: tokens of all requests at assistant turns; summary: of the summarizer's calls; saved: 1 - (sent + "
        "summary) / full. head unchanged: share of the sent tokens that a prompt cache can hold. latency: of contexts "
        f"that were compressed. $: with the prices '{prices}'; full $: without compression, its head cached."
    )
    table = new_table("cost", caption)
    table.add_column("budget", no_wrap=True)
    add_numbers(table, "requests", "full → sent tokens", "summary", "saved", "head unchanged", "latency p50, p95")
    add_numbers(table, "$", "full $", "$ / 1,000 retained")
    for row in rows:
        cost = row.cost
        latency = "–" if cost.latency_p50_ms is None else f"{cost.latency_p50_ms:.1f}, {cost.latency_p95_ms:.1f} ms"
        each = "–" if cost.dollars_per_retained is None else f"{1000 * cost.dollars_per_retained:.3f}"
        table.add_row(
            row.budget,
            f"{cost.turns:,}",
            f"{cost.full_tokens:,} → {cost.sent_tokens:,}",
            f"{cost.summary_tokens:,}",
            f"{cost.saved:.0%}",
            f"{cost.cacheable:.0%}",
            latency,
            f"{cost.dollars:.3f}",
            f"{cost.dollars_full:.3f}",
            each,
        )
    return table


def _figure_names(answered: bool) -> list[str]:
    names = ["probes", "tokens full → context", "effective [95 % CI]", "retained", "empty", "random", "oracle", "full"]
    return [*names, *(["answered"] if answered else []), "over budget"]


def _figures(row: RetentionSummary, answered: bool) -> list[str]:
    kept = row.tokens_context / max(1, row.tokens_full)
    baselines = (row.retained_empty, row.retained_random, row.retained_oracle, row.retained_full)
    return [
        str(_scored(row)),
        f"{row.tokens_full:,.0f} → {row.tokens_context:,.0f} ({kept:.0%})",
        mean_cell(row.effective),
        _plain(row.retained),
        *map(_plain, baselines),
        *([_plain(row.answered)] if answered else []),
        f"{row.over_budget}/{row.contexts}",
    ]


def _effort(row: RetentionSummary) -> list[str]:
    return [str(row.model_calls), f"{row.seconds:.1f} s"]


def _scored(row: RetentionSummary) -> int:
    return row.retained.n if row.retained else 0


def _plain(mean: Mean | None) -> str:
    return "–" if mean is None else f"{mean.mean:.2f}"
