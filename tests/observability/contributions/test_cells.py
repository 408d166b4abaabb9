"""The table of coalitions: sums that merge in any order, survive being written, and forget at a chosen pace."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.observability.contributions.cells import Cells

PLAYERS = ("planner", "tools", "writer")
UNITS = st.lists(st.tuples(st.integers(0, 7), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=40)


def table(units: list[tuple[int, float]], half_life: float | None = None) -> Cells:
    cells = Cells(PLAYERS, half_life)
    for mask, reward in units:
        cells.add(mask, reward)
    return cells


@given(UNITS, UNITS)
def test_merged_in_any_order(one: list[tuple[int, float]], two: list[tuple[int, float]]) -> None:
    left, right = table(one), table(two)
    left.merge(table(two))
    right.merge(table(one))
    assert left.to_json() == right.to_json() == table(one + two).to_json()


@given(UNITS, st.sampled_from([None, 5.0]))
def test_written_and_read(units: list[tuple[int, float]], half_life: float | None) -> None:
    cells = table(units, half_life)
    read = Cells.from_json(json.loads(json.dumps(cells.to_json())))
    assert read.to_json() == cells.to_json()
    for copy in (read, cells):
        copy.add(3, 0.5)
    assert read.to_json() == cells.to_json()


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30))
def test_mean_and_scatter_are_numpys(rewards: list[float]) -> None:
    cell = table([(5, reward) for reward in rewards]).by_mask[5]
    assert cell.count == len(rewards)
    assert cell.mean == pytest.approx(np.mean(rewards))
    assert cell.scatter == pytest.approx(np.var(rewards) * len(rewards), abs=1e-9)


def test_forgets_by_half() -> None:
    """A half life of 10: the unit ten units ago weighs a half; Kish's size tends to (1+q)/(1−q), q = 2^(−1/10)."""
    rewards = np.random.default_rng(1).random(400)
    cells = table([(1, float(reward)) for reward in rewards], half_life=10.0)
    weights = 2.0 ** (-np.arange(400)[::-1] / 10.0)
    assert cells.by_mask[1].mean == pytest.approx(np.average(rewards, weights=weights))
    q = 2.0**-0.1
    assert cells.by_mask[1].count == pytest.approx((1 + q) / (1 - q))


def test_forgetting_never_overflows() -> None:
    cells = table([(i % 8, 1.0) for i in range(3000)], half_life=1.0)
    assert all(cell.mean == pytest.approx(1.0) for cell in cells.by_mask.values())
    assert cells.by_mask[7].weight < 1e200


def test_counts_what_is_missing() -> None:
    assert table([(0, 1.0), (7, 1.0), (7, 0.0)]).empty() == 6


@pytest.mark.parametrize(("mask", "reward"), [(8, 0.5), (-1, 0.5), (1, 1.5), (1, float("nan"))])
def test_what_is_no_unit(mask: int, reward: float) -> None:
    with pytest.raises(ValueError, match=r"coalition|reward"):
        Cells(PLAYERS).add(mask, reward)


def test_other_players_are_another_game() -> None:
    with pytest.raises(ValueError, match="other players"):
        Cells(PLAYERS).merge(Cells(("planner",)))


@pytest.mark.parametrize("cells", [[[1, 0.0, 0.0, 0.0, 0.0]], [[1, 1.0, 1.0, float("nan"), 1.0]], [[1]]])
def test_what_cannot_be_read(cells: list[list[float]]) -> None:
    state = Cells(PLAYERS).to_json() | {"cells": cells}
    with pytest.raises((ValueError, TypeError)):
        Cells.from_json(state)
