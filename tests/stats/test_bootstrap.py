"""The clustered bootstrap: right values, honest intervals, no dependence on order or chunks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from vlmdx.stats import bootstrap as module
from vlmdx.stats import bootstrap_statistic, cluster_bootstrap, null_if_nan


def clustered(seed, clusters=40, per_cluster=5, between=1.0, within=0.5):
    rng = np.random.default_rng(seed)
    ids = np.repeat(np.arange(clusters), per_cluster)
    return ids, rng.normal(0, between, clusters)[ids] + rng.normal(0, within, len(ids))


def test_value_is_the_mean_and_the_ratio_of_sums():
    ids, x = clustered(1)
    group = x > 0
    interval = cluster_bootstrap(ids, np.c_[x, x * group], np.c_[np.ones_like(x), group], seed=1)
    assert interval.value == pytest.approx([x.mean(), x[group].mean()], abs=1e-12)
    assert (interval.low < interval.value).all() and (interval.value < interval.high).all()


def test_independent_of_row_order_to_the_last_bit():
    ids, x = clustered(2)
    order = np.random.default_rng(0).permutation(len(x))
    names = np.array([f"image {i}" for i in ids])
    one = cluster_bootstrap(names, x, seed=7)
    other = cluster_bootstrap(names[order], x[order], seed=7)
    assert [a.tolist() for a in one] == [b.tolist() for b in other]


def test_seed_decides_and_repeats():
    ids, x = clustered(3)
    low = [cluster_bootstrap(ids, x, seed=seed).low[0] for seed in (1, 1, 2)]
    assert low[0] == low[1] != low[2]


def test_chunks_do_not_change_the_result(monkeypatch):
    ids, x = clustered(4)
    whole = cluster_bootstrap(ids, x, replicates=500, seed=5)
    monkeypatch.setattr(module, "CHUNK_BYTES", 8 * 42 * 7)
    assert [a.tolist() for a in cluster_bootstrap(ids, x, replicates=500, seed=5)] == [b.tolist() for b in whole]


def test_sums_per_cluster_give_the_same_as_rows():
    ids, x = clustered(5)
    rows = cluster_bootstrap(ids, x, seed=3)
    sums = cluster_bootstrap(np.arange(40), np.bincount(ids, x), np.bincount(ids), seed=3)
    assert np.array(rows) == pytest.approx(np.array(sums), abs=1e-12)


def test_agrees_with_scipy_where_every_row_is_its_own_cluster():
    x = np.random.default_rng(6).gamma(2, size=200)
    ours = cluster_bootstrap(np.arange(200), x, replicates=20_000, seed=1)
    theirs = scipy_bootstrap((x,), np.mean, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    assert (ours.low[0], ours.high[0]) == pytest.approx(theirs, abs=0.01)


def test_coverage_is_near_its_level_and_naive_intervals_are_too_narrow():
    hits = {"clustered": 0, "rows": 0}
    for seed in range(300):
        ids, x = clustered(seed + 100)
        for name, groups in (("clustered", ids), ("rows", np.arange(len(x)))):
            interval = cluster_bootstrap(groups, x, replicates=400, seed=seed)
            hits[name] += int(interval.low[0] <= 0 <= interval.high[0])
    assert 0.89 <= hits["clustered"] / 300 <= 0.98
    assert hits["rows"] / 300 < 0.75


def test_one_cluster_has_a_value_and_no_interval():
    interval = cluster_bootstrap(["a", "a"], [1.0, 3.0])
    assert null_if_nan(interval.value[0]) == 2.0
    assert null_if_nan(interval.low[0]) is None and null_if_nan(interval.high[0]) is None


def test_group_supported_by_one_cluster_or_none_has_no_interval():
    ids, x = np.arange(10), np.arange(10.0)
    weight = np.zeros((10, 2))
    weight[4, 0] = 1
    interval = cluster_bootstrap(ids, x[:, None] * weight, weight)
    assert interval.value[0] == 4 and np.isnan(interval.value[1])
    assert np.isnan(interval.low).all() and np.isnan(interval.high).all()


def test_p03_missing_numerators_count_in_neither_sum():
    interval = cluster_bootstrap([1, 2, 3, 4], [0.2, np.nan, 0.4, np.nan])
    assert interval.value[0] == pytest.approx(0.3)


def test_rare_group_keeps_defined_replicates_only():
    weight = np.zeros(50)
    weight[:2] = 1
    interval = cluster_bootstrap(np.arange(50), weight * np.r_[1.0, 3.0, np.zeros(48)], weight, seed=2)
    assert (interval.low[0], interval.high[0]) == (1.0, 3.0)


def test_statistic_of_sums_can_be_a_difference():
    ids, x = clustered(8)
    y = x + 1
    table = np.c_[x, y, np.ones_like(x)]
    interval = bootstrap_statistic(ids, table, lambda t: ((t[:, 1] - t[:, 0]) / t[:, 2])[:, None])
    assert np.array(interval).ravel() == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(
    ("numerator", "denominator", "message"),
    [
        ([1.0, 2.0], [1.0], "shape"),
        ([1.0, 2.0], [1.0, -1.0], "negative"),
        ([1.0, 2.0], [1.0, np.nan], "negative or missing"),
        ([1.0, np.inf], None, "not finite"),
        ([], None, "n >= 1"),
        ([1.0], None, "2 cluster ids for 1 rows"),
    ],
)
def test_nonsense_is_refused(numerator, denominator, message):
    with pytest.raises(ValueError, match=message):
        cluster_bootstrap(["a", "b"], numerator, denominator)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1e3, 1e3)), min_size=1, max_size=30))
def test_interval_stays_within_the_range_of_cluster_means(rows):
    ids, x = map(np.array, zip(*rows, strict=True))
    interval = cluster_bootstrap(ids, x, replicates=50)
    means = [x[ids == c].mean() for c in np.unique(ids)]
    if len(means) > 1:
        assert min(means) - 1e-9 <= interval.low[0] <= interval.high[0] <= max(means) + 1e-9
