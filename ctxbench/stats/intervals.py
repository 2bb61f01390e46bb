"""Means and quantiles with 95 % intervals, for data that comes in clusters.

Probes of one conversation stand or fall together, so whole conversations are drawn
when resampling. The resamples are drawn once for many columns at a time: the sums of
all of them are one matrix product. Where there is only one cluster, or no variance at
all, a proportion's interval is Wilson's over the units; with very many clusters a
ratio's interval is the linearised one, which agrees with the bootstrap there.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 2000
QUANTILE_RESAMPLES = 400
MANY_CLUSTERS = 500
Z = 1.959963984540054
"""Standard normal quantile of 0.975."""

Values = Sequence[float] | np.ndarray
Clusters = Sequence[str] | np.ndarray


class Mean(msgspec.Struct, frozen=True):
    """A figure, its 95 % interval, and how many units in how many clusters it is from."""

    mean: float
    low: float
    high: float
    n: int
    clusters: int
    method: str
    """`bootstrap` over clusters, `linearised` over clusters, `wilson` over units, `order` statistics."""


def proportion(hits: Sequence[bool | float] | np.ndarray, clusters: Clusters, seed: int = 0) -> Mean | None:
    """The share of hits (each 0 or 1), its interval clustered; None without data."""
    values = np.asarray(hits, dtype=float)
    mean = ratio(values, np.ones(len(values)), clusters, seed)
    if mean is None or (mean.clusters > 1 and mean.low < mean.high):
        return mean
    low, high = _wilson(float(values.sum()), len(values))
    return msgspec.structs.replace(mean, low=low, high=high, method="wilson")


def ratio(numerators: Values, denominators: Values, clusters: Clusters, seed: int = 0) -> Mean | None:
    """Sum of numerators over sum of denominators, its interval clustered; None without data."""
    top, bottom = (np.asarray(values, dtype=float)[:, None] for values in (numerators, denominators))
    return ratios(top, bottom, clusters, seed)[0]


def ratios(tops: np.ndarray, bottoms: np.ndarray, clusters: Clusters, seed: int = 0) -> list[Mean | None]:
    """`ratio` for each column of two tables (units, columns); the columns share their resamples."""
    if not len(tops):
        return [None] * tops.shape[1]
    index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)[1]
    count = int(index.max()) + 1
    top, bottom = _sums(tops, index, count), _sums(bottoms, index, count)
    totals = np.maximum(bottom.sum(axis=0), 1e-12)
    means = top.sum(axis=0) / totals
    if count < 2:
        lows = highs = np.full(len(means), np.nan)
        method = "bootstrap"
    elif count > MANY_CLUSTERS:
        residual = top - means * bottom
        half = Z * np.sqrt((residual**2).sum(axis=0) * count / (count - 1)) / totals
        lows, highs, method = means - half, means + half, "linearised"
    else:
        drawn = _draws(count, RESAMPLES, seed)
        resampled = (drawn @ top) / np.maximum(drawn @ bottom, 1e-12)
        lows, highs = np.quantile(resampled, _ends(count), axis=0)
        method = "bootstrap"
    return [
        Mean(float(mean), float(low), float(high), len(tops), count, method) if total > 1e-12 else None
        for mean, low, high, total in zip(means, lows, highs, totals, strict=True)
    ]


def quantile(values: np.ndarray, clusters: Sequence[str], share: float, seed: int = 0) -> Mean | None:
    """The value that `share` of the values do not exceed, its interval clustered; None without data."""
    if not len(values):
        return None
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)[1][order]
    count, n = int(index.max()) + 1, len(values)
    point = float(ranked[_rank(share, n)])
    if count < 2:
        return Mean(point, float("nan"), float("nan"), n, count, "bootstrap")
    if count > MANY_CLUSTERS:
        half = Z * np.sqrt(share * (1 - share) / n)
        low, high = (ranked[_rank(min(1.0, max(0.0, share + side * half)), n)] for side in (-1, 1))
        return Mean(point, float(low), float(high), n, count, "order")
    places = _places(_draws(count, QUANTILE_RESAMPLES, seed), index, share)
    low, high = np.quantile(ranked[places], _ends(count))
    return Mean(point, float(low), float(high), n, count, "bootstrap")


def _places(drawn: np.ndarray, index: np.ndarray, share: float) -> np.ndarray:
    """For each resample, the first place at which the ranked units' weights reach `share` of all; `index`: clusters.

    Summed by blocks of sqrt(n) units first and within one block then: ten times faster than one by one.
    """
    n, count = len(index), drawn.shape[1]
    width = int(np.ceil(np.sqrt(n)))
    blocks = -(-n // width)
    held = np.bincount(np.arange(n) // width * count + index, minlength=blocks * count).reshape(blocks, count)
    reached = np.cumsum(drawn @ held.T, axis=1)
    wanted = share * reached[:, -1:]
    block = (reached < wanted).sum(axis=1)
    before = np.take_along_axis(np.pad(reached, ((0, 0), (1, 0))), block[:, None], axis=1)
    within = np.minimum(block[:, None] * width + np.arange(width), n - 1)
    inside = before + np.cumsum(np.take_along_axis(drawn, index[within], axis=1), axis=1)
    places: np.ndarray = np.minimum(block * width + (inside < wanted).sum(axis=1), n - 1)
    return places


def _rank(share: float, n: int) -> int:
    return min(n - 1, max(0, int(np.ceil(share * n)) - 1))


def _sums(values: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """Column sums of each cluster, (clusters, columns)."""
    order = np.argsort(index, kind="stable")
    starts = np.searchsorted(index[order], np.arange(count))
    return np.add.reduceat(values[order], starts, axis=0)


def _ends(count: int) -> list[float]:
    """The quantiles of the resamples that bound the interval, expanded for few clusters.

    A percentile interval is too narrow by sqrt((n - 1) / n) and by normal instead of t
    quantiles; Hesterberg (2015) moves its ends outwards by as much.
    """
    from scipy.special import ndtr, stdtrit

    share = float(ndtr(np.sqrt(count / (count - 1)) * stdtrit(count - 1, (1 - CONFIDENCE) / 2)))
    return [share, 1 - share]


@lru_cache(maxsize=32)
def _draws(count: int, resamples: int, seed: int) -> np.ndarray:
    """How often each cluster is drawn in each resample, (resamples, clusters)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(float)


def _wilson(hits: float, n: int) -> tuple[float, float]:
    """Wilson's score interval; in closed form, as scipy's also computes a test, a thousand times slower."""
    middle, half = hits + Z**2 / 2, Z * (hits * (n - hits) / n + Z**2 / 4) ** 0.5
    return max(0.0, (middle - half) / (n + Z**2)), min(1.0, (middle + half) / (n + Z**2))
