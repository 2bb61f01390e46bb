import math

import numpy as np
import pytest

from ctxbench.stats.intervals import _draws, _places, proportion, quantile, ratio, ratios


def test_a_proportion_and_its_counts() -> None:
    mean = proportion([1, 1, 0, 1], ["a", "a", "b", "c"])
    assert mean is not None
    assert (mean.mean, mean.n, mean.clusters, mean.method) == (0.75, 4, 3, "bootstrap")
    assert 0 <= mean.low <= 0.75 <= mean.high <= 1


def test_one_cluster_gives_wilsons_interval() -> None:
    # Wilson for 8 of 10 with z = 1.959964: centre (8 + z²/2) / (10 + z²) = 0.716740, half width 0.226578
    mean = proportion([1] * 8 + [0] * 2, ["a"] * 10)
    assert mean is not None
    assert mean.method == "wilson"
    assert [mean.low, mean.high] == pytest.approx([0.490162, 0.943318], abs=1e-5)


def test_without_variance_the_interval_is_not_a_point() -> None:
    mean = proportion([1] * 20, [str(i % 4) for i in range(20)])
    assert mean is not None
    assert (mean.mean, mean.method, mean.high) == (1.0, "wilson", 1.0)
    assert mean.low < 0.9


def test_no_data_is_no_mean() -> None:
    assert proportion([], []) is None
    assert ratio([1.0], [0.0], ["a"]) is None


def test_a_ratio_of_sums_by_hand() -> None:
    mean = ratio([1, -3, 2], [10, 20, 10], ["a", "b", "c"])
    assert mean is not None
    assert mean.mean == 0.0
    assert mean.low == pytest.approx(-0.15, abs=1e-9)  # the lowest resample is b, b, b: -9/60
    assert mean.high == pytest.approx(0.2, abs=1e-9)  # c, c, c: 6/30


def test_one_cluster_has_no_interval_of_a_ratio() -> None:
    mean = ratio([1, 2], [10, 10], ["a", "a"])
    assert mean is not None
    assert mean.mean == 0.15
    assert math.isnan(mean.low)


def test_the_same_seed_gives_the_same_interval() -> None:
    hits = np.random.default_rng(1).integers(0, 2, 60).tolist()
    clusters = [str(i // 6) for i in range(60)]
    assert proportion(hits, clusters, 3) == proportion(hits, clusters, 3)


def test_units_that_agree_within_clusters_widen_the_interval() -> None:
    clustered = proportion([1] * 30 + [0] * 30, [str(i // 10) for i in range(60)])
    mixed = proportion([1, 0] * 30, [str(i // 10) + "x" * (i % 3) for i in range(60)])
    assert clustered is not None
    assert mixed is not None
    assert clustered.high - clustered.low > 2 * (mixed.high - mixed.low)


def test_the_bootstrap_agrees_with_scipys() -> None:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(5)
    top, bottom = rng.poisson(20, 40).astype(float), rng.poisson(50, 40).astype(float) + 1
    mean = ratio(top, bottom, [str(i) for i in range(40)])
    assert mean is not None
    theirs = bootstrap(
        (top, bottom), lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis), paired=True, vectorized=True,
        n_resamples=20_000, method="percentile", rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    # ours is expanded for 40 clusters: by sqrt(40 / 39) and by t instead of normal quantiles, 4.5 % in all
    widened = 1.045 * (theirs.high - theirs.low) / 2
    middle = (theirs.high + theirs.low) / 2
    assert [mean.low, mean.high] == pytest.approx([middle - widened, middle + widened], abs=0.006)


def test_the_linearised_interval_agrees_with_the_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    top, bottom = rng.normal(2, 3, 480), rng.uniform(5, 15, 480)
    names = [str(i) for i in range(480)]
    drawn = ratio(top, bottom, names)
    monkeypatch.setattr("ctxbench.stats.intervals.MANY_CLUSTERS", 100)
    line = ratio(top, bottom, names)
    assert drawn is not None
    assert line is not None
    assert (drawn.method, line.method) == ("bootstrap", "linearised")
    assert [line.low, line.high] == pytest.approx([drawn.low, drawn.high], abs=0.004)


def test_columns_share_their_resamples() -> None:
    rng = np.random.default_rng(7)
    tops, bottoms = rng.normal(0, 1, (30, 3)), np.ones((30, 3))
    clusters = [str(i // 3) for i in range(30)]
    together = ratios(tops, bottoms, clusters, 1)
    alone = [ratio(tops[:, column], bottoms[:, column], clusters, 1) for column in range(3)]
    assert [(m.low, m.high) for m in together if m] == [pytest.approx((m.low, m.high)) for m in alone if m]


def test_a_quantile_and_its_interval() -> None:
    values = np.arange(1.0, 101.0)
    clusters = [str(i % 20) for i in range(100)]
    p95 = quantile(values, clusters, 0.95)
    assert p95 is not None
    assert p95.mean == 95.0
    assert 85 <= p95.low < 95 < p95.high <= 100
    assert quantile(np.array([]), [], 0.95) is None
    single = quantile(values, ["a"] * 100, 0.95)
    assert single is not None
    assert math.isnan(single.low)


@pytest.mark.parametrize(("n", "clusters"), [(1, 1), (2, 2), (37, 5), (400, 30)])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 1.0])
def test_quantiles_of_resamples_are_found_by_blocks_as_one_by_one(n: int, clusters: int, share: float) -> None:
    index = np.random.default_rng(n).permutation(np.arange(n) % clusters)
    drawn = _draws(clusters, 200, 3)
    weights = np.cumsum(drawn[:, index], axis=1)
    one_by_one = np.minimum((weights < share * weights[:, -1:]).sum(axis=1), n - 1)
    assert _places(drawn, index, share).tolist() == one_by_one.tolist()


def test_the_quantiles_interval_by_order_statistics_agrees_with_the_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(8).exponential(1, 480)
    names = [str(i) for i in range(480)]
    drawn = quantile(values, names, 0.9)
    monkeypatch.setattr("ctxbench.stats.intervals.MANY_CLUSTERS", 100)
    ordered = quantile(values, names, 0.9)
    assert drawn is not None
    assert ordered is not None
    assert (drawn.method, ordered.method) == ("bootstrap", "order")
    assert [ordered.low, ordered.high] == pytest.approx([drawn.low, drawn.high], abs=0.25)


@pytest.mark.parametrize("clusters", [8, 20, 77])
def test_intervals_cover_the_truth_as_often_as_they_say(clusters: int) -> None:
    """2,000 data sets of probes that are alike within conversations; the true share is known."""
    rng = np.random.default_rng(clusters)
    names = np.repeat(np.arange(clusters), 10).astype(str)
    covered = 0
    for _ in range(2000):
        chances = rng.beta(2, 2, clusters)  # mean 0.5
        hits = rng.random((clusters, 10)) < chances[:, None]
        mean = proportion(hits.ravel().tolist(), names.tolist())
        assert mean is not None
        covered += mean.low <= 0.5 <= mean.high
    assert 0.93 <= covered / 2000 <= 0.97
