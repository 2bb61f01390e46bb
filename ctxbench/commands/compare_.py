"""`python -m ctxbench compare RUN_A RUN_B`: is B better or worse than A? On the probes that both have.

Reads two run folders and shows what `ctxbench.stats.compare` finds; it writes nothing.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ctxbench.errors import CtxbenchError
from ctxbench.runs.folder import RunFolder
from ctxbench.stats.compare import (
    HIGHER_IS_BETTER,
    LOWER_IS_BETTER,
    MARGIN,
    Difference,
    Flip,
    Paired,
    config_differences,
    flipped,
    match,
    paired,
)

HELP = "compare two retention runs, probe by probe; with --fail-on-regression exit code 1 when the second is worse"
SHOWN = 15
LONGEST = 60


class Comparison(msgspec.Struct):
    """All that is said of two runs; what `--json` prints."""

    a: str
    b: str
    margin: float
    shared: int
    only_a: int
    only_b: int
    data_differ: bool
    differences: list[Difference]
    metrics: list[Paired]
    flipped: list[Flip]
    verdict: str | None
    """On `retained`; null where no probe is scored in both runs."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run_a", metavar="RUN_A", type=Path, help="folder of the run before")
    parser.add_argument("run_b", metavar="RUN_B", type=Path, help="folder of the run after")
    parser.add_argument(
        "--margin", type=float, default=MARGIN, help=f"differences up to this do not matter (default {MARGIN})"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--fail-on-regression", action="store_true", help="exit code 1 when B retains or answers worse")


def run(arguments: argparse.Namespace) -> int:
    """Compare and print; 1 when that was asked for and B is worse."""
    if not 0 <= arguments.margin < float("inf"):
        raise CtxbenchError(f"--margin is {arguments.margin}; give 0 or more")
    found = _compared(arguments.run_a, arguments.run_b, arguments.margin)
    if arguments.json:
        print(_as_json(found))
    else:
        _print(found)
    regressed = any(one.verdict == "worse" for one in found.metrics if one.metric in HIGHER_IS_BETTER)
    return 1 if arguments.fail_on_regression and regressed else 0


def _compared(path_a: Path, path_b: Path, margin: float) -> Comparison:
    (about_a, rows_a), (about_b, rows_b) = _opened(path_a), _opened(path_b)
    matched = match(rows_a, rows_b)
    if not matched.pairs:
        raise CtxbenchError(
            f"{path_a} ({len(rows_a)} probes) and {path_b} ({len(rows_b)}) share no probes; "
            "give runs of the same data and budgets"
        )
    metrics = paired(rows_a, rows_b, margin)
    return Comparison(
        a=str(path_a),
        b=str(path_b),
        margin=margin,
        shared=len(matched.pairs),
        only_a=matched.only_a,
        only_b=matched.only_b,
        data_differ=about_a["dataset"]["sha256"] != about_b["dataset"]["sha256"],
        differences=config_differences(about_a, about_b),
        metrics=metrics,
        flipped=flipped(rows_a, rows_b),
        verdict=next((one.verdict for one in metrics if one.metric == "retained"), None),
    )


def _opened(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A run's description and its samples."""
    folder = RunFolder.open(path)
    described = folder.description()
    if described["task"] == "estimation":
        raise CtxbenchError(f"{path} is an estimation run; compare reads retention runs (for estimators: track)")
    return described, folder.rows("samples")


def _as_json(found: Comparison) -> str:
    """The comparison as JSON, flips and differences with their fields' names."""
    plain = msgspec.structs.asdict(found)
    named = {name: [one._asdict() for one in plain[name]] for name in ("differences", "flipped")}
    return msgspec.json.encode(plain | named).decode()


def _print(found: Comparison) -> None:
    print(f"A: {found.a}\nB: {found.b}")
    for one in found.differences:
        print(f"differs: {one.name}: {_short(one.a)} -> {_short(one.b)}")
    if not found.differences:
        print("settings, data and package versions are the same")
    print(f"{found.shared:,} probes are shared; {found.only_a:,} only in A, {found.only_b:,} only in B")
    if found.data_differ:
        print("note: the data differ: a shared probe need not ask the same of the same conversation in both runs")
    _print_table(found)
    for title, after in (("no longer retained", False), ("newly retained", True)):
        _print_flips(title, [flip for flip in found.flipped if flip.after is after])
    print(_last_line(found))


def _print_table(found: Comparison) -> None:
    from ctxbench.report.tables import add_numbers, console, new_table

    caption = (
        "Means over the probes that both runs have. 95 % CI: bootstrap over conversations; p: signs of whole "
        "conversations flipped; Holm: over the metrics shown. smallest: what these data show with 80 % power. "
        f"equivalent, not worse: within {found.margin:g} (tokens: {found.margin:.3g} of A's mean)."
    )
    table = new_table("B compared with A", caption)
    table.add_column("metric", no_wrap=True)
    add_numbers(table, "probes", "conv.", "A", "B", "B - A [95 % CI]", "p", "Holm", "smallest")
    table.add_column("verdict", no_wrap=True)
    for one in found.metrics:
        table.add_row(
            one.metric,
            str(one.n),
            str(one.clusters),
            _figure(one, one.before),
            _figure(one, one.after),
            _difference(one),
            *("–" if p is None else f"{p:.4f}" for p in (one.p, one.p_adjusted)),
            "–" if one.smallest is None else _figure(one, one.smallest),
            one.verdict,
        )
    console().print(table)


def _print_flips(title: str, flips: Sequence[Flip]) -> None:
    if not flips:
        return
    print(f"{title}: {len(flips)}")
    for flip in flips[:SHOWN]:
        print(f"  {flip.conversation}/{flip.probe} ({flip.category})")
    if len(flips) > SHOWN:
        print(f"  ... and {len(flips) - SHOWN} more")


def _last_line(found: Comparison) -> str:
    for one in found.metrics:
        if one.metric == "retained":
            means = f"{_figure(one, one.before)} -> {_figure(one, one.after)}"
            return f"retained: {one.verdict}: {means}, difference {_difference(one)}, {one.n} probes"
    return "retained: no verdict: no probe is scored in both runs"


def _difference(one: Paired) -> str:
    """`+0.120 [+0.050, +0.190]`, without the interval where there is one conversation."""
    shown = _figure(one, one.difference, "+")
    if one.low is None or one.high is None:
        return shown
    return f"{shown} [{_figure(one, one.low, '+')}, {_figure(one, one.high, '+')}]"


def _figure(one: Paired, value: float, sign: str = "") -> str:
    """Tokens are whole numbers, all else is a share."""
    return format(value, f"{sign},.0f" if one.metric in LOWER_IS_BETTER else f"{sign}.3f")


def _short(value: Any) -> str:
    """A setting's value on one line as one would type it, cut where it is long."""
    text = " ".join(value.split()) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
