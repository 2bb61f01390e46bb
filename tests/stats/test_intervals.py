import math

import numpy as np
import pytest

from ctxbench.stats.intervals import proportion, ratio


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
