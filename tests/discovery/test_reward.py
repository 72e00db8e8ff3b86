import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vlmdx.discovery.reward import RewardSettings, reward

VERDICTS = (True, False, None)
shares = st.floats(0, 1)
penalties = st.floats(0, 10)


@given(shares, penalties)
def test_valid_and_failed_earns_delta(delta, penalty):
    assert reward(True, False, delta, penalty) == delta >= 0


@given(shares, penalties)
def test_valid_and_answered_earns_nothing(delta, penalty):
    assert reward(True, True, delta, penalty) == 0


@given(st.sampled_from(VERDICTS), shares, penalties)
def test_invalid_costs_the_penalty_whatever_the_answer(correct, delta, penalty):
    assert reward(False, correct, delta, penalty) == -penalty <= 0


@given(st.sampled_from(VERDICTS), shares, penalties)
def test_undecided_is_zero(verdict, delta, penalty):
    assert reward(None, verdict, delta, penalty) == 0
    assert reward(True, None, delta, penalty) == 0


@given(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS), shares, penalties)
def test_reward_is_the_published_formula(valid, correct, delta, penalty):
    v, c = float(valid is True), 0.0 if correct is False else 1.0
    assert reward(valid, correct, delta, penalty) == delta * v * (1 - c) - penalty * (valid is False)


def test_no_reward_is_negative_zero():
    for valid, correct in itertools.product(VERDICTS, VERDICTS):
        assert math.copysign(1, reward(valid, correct, 0.0, 0.0)) == 1


@pytest.mark.parametrize("delta", [math.nan, math.inf, -0.01, 1.01])
def test_delta_out_of_range_is_refused(delta):
    with pytest.raises(ValueError, match="delta"):
        reward(True, False, delta, 0.5)


@pytest.mark.parametrize("penalty", [math.nan, math.inf, -0.5])
def test_penalty_out_of_range_is_refused(penalty):
    with pytest.raises(ValueError, match="penalty"):
        reward(True, False, 0.5, penalty)
    with pytest.raises(ValueError, match="penalty"):
        RewardSettings(penalty=penalty)


@given(shares, shares, shares)
def test_delta_stays_between_its_terms(weight, semantic, lexical):
    delta = RewardSettings(semantic_weight=weight).delta(semantic, lexical)
    assert 0 <= delta <= 1
    assert min(semantic, lexical) - 1e-12 <= delta <= max(semantic, lexical) + 1e-12


def test_without_diversity_every_failure_earns_one():
    assert RewardSettings(diversity=False).delta(0.1, 0.0) == 1.0
