from typing import Any

import msgspec

from ctxbench.stats.history import SCHEMA_VERSION, Record, change_points, worse

BASE = Record(
    SCHEMA_VERSION,
    "c" * 40,
    "2026-01-01",
    "core abc",
    "tiktoken 1",
    "chars4",
    "o200k_base",
    "all",
    10,
    1000,
    -0.3,
    0.3,
    0.7,
    0.8,
    0.0,
)


def record(**fields: Any) -> Record:
    return msgspec.structs.replace(BASE, **fields)


def test_small_moves_and_improvements_are_not_worse() -> None:
    assert worse([BASE], [record(bias=-0.309, mae=0.305, p95=0.72)]) == []
    assert worse([BASE], [record(bias=0.0, mae=0.1, p95=0.2, late=0.0)]) == []


def test_a_metric_that_moved_away_from_zero_is_told_with_both_values() -> None:
    (change,) = worse([BASE], [record(bias=0.32)])
    assert (change.record, change.metric, change.before, change.after) == (
        ("chars4", "o200k_base", "all"),
        "bias",
        -0.3,
        0.32,
    )
    assert [one.metric for one in worse([BASE], [record(mae=0.5, early=0.9)])] == ["early", "mae"]  # the larger first


def test_why_is_told_apart() -> None:
    assert worse([BASE], [record(mae=0.5)])[0].why == "the estimator changed (code, settings or weights)"
    assert worse([BASE], [record(mae=0.5, tokens=1100, package="tiktoken 2")])[0].why == (
        "the tokenizer counts otherwise (tiktoken 1 -> tiktoken 2)"
    )
    assert worse([BASE], [record(mae=0.5, dataset="core def", tokens=900)])[0].why == "the dataset changed"


def test_records_that_are_new_or_unknown_are_not_compared() -> None:
    assert worse([BASE], [record(language="xx", mae=9.0)]) == []
    assert worse([record(mae=None)], [record(mae=9.0)]) == []


def test_change_points() -> None:
    assert change_points([0.3] * 6 + [0.1] * 6) == [6]
    assert change_points([0.3, 0.31, 0.29, 0.3, 0.3, 0.31]) == []
    assert change_points([0.3, 0.1]) == []
    assert change_points([0.2] * 10) == []
