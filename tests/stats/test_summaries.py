"""The figures of the tables, from rows small enough to work them out by hand."""

from typing import Any

import pandas as pd
import pytest

from ctxbench.experiments.speed import Speed
from ctxbench.stats import claims, estimation, fertility, retention, trigger


def context(conversation: str, language: str, **fields: object) -> dict[str, object]:
    row: dict[str, object] = {
        "conversation": conversation, "language": language, "budget": "0.25", "tokens_full": 100,
        "tokens_context": 40, "over_budget": False, "outcome": "compressed", "failure": None, "validity": [],
        "model_calls": 0, "latency_ms": 500.0, "turn": True, "prefix_tokens": 10, "inflated": False, "added": 1,
        "prompt_tokens": 0, "completion_tokens": 0,
    }  # fmt: skip
    return row | fields


def sample(conversation: str, language: str, retained: bool | None, **fields: object) -> dict[str, object]:
    row: dict[str, object] = {
        "conversation": conversation, "language": language, "budget": "0.25", "category": "fact",
        "retained": retained, "retained_full": True, "retained_empty": False, "recall": 0.5,
        "tokens_full": 100, "tokens_context": 40, "round": 0, "retained_oracle": True, "retained_random": False,
        "stale": None, "answered": None, "judged": None, "f1": None,
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


def test_effective_retention_is_what_is_kept_of_what_can_be_lost() -> None:
    rows = [
        sample("a", "en", True, retained_empty=True),
        sample("a", "en", True),
        sample("b", "en", False),
        sample("b", "en", False, retained_full=True),
    ]
    (total,) = retention.summarise(pd.DataFrame(rows), CONTEXTS, None)
    assert total.retained is not None
    assert total.effective is not None
    assert total.retained.mean == 0.5
    assert total.effective.mean == pytest.approx((2 - 1) / (4 - 1))
    assert retention.effective(SAMPLES) == retention.shares(SAMPLES, "retained")  # nothing without history


def test_stale_values_are_counted_apart() -> None:
    rows = [
        sample("a", "en", False, stale=True),
        sample("a", "en", True, stale=True),
        sample("b", "en", False, stale=False),
        sample("b", "en", False),
    ]
    (total,) = retention.summarise(pd.DataFrame(rows), CONTEXTS, None)
    assert total.stale_only is not None
    assert [total.stale_only.mean, total.stale_only.n] == pytest.approx([1 / 3, 3])
    assert total.stale_both is not None
    assert total.stale_both.mean == pytest.approx(1 / 3)


def test_the_round_at_which_a_category_falls_below_half() -> None:
    kept = {0: (True, True), 1: (True, False), 2: (False, False)}
    rows = [
        sample(name, "en", hit, category=category, round=number)
        for number, hits in kept.items()
        for name, hit in zip(("a", "b"), hits, strict=True)
        for category in ("fact",)
    ] + [sample("a", "en", True, category="number", round=number) for number in kept]
    assert retention.half_lives(pd.DataFrame(rows)) == {"0.25": {"fact": 2, "number": None}}


def test_cost_by_hand() -> None:
    rows = [
        context("a", "en", prefix_tokens=0, tokens_full=40, outcome="fits", latency_ms=1.0),
        context("a", "en", prefix_tokens=30, prompt_tokens=50, completion_tokens=10, latency_ms=100.0),
        context("a", "en", turn=False, tokens_context=99, latency_ms=300.0),
    ]
    prices = {"input": 2.0, "cached_input": 1.0, "output": 8.0}
    cost = retention.cost(pd.DataFrame(rows), prices, hits=2)
    assert (cost.turns, cost.sent_tokens, cost.full_tokens, cost.summary_tokens) == (2, 80, 140, 60)
    assert cost.saved == pytest.approx(1 - (80 + 60) / 140)
    assert cost.cacheable == 30 / 80
    assert [cost.summaries, cost.latency_p50_ms, cost.latency_p95_ms] == pytest.approx([2, 200.0, 290.0])
    # (80 - 30 + 50) * 2 + 30 * 1 + 10 * 8 = 310; without compression: (140 - 40) * 2 + 40 * 1 = 240; a million a dollar
    assert cost.dollars == pytest.approx(310e-6)
    assert cost.dollars_full == pytest.approx(240e-6)
    assert cost.dollars_per_retained == pytest.approx(155e-6)


def test_pile_ups_and_inflation_are_counted() -> None:
    rows = [context("a", "en", added=2, inflated=True), context("a", "en", added=1)]
    (total,) = retention.summarise(SAMPLES, pd.DataFrame(rows), None)
    assert (total.piled_up, total.inflated) == (1, 1)


def test_a_hundred_thousand_rows_are_summarised_quickly() -> None:
    import time

    rows = [sample(f"c{n % 500}", "en", n % 3 == 0) for n in range(100_000)]
    frame = pd.DataFrame(rows)
    started = time.perf_counter()
    retention.summarise(frame, CONTEXTS, None)
    assert (
        time.perf_counter() - started < 10
    )  # far above the two seconds that it may take, so that no busy machine fails


ESTIMATES = [
    {"text": "a#0", "conversation": "a", "language": "en", "kind": "chat", "characters": 40, "parallel": "s",
     "tokens": {"t": 10}, "estimates": {"e": 12, "f": 10}},
    {"text": "a#1", "conversation": "a", "language": "en", "kind": "code", "characters": 200, "parallel": None,
     "tokens": {"t": 30}, "estimates": {"e": 20, "f": 30}},
    {"text": "b#0", "conversation": "b", "language": "zh-Hans", "kind": "chat", "characters": 0, "parallel": "s",
     "tokens": {"t": 0}, "estimates": {"e": 0, "f": 5}},
    {"text": "b#1", "conversation": "b", "language": "zh-Hans", "kind": "chat", "characters": 10, "parallel": "s",
     "tokens": {"t": 15}, "estimates": {"e": 3, "f": 15}},
]  # fmt: skip


def test_bias_mae_p95_and_worst_by_hand() -> None:
    e, f = estimation.ErrorTable(ESTIMATES).summarise(None)
    assert (e.tokenizer, e.estimator, e.texts, e.tokens) == ("t", "e", 4, 55)
    assert e.bias is not None
    assert e.mae is not None
    assert e.p95 is not None
    assert e.bias.mean == pytest.approx((35 - 55) / 55)
    assert e.mae.mean == pytest.approx((2 + 10 + 0 + 12) / 55)
    assert [e.worst, len(e.worst_text)] == pytest.approx([12 / 15, len("b#1")])
    assert e.p95.mean == pytest.approx(12 / 15)  # of 1/5, 1/3, 4/5: the third of three
    assert e.p95.n == 3  # a text without tokens has no relative error
    assert f.bias is not None
    assert f.bias.mean == pytest.approx(5 / 55)


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("language", ["en", "zh-Hans"]),
        ("script", ["Hans", "Latn"]),
        ("kind", ["chat", "code"]),
        ("length", ["< 50", "< 1,000"]),
    ],
)
def test_groups(by: str, groups: list[str]) -> None:
    assert [row.group for row in estimation.ErrorTable(ESTIMATES).summarise(by) if row.estimator == "e"] == groups


