"""Means with 95 % intervals, for data that comes in clusters.

Probes of one conversation stand or fall together, so whole conversations are drawn
when resampling (scipy's bootstrap over clusters). Where there is only one cluster,
or the bootstrap sees no variance at all, the interval is Wilson's over the units.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 2000
Values = Sequence[float] | np.ndarray


class Mean(msgspec.Struct, frozen=True):
    """A mean, its 95 % interval, and how many units in how many clusters it is from."""

    mean: float
    low: float
    high: float
    n: int
    clusters: int
    method: str
    """`bootstrap` over clusters, or `wilson` over units."""


def proportion(hits: Sequence[bool | float], clusters: Sequence[str], seed: int = 0) -> Mean | None:
    """The share of hits (each 0 or 1), its interval clustered; None without data."""
    if not len(hits):
        return None
    sums, counts = _by_cluster(np.asarray(hits, dtype=float), clusters)
    mean, n = float(sums.sum() / counts.sum()), int(counts.sum())
    low, high, method = *_bootstrap(sums, counts, seed), "bootstrap"
    if len(counts) < 2 or low == high:
        low, high, method = *_wilson(float(sums.sum()), n), "wilson"
    return Mean(mean, low, high, n, len(counts), method)


def ratio(
    numerators: Sequence[float] | np.ndarray,
    denominators: Sequence[float] | np.ndarray,
    clusters: Sequence[str],
    seed: int = 0,
) -> Mean | None:
    """Sum of numerators over sum of denominators, its interval clustered; None without data."""
    if not len(numerators) or not np.any(denominators):
        return None
    top, _ = _by_cluster(np.asarray(numerators, dtype=float), clusters)
    bottom, counts = _by_cluster(np.asarray(denominators, dtype=float), clusters)
    low, high = _bootstrap(top, bottom, seed)
    return Mean(float(top.sum() / bottom.sum()), low, high, int(counts.sum()), len(counts), "bootstrap")


def _by_cluster(values: np.ndarray, clusters: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of values in each cluster."""
    _, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    return np.bincount(index, weights=values), np.bincount(index)


def _bootstrap(top: np.ndarray, bottom: np.ndarray, seed: int) -> tuple[float, float]:
    """Percentile interval of sum(top) / sum(bottom), clusters drawn with replacement."""
    from scipy.stats import bootstrap

    if len(top) < 2:
        return float("nan"), float("nan")
    result = bootstrap(
        (top, bottom),
        lambda a, b, axis: a.sum(axis=axis) / np.maximum(b.sum(axis=axis), 1e-12),
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def _wilson(hits: float, n: int) -> tuple[float, float]:
    from scipy.stats import binomtest

    interval = binomtest(round(hits), n).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)
