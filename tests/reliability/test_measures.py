"""S, C, RAS and calibration against hand-computed values and their attainable ranges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax
from vlmdx.reliability import brier, ece, entropy, misalignment, ras


def score(clean, corrupted, gold=0):
    return float(ras(entropy(corrupted) - entropy(clean), misalignment(corrupted, gold) - misalignment(clean, gold)))


@pytest.mark.parametrize("delta_s", [-1.0, -0.3, 0.0, 0.7, 1.0])
def test_ras_is_zero_where_alignment_did_not_change(delta_s):
    assert ras(delta_s, 0.0) == 0


def test_ras_check_points():
    assert score([1, 0], [0, 1]) == -1  # right and certain -> wrong and certain
    assert score([0, 1], [1, 0]) == 1  # wrong and certain -> right and certain
    assert score([1, 0], [0.5, 0.5]) == -0.5  # dC = 0.5, dS = 1: uncertainty grew, so no second product
    assert float(ras(-1, 1)) == -2 and float(ras(1, -1)) == 0  # both bounds of the products


def test_ras_uses_two_different_products():
    assert float(ras(0.5, -0.4)) == pytest.approx(0.4 - 0.4 * 0.5)  # wavering support
    assert float(ras(-0.5, 0.4)) == pytest.approx(-0.4 - 0.4 * 0.5)  # overconfident degradation
    assert float(ras(-0.5, -0.4)) == pytest.approx(0.4)
    assert float(ras(0.5, 0.4)) == pytest.approx(-0.4)


def test_entropy_and_misalignment_by_hand():
    assert entropy([0, 1, 0]) == 0
    for k in range(2, 31):
        assert entropy(np.full(k, np.float32(1 / k))) == pytest.approx(1, abs=1e-7)
    assert entropy([0.5, 0.5, 0, 0]) == pytest.approx(0.5)
    assert misalignment([0.7, 0.3], 0) == pytest.approx(0.3)
    assert misalignment([0.7, 0.3], 1) == pytest.approx(0.7)
    assert misalignment([[0.7, 0.3], [0.2, 0.8]], [1, 1]) == pytest.approx([0.7, 0.2])


def test_m07_tie_is_decided_by_the_answer_given_and_not_by_position():
    assert misalignment([0.5, 0.5], 0, chosen=1) == misalignment([0.5, 0.5], 1, chosen=0) == 0.5
    assert misalignment([0.4, 0.4, 0.2], 1, chosen=1) == pytest.approx(0.6)
    assert misalignment([0.4, 0.4, 0.2], 1, chosen=0) == pytest.approx(0.4)


@pytest.mark.parametrize("p", [[1.0], [0.5, 0.6], [np.nan, 1.0], [1.5, -0.5], 0.3])
def test_m08_what_is_no_distribution_is_refused(p):
    with pytest.raises(ValueError, match=r"at least two options|must lie in"):
        entropy(p)


def distributions(k):
    return st.lists(st.floats(-30, 30), min_size=k, max_size=k).map(softmax)


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(2, 8))
def test_ras_stays_in_its_range(data, k):
    clean, corrupted = data.draw(distributions(k)), data.draw(distributions(k))
    value = score(clean, corrupted, data.draw(st.integers(0, k - 1)))
    assert -2 <= value <= 1


@pytest.mark.parametrize(("k", "minimum"), [(2, -1.378), (3, -4 / 3), (4, -1.5), (5, -1.6)])
def test_attainable_minimum_is_approached_and_never_crossed(k, minimum):
    rng = np.random.default_rng(k)
    # Random search over sharp and flat distributions; ties matter, so some options get exactly equal logits.
    logits = np.round(rng.normal(0, 1, (2, 200_000, k)) * 10 ** rng.uniform(-1, 1.5, (2, 200_000, 1)), 1)
    clean, corrupted = softmax(logits, axis=-1)
    values = ras(entropy(corrupted) - entropy(clean), misalignment(corrupted, 0) - misalignment(clean, 0))
    start = values.argmin()

    def objective(both):
        return score(softmax(both[:k]), softmax(both[k:]))

    found = [values.min()]
    for best in np.argsort(values)[:5]:
        refined = minimize(objective, np.r_[logits[0, best], logits[1, best]], method="Nelder-Mead")
        found.append(refined.fun)
    assert values[start] == values.min()
    assert min(found) >= minimum - 5e-4
    assert min(found) <= minimum + 0.02


def test_brier_and_ece_by_hand():
    assert brier([0.7, 0.2, 0.1], 0) == pytest.approx(0.09 + 0.04 + 0.01)
    assert brier([0, 1], 0) == 2
    # Bins of width 0.5: (0, 0.5] holds the first two, (0.5, 1] the others.
    assert ece([0.4, 0.5, 0.9, 0.8], [0, 1, 1, 1], bins=2) == pytest.approx(abs(1 - 0.9) / 4 + abs(2 - 1.7) / 4)
    assert ece([1.0, 0.0], [1, 0], bins=10) == 0
    with pytest.raises(ValueError, match="no answers"):
        ece([], [])
