"""Times estimators and tokenizers on the same texts, in one process, one after the other.

Nothing is cached while it is timed, except in the row that shows what counting once
and looking up later costs. The least of several repeats is given: noise only adds.
"""

import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.estimators.calibrated import Calibrated
from ctxbench.tokens.estimators.framed import Framed
from ctxbench.tokens.estimators.observed import Observed
from ctxbench.tokens.estimators.scaled import Scaled
from ctxbench.tokens.tokenizers import CachedTokenizer

REPEATS = 3
TEXTS = 600
"""Texts that are timed, taken evenly from all."""


class Speed(msgspec.Struct):
    """What one text (a message) costs, and the throughput in MB of UTF-8 a second."""

    name: str
    kind: str
    """`estimator`, `tokenizer`, or `cached` (a tokenizer's count looked up again)."""
    us_per_text: float
    mb_per_s: float


def measure(
    texts: Sequence[str], estimators: Mapping[str, AdditiveEstimator], tokenizers: Mapping[str, CachedTokenizer]
) -> list[Speed]:
    """Time everything on a sample of the texts; wrappers that only scale another's count are left out."""
    sample = list(dict.fromkeys(texts))
    sample = sample[:: max(1, len(sample) // TEXTS)][:TEXTS]
    size = sum(len(text.encode("utf-8", "replace")) for text in sample)
    speeds = []
    for name, estimator in estimators.items():
        if isinstance(estimator, Calibrated):
            seconds = least(lambda one=estimator: one.sizes_of_texts(sample))  # type: ignore[misc]
            speeds.append(_speed(name, "estimator", seconds, sample, size))
        elif not isinstance(estimator, Framed | Observed | Scaled):
            seconds = least(lambda one=estimator: [one.size_of_text(text) for text in sample])  # type: ignore[misc]
            speeds.append(_speed(name, "estimator", seconds, sample, size))
    for name, tokenizer in tokenizers.items():
        seconds = least(lambda one=tokenizer: one.count_uncached(sample))  # type: ignore[misc]
        speeds.append(_speed(name, "tokenizer", seconds, sample, size))
    for name, tokenizer in tokenizers.items():
        tokenizer.count_batch(sample)
        seconds = least(lambda one=tokenizer: [one.count(text) for text in sample])  # type: ignore[misc]
        speeds.append(_speed(f"{name}, counted once", "cached", seconds, sample, size))
    return speeds


def least(work: Callable[[], object]) -> float:
    """Seconds of the fastest of several repeats."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def _speed(name: str, kind: str, seconds: float, sample: Sequence[str], size: int) -> Speed:
    return Speed(name, kind, 1e6 * seconds / max(1, len(sample)), size / 1e6 / max(seconds, 1e-9))
