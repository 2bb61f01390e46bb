from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from ctxbench.errors import CtxbenchError
from ctxbench.stats.compare import Paired, config_differences, flipped, holm, match, paired
from ctxbench.stats.intervals import ratio

Row = dict[str, Any]


def row(conversation: str, probe: str = "p", **fields: Any) -> Row:
    return {
        "conversation": conversation, "probe": probe, "category": "fact", "budget": "0.25", "round": 0,
        "retained": None, "recall": None, "answered": None, "tokens_context": None, **fields,
    }  # fmt: skip


def rows(metric: str, values: Sequence[Any], conversations: str = "") -> list[Row]:
    """A row a value; each in a conversation of its own unless they are named by a letter each."""
    names = conversations or "abcdefgh"[: len(values)]
    pairs = zip(names, values, strict=True)
    return [row(name, str(index), **{metric: value}) for index, (name, value) in enumerate(pairs)]


def only(found: list[Paired]) -> Paired:
    (one,) = found
    return one


HAND_A = rows("retained", [False, False, True, False, False, True], "aabbcd")
HAND_B = rows("retained", [True, True, True, True, True, False], "aabbcd")


def test_means_and_difference_by_hand() -> None:
    one = only(paired(HAND_A, HAND_B))
    assert (one.metric, one.n, one.clusters) == ("retained", 6, 4)
    assert [one.before, one.after, one.difference] == pytest.approx([2 / 6, 5 / 6, 3 / 6])


def test_the_interval_is_that_of_ratio_and_the_smallest_difference_follows_from_it() -> None:
    one = only(paired(HAND_A, HAND_B, seed=3))
    mean = ratio([1, 1, 0, 1, 1, -1], [1] * 6, list("aabbcd"), 3)
    assert mean is not None
    assert (one.difference, one.low, one.high) == (mean.mean, mean.low, mean.high)
    assert one.smallest == pytest.approx(2.8 * (mean.high - mean.low) / 3.92)


def test_the_permutation_test_flips_whole_conversations() -> None:
    # Sums of the conversations: 2, 1, 1, -1, together 3. Of the 16 patterns of signs one gives 5 and three give 3,
    # and as many give -5 and -3: 8 of 16. Flipping the six probes by themselves would give 14 of 64.
    totals = [abs(sum(sign * size for sign, size in zip(signs, (2, 1, 1, -1), strict=True)))
              for signs in product((1, -1), repeat=4)]  # fmt: skip
    assert sum(total >= 3 for total in totals) / 16 == 0.5
    assert only(paired(HAND_A, HAND_B)).p == pytest.approx(0.5)


def test_the_least_p_of_four_conversations_is_two_of_sixteen() -> None:
    one = only(paired(rows("recall", [0.1, 0.2, 0.3, 0.4]), rows("recall", [0.3, 0.3, 0.6, 0.5])))
    assert one.p == pytest.approx(2 / 16)


def test_with_many_conversations_the_test_is_drawn_and_the_seed_fixes_it() -> None:
    rng = np.random.default_rng(4)
    names = [f"c{i % 40}" for i in range(120)]
    before = [row(name, str(i), recall=float(rng.uniform(0, 0.5))) for i, name in enumerate(names)]
    after = [{**one, "recall": one["recall"] + float(rng.normal(0.02, 0.1))} for one in before]
    first, again = only(paired(before, after, seed=1)), only(paired(before, after, seed=1))
    assert first == again
    sums = [sum(b["recall"] - a["recall"] for a, b in zip(before[k::40], after[k::40], strict=True)) for k in range(40)]
    drawn = np.abs(rng.choice([-1, 1], (20_000, 40)) @ np.array(sums))
    assert first.p == pytest.approx(float((drawn >= abs(sum(sums))).mean()), abs=0.02)


@pytest.mark.parametrize(
    ("metric", "before", "after", "verdict"),
    [
        ("recall", [0.5, 0.5, 0.5, 0.5], [0.6, 0.7, 0.7, 0.8], "better"),
        ("recall", [0.5, 0.5, 0.5, 0.5], [0.4, 0.3, 0.3, 0.2], "worse"),
        ("recall", [0.5, 0.5, 0.5, 0.5], [0.51, 0.49, 0.51, 0.49], "equivalent"),
        ("recall", [0.5, 0.5, 0.5, 0.5], [0.49, 0.5, 0.8, 0.49], "not worse"),
        ("recall", [0.5, 0.5, 0.5, 0.5], [0.51, 0.5, 0.2, 0.51], "cannot tell"),
        ("recall", [0.5, 0.5, 0.5, 0.5], [0.2, 0.8, 0.7, 0.3], "cannot tell"),
        ("retained", [True, False, True], [True, False, True], "equivalent"),
        ("answered", [False] * 4, [True] * 4, "better"),
        ("tokens_context", [900, 1000, 1100, 1000], [800, 800, 1000, 900], "better"),
        ("tokens_context", [900, 1000, 1100, 1000], [1000, 1200, 1200, 1100], "worse"),
        ("tokens_context", [900, 1000, 1100, 1000], [920, 980, 1120, 980], "equivalent"),  # the margin is 50
        ("tokens_context", [900, 1000, 1100, 1000], [910, 1000, 800, 1010], "not worse"),
        ("tokens_context", [900, 1000, 1100, 1000], [890, 1000, 1400, 990], "cannot tell"),
    ],
)
def test_verdicts(metric: str, before: list[Any], after: list[Any], verdict: str) -> None:
    assert only(paired(rows(metric, before), rows(metric, after))).verdict == verdict


