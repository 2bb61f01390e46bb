"""Compares two runs on the probes that they share: differences, intervals, tests, verdicts.

A probe is held against itself in the other run, so what makes one probe harder than
another falls out. Whole conversations are drawn for the intervals and change their sign
in the test, since probes of one conversation stand or fall together. Reading the runs
and showing the figures is left to others.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from ctxbench.errors import CtxbenchError
from ctxbench.runs.folder import Row
from ctxbench.stats.intervals import Mean, ratio

HIGHER_IS_BETTER = ("retained", "recall", "answered")
LOWER_IS_BETTER = ("tokens_context",)

MARGIN = 0.05
"""Differences up to this do not matter: in the metric's unit, for tokens as a share of the mean before."""

PERMUTATIONS = 9999
"""Up to 13 conversations all patterns of signs are fewer than this, and the test is exact."""

_BATCH = 500
_IGNORED = ("resume", "results_dir", "hydra")

Verdict = Literal["better", "worse", "equivalent", "not worse", "cannot tell"]

Pair = tuple[Row, Row]


class Matched(msgspec.Struct):
    """The rows of two runs that are of the same probe, and how many each run has alone."""

    pairs: list[Pair]
    only_a: int
    only_b: int


class Paired(msgspec.Struct):
    """One metric on the pairs: A is before, B is after. None where one conversation tells nothing."""

    metric: str
    n: int
    clusters: int
    before: float
    after: float
    difference: float
    low: float | None
    high: float | None
    p: float | None
    """Two-sided, of the permutation test that flips the sign of whole conversations."""
    verdict: Verdict
    """From the interval and the margin; not adjusted for the number of metrics."""
    smallest: float | None
    """The smallest difference that such data show with 80 % power; None also where the interval has no width."""
    p_adjusted: float | None = None
    """By Holm, over the metrics that were compared together."""


class Flip(NamedTuple):
    """A probe that is retained in one run and not in the other."""

    conversation: str
    probe: str
    category: str
    before: bool
    after: bool


class Difference(NamedTuple):
    """A setting, a fact of the data or a package version that is not the same in both runs."""

    name: str
    a: Any
    b: Any


def match(a: Sequence[Row], b: Sequence[Row]) -> Matched:
    """Pair the rows of two runs, in the order of A.

    The budget tells rows apart unless each run has exactly one: then the budgets may be compared.
    """
    names = ["conversation", "probe", "round"]
    if any(len({row["budget"] for row in rows}) > 1 for rows in (a, b)):
        names.append("budget")
    before, after = _by_key(a, names), _by_key(b, names)
    pairs = [(row, after[key]) for key, row in before.items() if key in after]
    return Matched(pairs, len(before) - len(pairs), len(after) - len(pairs))


def paired(a: Sequence[Row], b: Sequence[Row], margin: float = MARGIN, seed: int = 0) -> list[Paired]:
    """Each metric that both runs have for some probe, p adjusted over these metrics."""
    pairs = match(a, b).pairs
    compared = [_compare(name, pairs, margin, seed) for name in (*HIGHER_IS_BETTER, *LOWER_IS_BETTER)]
    found = [one for one in compared if one is not None]
    for one, adjusted in zip(found, holm([one.p for one in found]), strict=True):
        one.p_adjusted = adjusted
    return found


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values in the given order (Holm's step-down); those that are unknown stay so and do not count."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        adjusted[place] = highest
    return adjusted


def flipped(a: Sequence[Row], b: Sequence[Row]) -> list[Flip]:
    """The probes whose `retained` differs, in the order of A; in several budgets or rounds once for each."""
    return [
        Flip(before["conversation"], before["probe"], before["category"], before["retained"], after["retained"])
        for before, after in _known("retained", match(a, b).pairs)
        if before["retained"] != after["retained"]
    ]


def config_differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Difference]:
    """What differs between two run descriptions: settings, facts of the data (`data.`), versions (`packages.`).

    What only one of them has is None in the other; what only B has comes last.
    """
    flat_a, flat_b = _described(a), _described(b)
    return [
        Difference(name, flat_a.get(name), flat_b.get(name))
        for name in dict.fromkeys([*flat_a, *flat_b])
        if flat_a.get(name) != flat_b.get(name)
    ]


def _key(row: Row, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _by_key(rows: Sequence[Row], names: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    keyed = {_key(row, names): row for row in rows}
    if len(keyed) < len(rows):  # which of them is meant cannot be known
        raise CtxbenchError(
            f"several samples of one run have the same {', '.join(names)}: probes need ids of their own"
        )
    return keyed


def _known(metric: str, pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if all(row.get(metric) is not None for row in pair)]


def _compare(metric: str, pairs: Sequence[Pair], margin: float, seed: int) -> Paired | None:
    known = _known(metric, pairs)
    if not known:
        return None
    before, after = (np.array([float(pair[side][metric]) for pair in known]) for side in (0, 1))
    conversations = [row["conversation"] for row, _ in known]
    differences = after - before
    mean = ratio(differences, np.ones(len(known)), conversations, seed)
    assert mean is not None  # there is at least one pair
    bounded = mean.clusters > 1
    return Paired(
        metric=metric,
        n=mean.n,
        clusters=mean.clusters,
        before=float(before.mean()),
        after=float(after.mean()),
        difference=mean.mean,
        low=mean.low if bounded else None,
        high=mean.high if bounded else None,
        p=_permutation_p(differences, conversations, seed) if bounded else None,
        verdict=_verdict(metric, differences, mean, margin * (before.mean() if metric in LOWER_IS_BETTER else 1)),
        # An interval without width says nothing of the error: no resample differed from another.
        smallest=(1.96 + 0.84) * (mean.high - mean.low) / 3.92 if bounded and mean.low < mean.high else None,
    )


def _verdict(metric: str, differences: np.ndarray, mean: Mean, margin: float) -> Verdict:
    if not differences.any():
        return "equivalent"
    if mean.clusters < 2:
        return "cannot tell"
    bad, good = (-mean.high, -mean.low) if metric in LOWER_IS_BETTER else (mean.low, mean.high)
    if bad > 0:
        return "better"
    if good < 0:
        return "worse"
    if bad < -margin:
        return "cannot tell"
    return "equivalent" if good <= margin else "not worse"


def _permutation_p(differences: np.ndarray, conversations: Sequence[str], seed: int) -> float:
    """How often chance alone, either run being the first in each conversation, differs as much."""
    from scipy.stats import permutation_test

    index = np.unique(np.asarray(conversations, dtype=str), return_inverse=True)[1]
    sums = np.bincount(index, weights=differences)
    result = permutation_test(
        (sums,),
        np.sum,
        permutation_type="samples",  # of one sample: the signs flip
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=_BATCH,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def _described(description: Mapping[str, Any]) -> dict[str, Any]:
    config = {name: value for name, value in description.get("config", {}).items() if name not in _IGNORED}
    data, packages = description.get("dataset", {}), description.get("packages", {})
    return _flat(config) | _flat({"data": data, "packages": packages})


def _flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat
