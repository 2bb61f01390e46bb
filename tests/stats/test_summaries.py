"""The figures of the tables, from rows small enough to work them out by hand."""

import pandas as pd
import pytest

from ctxbench.stats import estimation, retention


def context(conversation: str, language: str, **fields: object) -> dict[str, object]:
    row: dict[str, object] = {
        "conversation": conversation, "language": language, "budget": "0.25", "tokens_full": 100,
        "tokens_context": 40, "over_budget": False, "outcome": "compressed", "failure": None, "validity": [],
        "model_calls": 0, "latency_ms": 500.0,
    }  # fmt: skip
    return row | fields


def sample(conversation: str, language: str, retained: bool | None, **fields: object) -> dict[str, object]:
    row: dict[str, object] = {
        "conversation": conversation, "language": language, "budget": "0.25", "category": "fact",
        "retained": retained, "retained_full": True, "retained_empty": False, "recall": 0.5,
        "tokens_full": 100, "tokens_context": 40,
    }  # fmt: skip
    return row | fields


CONTEXTS = pd.DataFrame(
    [
        context("a", "en"),
        context("a", "en", over_budget=True, failure="empty: nothing", outcome="kept", model_calls=2),
        context("b", "ja", validity=["orphan_tool_result"]),
    ]
)
SAMPLES = pd.DataFrame(
    [
        sample("a", "en", True),
        sample("a", "en", False, tokens_context=60),
        sample("b", "ja", True, category="number", recall=None),
        sample("b", "ja", None, category="absent", retained_full=None, retained_empty=None),
    ]
)


def test_retention_totals() -> None:
    (total,) = retention.summarise(SAMPLES, CONTEXTS, None)
    assert (total.budget, total.group, total.conversations, total.probes) == ("0.25", "all", 2, 4)
    assert total.retained is not None
    assert total.retained.mean == pytest.approx(2 / 3)
    assert total.retained.n == 3  # the absent probe is not scored
    assert total.retained_full is not None
    assert total.retained_full.mean == 1.0
    assert total.recall == 0.5
    assert (total.tokens_full, total.tokens_context) == (100, 45)
    assert (total.contexts, total.compressed, total.over_budget, total.failed, total.invalid) == (3, 2, 1, 1, 1)
    assert (total.model_calls, total.seconds) == (2, 1.5)


def test_retention_by_language_and_by_category() -> None:
    english, japanese = retention.summarise(SAMPLES, CONTEXTS, "language")
    assert (english.group, english.conversations, english.contexts, english.over_budget) == ("en", 1, 2, 1)
    assert (japanese.group, japanese.contexts, japanese.invalid) == ("ja", 1, 1)
    groups = retention.summarise(SAMPLES, CONTEXTS, "category")
    assert [(one.group, one.probes) for one in groups] == [("absent", 1), ("fact", 2), ("number", 1)]
    assert groups[0].retained is None


def test_budgets_are_kept_apart() -> None:
    both = pd.concat([SAMPLES, SAMPLES.assign(budget="0.5", retained=True)])
    contexts = pd.concat([CONTEXTS, CONTEXTS.assign(budget="0.5")])
    quarter, half = retention.summarise(both, contexts, None)
    assert quarter.retained is not None
    assert half.retained is not None
    assert [quarter.retained.mean, half.retained.mean] == pytest.approx([2 / 3, 1.0])


ESTIMATES = pd.DataFrame(
    [
        {"text": "a#0", "conversation": "a", "language": "en", "kind": "chat", "characters": 40,
         "tokens": {"t": 10}, "estimates": {"e": 12, "f": 10}},
        {"text": "a#1", "conversation": "a", "language": "en", "kind": "chat", "characters": 20,
         "tokens": {"t": 30}, "estimates": {"e": 20, "f": 30}},
        {"text": "b#0", "conversation": "b", "language": "zh", "kind": "chat", "characters": 0,
         "tokens": {"t": 0}, "estimates": {"e": 0, "f": 5}},
    ]
)  # fmt: skip


def test_errors_have_a_row_for_each_text_tokenizer_and_estimator() -> None:
    frame = estimation.errors(ESTIMATES)
    assert len(frame) == 6
    first = frame[(frame["text"] == "a#0") & (frame["estimator"] == "e")].iloc[0]
    assert first["error"] == pytest.approx(0.2)
    assert frame[frame["text"] == "b#0"]["error"].isna().all()


def test_bias_and_mean_absolute_error_are_ratios_of_sums() -> None:
    frame = estimation.errors(ESTIMATES)
    e, f = estimation.summarise(frame, None)
    assert (e.estimator, e.texts, e.tokens) == ("e", 3, 40)
    assert e.bias is not None
    assert e.mae is not None
    assert e.bias.mean == pytest.approx((32 - 40) / 40)
    assert e.mae.mean == pytest.approx((2 + 10) / 40)
    assert f.bias is not None
    assert f.bias.mean == pytest.approx(5 / 40)
    chinese = [row for row in estimation.summarise(frame, "language") if row.group == "zh"]
    assert [row.bias for row in chinese] == [None, None]  # no tokens, no relative error
