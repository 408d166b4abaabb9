"""The test of one share: a bet that can be paid from four sums, in any order."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.observability.drift.shift import Shift, log_sum
from sluicegate.observability.sequential import FRACTIONS, MeanTest, stake_weights

units = st.lists(st.floats(-1.0, 1.0), max_size=40)
whole = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=200)
MARGINS = (0.01, 0.05, 0.3)


def folded(values: list[float]) -> Shift:
    shift = Shift()
    for value in values:
        shift.add(value)
    return shift


def square(values: list[float], margin: float) -> float:
    """The second half of the e-value, term by term (Fan, Grama and Liu 2015, lemma 4.1)."""
    weights = stake_weights(1.0)
    logs = [
        sum(s * (margin - x) - (-math.log(1 - s) - s) * (margin - x) ** 2 for x in values) for s in FRACTIONS
    ]
    return log_sum(log + math.log(weight) for log, weight in zip(logs, weights, strict=True)) - math.log(
        sum(weights)
    )


@given(whole)
def test_units_of_one_run_pay_what_the_betting_test_pays(values: list[float]) -> None:
    """Half of the e-value is that of MeanTest (Waudby-Smith and Ramdas), to the last digits."""
    test = MeanTest(-1.0, 1.0, 0.0)
    for value in values:
        test.add(value)
    expected = log_sum([test.log_e, square([-x for x in values], 0.0)]) - math.log(2.0)
    assert folded(values).rose(len(values)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert folded([-x for x in values]).fell(len(values)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("margin", MARGINS)
@given(values=whole)
def test_safety_of_units_of_one_run_is_the_betting_tests(margin: float, values: list[float]) -> None:
    sides = []
    for sign in (1.0, -1.0):
        test = MeanTest(-1.0, 1.0, -margin)
        for value in values:
            test.add(-sign * value)
        sides.append(log_sum([test.log_e, square([sign * x for x in values], margin)]) - math.log(2.0))
    assert folded(values).kept(len(values), margin) == pytest.approx(min(sides), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("margin", [0.0, *MARGINS])
@given(x=st.floats(-1.0, 1.0), stake=st.sampled_from(FRACTIONS))
def test_no_bet_pays_more_than_the_capital_it_stands_for(margin: float, x: float, stake: float) -> None:
    """Chord and square of one unit against log(1 + s z): so the capital's expectation is at most 1 under the null."""
    from sluicegate.observability.drift.shift import _lines

    sums = (1.0, max(x, 0.0), max(-x, 0.0), x * x)
    place = FRACTIONS.index(stake)
    for half, s in ((0, stake / (1.0 - margin)), (len(FRACTIONS), stake)):
        line = _lines(margin)[0][half + place]
        paid = sum(a * b for a, b in zip(line, sums, strict=True))
        assert paid <= math.log1p(s * (margin - x)) + 1e-12


@given(units, st.randoms(use_true_random=False))
def test_the_order_of_units_changes_nothing_but_rounding(values: list[float], shuffler: object) -> None:
    other = list(values)
    shuffler.shuffle(other)  # type: ignore[attr-defined]
    n = len(values)
    for one, two in itertools.pairwise((folded(values), folded(other))):
        assert one.rose(n) == pytest.approx(two.rose(n), abs=1e-9)
        assert one.kept(n, 0.05) == pytest.approx(two.kept(n, 0.05), abs=1e-9)


@given(units)
def test_state_comes_back_bit_for_bit(values: list[float]) -> None:
    shift = folded(values)
    assert Shift.from_json(shift.to_json()) == shift


@given(units, st.floats(-1.0, 1.0))
def test_a_unit_can_be_left_out(values: list[float], first: float) -> None:
    rest = folded([first, *values]).without(first)
    assert rest.rose(len(values)) == pytest.approx(folded(values).rose(len(values)), abs=1e-9)


@pytest.mark.parametrize("x", [1.1, -1.1, math.nan, math.inf])
def test_what_is_no_difference_of_shares_is_refused(x: float) -> None:
    with pytest.raises(ValueError, match="outside"):
        Shift().add(x)


def test_nothing_seen_says_nothing() -> None:
    assert Shift().rose(0) == pytest.approx(0.0, abs=1e-12)
    assert Shift().kept(0, 0.05) == pytest.approx(0.0, abs=1e-12)
    assert Shift().growth(0, 0.05) is None


def test_a_value_that_never_appears_is_shown_to_stay_away() -> None:
    """Zeros alone reach 1/0.05 after about 73 units at a margin of 5 points: (1 + 0.9 * 0.05 / 0.95)^n, mixed."""
    needed = next(n for n in range(1, 1000) if Shift().kept(n, 0.05) >= math.log(20.0))
    alone = math.log(20.0) / math.log1p(0.9 * 0.05 / 0.95)
    assert alone < needed < 2.0 * alone
