"""The mean test and its e-value."""

import itertools
import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.observability.sequential import FRACTIONS, MeanTest
from tests.observability import simulation

DIFFERENCES = (-1.0, 0.0, 1.0)


def folded(values: list[float], low: float = -1.0, high: float = 1.0, null: float = 0.0) -> MeanTest:
    test = MeanTest(low, high, null)
    for value in values:
        test.add(value)
    return test


@pytest.mark.parametrize(
    ("low", "null", "draw"),
    [
        (-1.0, 0.0, lambda g: g.choice([-1.0, 0.0, 0.0, 1.0], (4, 600))),
        (-1.0, -0.02, lambda g: g.uniform(-1.0, 1.0, (4, 600))),
        (0.0, 0.02, lambda g: (g.random((4, 600)) < 0.04).astype(float)),
    ],
    ids=["harm of pairs", "safe, continuous", "one arm against a rate"],
)
def test_log_e_equals_the_formula_written_in_numpy(
    low: float, null: float, draw: Callable[[np.random.Generator], simulation.Array]
) -> None:
    values = draw(np.random.default_rng(7))
    expected = simulation.log_e(values, low, null)
    for row, path in zip(values, expected, strict=True):
        test = MeanTest(low, 1.0, null)
        for n, value in enumerate(row, start=1):
            test.add(float(value))
            if n % 97 == 0 or n == len(row):
                assert test.log_e == pytest.approx(path[n - 1], rel=1e-9, abs=1e-11)


def expected_e_value(
    chances: Callable[[tuple[float, ...]], tuple[float, ...]], values: tuple[float, ...], null: float, n: int
) -> float:
    """Sum over all sequences of chance times e-value; `chances` may look at the past."""
    total = 0.0
    for sequence in itertools.product(values, repeat=n):
        chance = 1.0
        for i, value in enumerate(sequence):
            chance *= chances(sequence[:i])[values.index(value)]
        test = MeanTest(min(values), max(values), null)
        for value in sequence:
            test.add(value)
        total += chance * math.exp(test.log_e)
    return total


def _restless(past: tuple[float, ...]) -> tuple[float, ...]:
    """Mean 0 given the past, but how often the arms differ depends on it."""
    differ = 0.9 if past and past[-1] > 0 else 0.1
    return (differ / 2, 1 - differ, differ / 2)


@pytest.mark.parametrize(
    ("sentence", "chances", "values", "null", "expected"),
    [
        ("equal arms: exactly one", lambda _: (0.05, 0.9, 0.05), DIFFERENCES, 0.0, 1.0),
        ("equal arms that depend on the past: exactly one", _restless, DIFFERENCES, 0.0, 1.0),
        ("exactly the margin worse: one", lambda _: (0.07, 0.88, 0.05), DIFFERENCES, -0.02, 1.0),
        ("a rate at its limit: one", lambda _: (0.9, 0.1), (0.0, 1.0), 0.1, 1.0),
    ],
)
def test_expectation_at_the_border_of_the_null_is_one(
    sentence: str,
    chances: Callable[[tuple[float, ...]], tuple[float, ...]],
    values: tuple[float, ...],
    null: float,
    expected: float,
) -> None:
    # Oracle: the definition of a test martingale, by enumeration of every sequence of seven values.
    assert expected_e_value(chances, values, null, 7) == pytest.approx(expected, rel=1e-12), sentence


@pytest.mark.parametrize("better", [0.02, 0.1, 0.4])
def test_expectation_inside_the_null_is_below_one(better: float) -> None:
    chances = (0.05 + better, 0.9 - better, 0.05)
    assert expected_e_value(lambda _: chances, DIFFERENCES, 0.0, 7) < 1.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.0000001, -1.0000001])
def test_a_value_outside_the_bounds_is_refused_and_changes_nothing(value: float) -> None:
    test = folded([0.0, 1.0, -0.5])
    before = test.to_json()
    with pytest.raises(ValueError, match="outside"):
        test.add(value)
    assert test.to_json() == before


@pytest.mark.parametrize(
    ("low", "high", "null"),
    [(0, 1, 0), (0, 1, 1), (1, 0, 0.5), (0, 1, math.nan), (-math.inf, 1, 0), (0, math.inf, 1)],
)
def test_a_null_that_cannot_be_tested_is_refused(low: float, high: float, null: float) -> None:
    with pytest.raises(ValueError, match="low < null < high"):
        MeanTest(low, high, null)


def test_without_values_there_is_no_evidence() -> None:
    test = MeanTest(-1.0, 1.0, 0.0)
    assert (test.log_e, test.growth) == (0.0, None)


def test_the_worst_value_for_ever_leaves_a_finite_state() -> None:
    test = folded([-1.0] * 50_000)
    assert math.isfinite(test.log_e)
    assert test.log_e < 0.0


def test_more_distinct_values_than_are_remembered_change_nothing() -> None:
    values = [float(value) for value in np.random.default_rng(3).uniform(-1, 1, 3000)]
    twice = values + values[::-1]
    test = folded(twice)
    logs = [0.0] * len(FRACTIONS)
    for value in twice:
        logs = [log + math.log1p(fraction * value) for log, fraction in zip(logs, FRACTIONS, strict=True)]
    assert test._totals() == pytest.approx(logs, rel=1e-12)
    assert len(test._cache) <= 1024


@given(st.lists(st.floats(-1.0, 1.0), max_size=60), st.integers(0, 60))
def test_a_restart_anywhere_gives_the_same_bits(values: list[float], cut: int) -> None:
    test = folded(values[:cut], null=-0.05)
    test = MeanTest.from_json(json.loads(json.dumps(test.to_json())))
    for value in values[cut:]:
        test.add(value)
    whole = folded(values, null=-0.05)
    assert test.to_json() == whole.to_json()
    assert test.log_e.hex() == whole.log_e.hex()


def test_equal_values_in_a_row_count_each() -> None:
    # Oracle: the definition, the product over the values.
    values = [0.0] * 40 + [1.0] * 3 + [-1.0] + [0.0] * 7
    test = folded(values, null=-0.05)
    logs = [
        math.fsum(math.log1p(fraction * (value + 0.05) / 0.95) for value in values) for fraction in FRACTIONS
    ]
    assert test._totals() == pytest.approx(logs, rel=1e-12)
    assert test.growth == pytest.approx(max(logs) / len(values))


def test_state_of_another_grid_is_refused() -> None:
    state = MeanTest(-1.0, 1.0, 0.0).to_json()
    with pytest.raises(ValueError, match="stakes"):
        MeanTest.from_json({**state, "logs": state["logs"][:-1]})


def test_growth_is_the_best_stakes_mean_log_gain() -> None:
    values = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], 4000, p=[0.05, 0.85, 0.1])
    expected = max(np.mean(np.log1p(stake * values)) for stake in simulation.STAKES)
    test = folded([float(value) for value in values])
    assert test.growth == pytest.approx(expected, rel=1e-9)
    assert folded([-1.0, 0.0]).growth is None


def test_growth_tells_how_many_more_units_are_needed() -> None:
    # The same values again and again: the estimate must come true to within the mixture's constant.
    cycle = [1.0, *[0.0] * 17, -1.0, 0.0] * 2 + [1.0]
    test = folded(cycle * 4)
    assert test.growth is not None
    need = (math.log(1e6) - test.log_e) / test.growth
    have = 0
    while test.log_e < math.log(1e6):
        test.add(cycle[have % len(cycle)])
        have += 1
    assert have == pytest.approx(need, rel=0.2)
