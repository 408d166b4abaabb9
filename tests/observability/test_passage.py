"""Units until a test speaks: the closed form against simulations of the mixture, and the bound against the test itself.

Oracle: tests/observability/simulation.py, written from the mixture's formula. Tolerance: 0.12 in chance, where 400 runs
have a standard error of 0.025 at most.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.observability.passage import Passage, first, least_units
from sluicegate.observability.sequential import MeanTest
from tests.observability import simulation as sim

Values = list[tuple[float, float]]
RUNS = 400


def paired(candidate: float, stable: float, sign: float = 1.0) -> Values:
    up, down = candidate * (1 - stable), stable * (1 - candidate)
    return [(sign, up), (-sign, down), (0.0, 1 - up - down)]


def split(candidate: float, stable: float, beside: int, sign: float = 1.0) -> Values:
    return [
        (
            sign * (value - bad / beside),
            p * math.comb(beside, bad) * stable**bad * (1 - stable) ** (beside - bad),
        )
        for value, p in ((1.0, candidate), (0.0, 1 - candidate))
        for bad in range(beside + 1)
    ]


def one(rate: float, sign: float = 1.0) -> Values:
    return [(sign, rate), (0.0, 1 - rate)]


CASES = {
    "harm, pairs, 5 → 10 %": (paired(0.10, 0.05), -1.0, 0.0, 0.0029),
    "harm, pairs, 1 → 6 %": (paired(0.06, 0.01), -1.0, 0.0, 0.0007),
    "harm, pairs, 5 → 35 %": (paired(0.35, 0.05), -1.0, 0.0, 0.0029),
    "harm, beside 4, 5 → 10 %": (split(0.10, 0.05, 4), -1.0, 0.0, 0.0029),
    "harm, beside 19, 2 → 6 %": (split(0.06, 0.02, 19), -1.0, 0.0, 0.05),
    "harm, one arm, 9 % against 7 %": (one(0.09), 0.0, 0.07, 0.05),
    "safe, pairs, equal 5 %, margin 5": (paired(0.05, 0.05, -1), -1.0, -0.05, 0.05),
    "safe, pairs, equal 10 %, margin 5": (paired(0.10, 0.10, -1), -1.0, -0.05, 0.05),
    "safe, beside 4, equal 5 %, margin 5": (split(0.05, 0.05, 4, -1), -1.0, -0.05, 0.05),
    "safe, one arm, 5 % against 10 %": (one(0.05, -1), -1.0, -0.10, 0.05),
}


@pytest.mark.parametrize("sentence", CASES)
def test_the_chance_is_that_of_the_simulation(sentence: str) -> None:
    values, low, null, alpha = CASES[sentence]
    generator = np.random.default_rng([19, list(CASES).index(sentence)])
    drawn, chances = (np.array(column) for column in zip(*values, strict=True))
    units = 2500
    x = drawn[generator.choice(len(drawn), size=(RUNS, units), p=chances / chances.sum())]
    crossed = sim.first_crossing(sim.log_e(x, low, null), alpha)
    passage = Passage(values, low=low, null=null)
    for quantile in (0.1, 0.25, 0.5, 0.8, 0.95):
        at = np.quantile(crossed, quantile, method="inverted_cdf")
        if at <= units:
            real = float((crossed <= at).mean())
            assert passage.chance(at, -math.log(alpha)) == pytest.approx(real, abs=0.12), (quantile, at)


def test_values_that_never_differ_are_decided_when_the_test_itself_is() -> None:
    test, units = MeanTest(-1.0, 1.0, -0.05), 0
    while test.log_e < math.log(20):
        test.add(0.0)
        units += 1
    assert Passage([(0.0, 1.0)], low=-1.0, null=-0.05).units(0.5, math.log(20)) == units


@pytest.mark.parametrize(
    ("low", "high", "null"), [(-1.0, 1.0, 0.0), (-1.0, 1.0, -0.02), (0.0, 1.0, 0.07), (-1.0, 0.0, -0.1)]
)
@pytest.mark.parametrize("alpha", [0.05, 0.0029])
def test_fewer_units_than_the_least_never_reach_the_threshold(
    low: float, high: float, null: float, alpha: float
) -> None:
    least = least_units(low=low, high=high, null=null, log_threshold=-math.log(alpha))
    test = MeanTest(low, high, null)
    for unit in range(1, least + 1):
        test.add(high)
        assert (test.log_e >= -math.log(alpha)) is (unit >= least)


@settings(max_examples=60, deadline=None)
@given(
    bad=st.floats(0.01, 0.4),
    margin=st.floats(0.01, 0.2),
    more=st.floats(1.05, 3.0),
    alpha=st.sampled_from([0.05, 0.01]),
)
def test_a_larger_margin_never_needs_more_units(bad: float, margin: float, more: float, alpha: float) -> None:
    def units(margin: float) -> int:
        found = Passage(paired(bad, bad, -1), low=-1.0, null=-margin).units(0.5, -math.log(alpha))
        return 10**9 if found is None else found

    assert units(margin * more) <= 1.02 * units(margin) + 1  # the quantile is as exact as 1 %


@settings(max_examples=60, deadline=None)
@given(bad=st.floats(0.01, 0.3), worse=st.floats(0.01, 0.3), units=st.integers(10, 5000))
def test_more_harm_is_found_sooner_and_more_units_find_more(bad: float, worse: float, units: int) -> None:
    def chance(worse: float, units: int) -> float:
        return Passage(paired(bad + worse, bad), low=-1.0, null=0.0).chance(units, math.log(340))

    assert chance(worse, units) <= chance(1.3 * worse, units) + 0.01
    assert chance(worse, units) <= chance(worse, 2 * units) + 0.01


def test_what_never_grows_is_never_decided() -> None:
    passage = Passage(paired(0.2, 0.05, -1), low=-1.0, null=-0.01)  # worse by 15 points, margin 1
    assert not passage.grows
    assert passage.units(0.5, math.log(20)) is None
    assert passage.chance(0, math.log(20)) == 0.0


def test_the_first_units_of_a_chance() -> None:
    assert first(lambda units: units / 1000, 0.5) == pytest.approx(500, rel=0.01)
    assert first(lambda units: float(units >= 7), 0.5) == 7
    assert first(lambda _units: 0.4, 0.5) is None