def test_the_margin_says_what_does_not_matter() -> None:
    recalls = rows("recall", [0.5] * 4), rows("recall", [0.2, 0.8, 0.7, 0.3])
    assert [only(paired(*recalls, margin=margin)).verdict for margin in (0.05, 0.5)] == ["cannot tell", "equivalent"]
    tokens = rows("tokens_context", [1000] * 4), rows("tokens_context", [1080, 920, 1080, 920])
    assert [only(paired(*tokens, margin=margin)).verdict for margin in (0.05, 0.1)] == ["cannot tell", "equivalent"]


def test_identical_runs_are_equivalent() -> None:
    one = only(paired(HAND_A, HAND_A))
    assert (one.difference, one.low, one.high, one.p, one.verdict) == (0, 0, 0, 1, "equivalent")
    assert one.smallest is None


def test_one_conversation_tells_nothing_unless_nothing_changed() -> None:
    one = only(paired(rows("recall", [0.1, 0.2], "aa"), rows("recall", [0.9, 0.8], "aa")))
    assert (one.low, one.high, one.p, one.p_adjusted, one.smallest, one.verdict) == (*[None] * 5, "cannot tell")
    assert one.difference == pytest.approx(0.7)
    same = only(paired(rows("recall", [0.1], "a"), rows("recall", [0.1], "a")))
    assert (same.p, same.verdict) == (None, "equivalent")


def test_only_values_that_both_rows_have_count() -> None:
    before, after = rows("retained", [True, None, False, True]), rows("retained", [True, True, None, False])
    del before[0]["answered"]
    one = only(paired(before, after))
    assert (one.n, one.before, one.after) == (2, 1.0, 0.5)
    assert paired([], after) == []


def test_metrics_come_with_p_adjusted_over_them() -> None:
    before = [row(name, retained=False, recall=0.5, tokens_context=100) for name in "abcd"]
    after = [row(name, retained=True, recall=value, tokens_context=90)
             for name, value in zip("abcd", (0.6, 0.4, 0.6, 0.6), strict=True)]  # fmt: skip
    found = paired(before, after)
    assert [one.metric for one in found] == ["retained", "recall", "tokens_context"]
    # recall: sums of 0.1 each, one of them negative: |2| or |4| in 10 of 16 patterns
    assert [one.p for one in found] == pytest.approx([0.125, 0.625, 0.125])
    assert [one.p_adjusted for one in found] == pytest.approx([0.375, 0.625, 0.375])


def test_holm_by_hand() -> None:
    # in order: 4 * 0.005, 3 * 0.01, 2 * 0.03, and 1 * 0.04 may not fall below the one before
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.02, None, 0.03]) == pytest.approx([0.04, None, 0.04])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_rows_are_matched_by_conversation_probe_and_round() -> None:
    a = [row("a", "x"), row("a", "y"), row("a", "y", round=1), row("b", "x")]
    b = [row("a", "y", round=1), row("b", "x"), row("c", "x")]
    matched = match(a, b)
    assert [(one["conversation"], one["probe"], one["round"]) for one, _ in matched.pairs] == [
        ("a", "y", 1), ("b", "x", 0),
    ]  # fmt: skip
    assert all(one == other for one, other in matched.pairs)
    assert (matched.only_a, matched.only_b) == (2, 1)


def test_the_budget_tells_rows_apart_unless_each_run_has_one() -> None:
    quarter, half = row("a", budget="0.25"), row("a", budget="0.5")
    assert match([quarter], [half]).pairs == [(quarter, half)]
    both = match([quarter, half], [half])
    assert (both.pairs, both.only_a, both.only_b) == ([(half, half)], 1, 0)


def test_two_rows_of_one_probe_are_told() -> None:
    with pytest.raises(CtxbenchError, match="the same conversation, probe, round: probes need ids of their own"):
        match([row("a"), row("a")], [row("a")])


def test_flipped_probes_with_both_values() -> None:
    assert flipped(HAND_A, HAND_B) == [
        ("a", "0", "fact", False, True),
        ("a", "1", "fact", False, True),
        ("b", "3", "fact", False, True),
        ("c", "4", "fact", False, True),
        ("d", "5", "fact", True, False),
    ]
    assert flipped(HAND_A, HAND_A) == []
    assert flipped([row("a", retained=None)], [row("a", retained=True)]) == []


def test_differences_of_settings_data_and_versions() -> None:
    a = {
        "config": {"strategy": {"recent_messages": 6, "estimator": {"divisor": 4}}, "budget": 0.25, "resume": None,
                   "results_dir": "x", "hydra": {"run": 1}},
        "dataset": {"name": "core", "languages": ["en"]},
        "packages": {"numpy": "2.0", "scipy": "1.15"},
        "started": "yesterday",
    }  # fmt: skip
    b = {
        "config": {"strategy": {"recent_messages": 12, "estimator": {"divisor": 4}, "pair_tools": True}, "budget": 0.25,
                   "resume": "there", "results_dir": "y", "rounds": None},
        "dataset": {"name": "core", "languages": ["en", "de"]},
        "packages": {"numpy": "2.1"},
        "started": "today",
    }  # fmt: skip
    assert config_differences(a, b) == [
        ("strategy.recent_messages", 6, 12),
        ("data.languages", ["en"], ["en", "de"]),
        ("packages.numpy", "2.0", "2.1"),
        ("packages.scipy", "1.15", None),
        ("strategy.pair_tools", None, True),
    ]
    assert config_differences(a, a) == []
