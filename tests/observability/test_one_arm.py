"""The confidence sequence of one arm: against scipy's bounds for a fixed number, and against the tests that it inverts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.observability.one_arm import OneArm
from sluicegate.observability.sequential import FRACTIONS, stake_weights


def counted(bad: int, n: int, limit: float) -> OneArm:
    arm = OneArm(limit)
    for number in range(n):
        value = float(number < bad)
        arm.add(value, value)
    return arm


def clopper_pearson(bad: int, n: int, alpha: float) -> tuple[float, float]:
    """Exact one-sided bounds for a number fixed beforehand, each at level alpha."""
    low = stats.beta.ppf(alpha, bad, n - bad + 1) if bad else 0.0
    high = stats.beta.ppf(1 - alpha, bad + 1, n - bad) if bad < n else 1.0
    return float(low), float(high)


def test_three_hundred_without_a_failure_say_less_than_the_rule_of_three() -> None:
    """At n = 300 the fixed bound is 1 - 0.05^(1/300) = 0.00994 (about 3/n); who may look at any time pays for it."""
    low, high = counted(0, 300, 0.01).ends(math.log(20))
    assert low == 0.0
    assert pytest.approx(0.00994, abs=1e-5) == 1 - 0.05 ** (1 / 300)
    assert 0.00994 < high < 0.02


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3])
@given(data=st.data())
def test_it_holds_the_exact_interval_of_a_fixed_number(alpha: float, data: st.DataObject) -> None:
    """Both reject only for many bad ones, and ours with chance at most alpha, so the most powerful such test rejects as well."""
    n = data.draw(st.integers(1, 200))
    bad = data.draw(st.integers(0, n))
    limit = data.draw(st.sampled_from([0.01, 0.05, 0.3]))
    low, high = counted(bad, n, limit).ends(math.log(1 / alpha))
    exact_low, exact_high = clopper_pearson(bad, n, alpha)
    assert low <= exact_low + 1e-9
    assert high >= exact_high - 1e-9
    assert low <= bad / n <= high


@given(
    values=st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.5, 1 / 3, 1.0]), max_size=120),
    limit=st.sampled_from([0.01, 0.05, 0.5]),
)
def test_the_limit_is_outside_exactly_if_its_test_rejects(values: list[float], limit: float) -> None:
    arm = OneArm(limit)
    for value in values:
        arm.add(value, value)
    low, high = arm.ends(math.log(60))
    assert (low > limit) == (arm.above.log_e >= math.log(60)) or math.isclose(low, limit, rel_tol=1e-9)
    assert (high < limit) == (arm.below.log_e >= math.log(60)) or math.isclose(high, limit, rel_tol=1e-9)


def test_the_upper_end_without_a_bad_one_solves_the_mixture() -> None:
    """sum_k w_k (1 + f_k m / (1 - m))^n = 1/alpha, with the weights of the limit: written out for 150 good ones."""
    n, limit = 150, 0.05
    _, high = counted(0, n, limit).ends(math.log(20))
    weights = stake_weights(1 / (1 - limit))
    capital = sum(w * (1 + f * high / (1 - high)) ** n for w, f in zip(weights, FRACTIONS, strict=True))
    assert capital / sum(weights) == pytest.approx(20.0, rel=1e-6)


def test_what_may_have_been_anything_decides_nothing() -> None:
    arm = OneArm(0.05)
    for _ in range(500):
        arm.add(0.0, 1.0)
    assert arm.ends(math.log(20)) == (0.0, 1.0)
    assert arm.mean == 1.0


@pytest.mark.parametrize("pair", [(-0.1, 0.5), (0.6, 0.5), (0.0, 1.1), (math.nan, 1.0)])
def test_bounds_that_are_none_are_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="least <= most"):
        OneArm(0.05).add(*pair)