def test_a_table_without_rows_has_no_summary() -> None:
    assert estimation.ErrorTable([]).summarise("language") == []


def test_fertility_and_premium_by_hand() -> None:
    english, chinese = fertility.fertility(ESTIMATES)
    assert (english.tokens, english.characters, english.tokens_per_character, english.premium) == (
        40,
        240,
        40 / 240,
        1.0,
    )
    assert (chinese.tokens_per_character, chinese.premium) == (1.5, 1.5)  # 15 tokens for what English says in 10


def contexts(name: str, *pairs: tuple[int, int]) -> list[dict[str, Any]]:
    """Contexts of a conversation as (tokens of the prompt, estimate)."""
    return [{"conversation": name, "prompt": {"t": t}, "tokens": {"t": t}, "estimates": {"e": e}} for t, e in pairs]


@pytest.mark.parametrize(
    ("pairs", "late", "early"),
    [
        ([(50, 50), (90, 95), (120, 125)], 0, 0),  # the estimate passes 100 when the prompt does
        ([(50, 30), (110, 70), (160, 105)], 10, 0),  # once, 110 were sent
        ([(50, 30), (110, 70), (160, 90)], 60, 0),  # never compressed
        ([(50, 70), (80, 110)], 0, 20),  # 20 tokens thrown away
    ],
)
def test_trigger_by_hand(pairs: list[tuple[int, int]], late: int, early: int) -> None:
    outcome = trigger.trigger(contexts("a", *pairs), "t", "e", 100)
    assert outcome is not None
    assert (outcome.late, outcome.early) == (late, early)


def test_conversations_below_the_window_do_not_count() -> None:
    rows = contexts("a", (50, 60)) + contexts("b", (80, 110)) + contexts("c", (150, 90))
    (summary,) = trigger.summarise(rows, [100])
    assert (summary.window, summary.conversations) == ("100", 2)
    assert summary.late is not None
    assert summary.early is not None
    assert (summary.late.mean, summary.late_tokens, summary.early.mean, summary.early_tokens) == (0.5, 50, 0.5, 20)
    (half,) = trigger.summarise(contexts("a", (40, 40), (100, 60)), [0.5])
    assert half.late is not None
    assert (half.window, half.conversations, half.late.mean) == ("0.5", 1, 0.0)
    assert trigger.summarise([], [100]) == []


def test_claims_have_verdicts() -> None:
    rows = [
        {"text": f"{lang}#0", "conversation": lang, "language": lang, "kind": "chat", "characters": 1, "parallel": None,
         "tokens": {"o200k_base": 100}, "estimates": {"chars4": estimate}}
        for lang, estimate in (("en", 105), ("zh-Hans", 40))
    ]  # fmt: skip
    by_language = estimation.ErrorTable(rows).summarise("language")
    found = claims.claims(by_language, [Speed("chars4", "estimator", 0.1, 100.0)])
    assert [one.verdict for one in found] == ["does not hold", "holds", "holds", "holds"]
    assert "zh-Hans -60 %" in found[2].measured
    assert "| it underestimates Chinese | holds | zh-Hans -60 % |" in claims.markdown(found, "made")
    assert {one.verdict for one in claims.claims([], [])} == {"no data"}
