"""The table of coalitions: sums that do not depend on the order, and survive being written."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.observability.contributions.cells import Cells

PLAYERS = ("planner", "tools", "writer")
UNITS = st.lists(st.tuples(st.integers(0, 7), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=40)


def table(units: list[tuple[int, float]]) -> Cells:
    cells = Cells(PLAYERS)
    for mask, reward in units:
        cells.add(mask, reward)
    return cells


@given(UNITS.flatmap(lambda units: st.tuples(st.just(units), st.permutations(units))))
def test_in_any_order(orders: tuple[list[tuple[int, float]], list[tuple[int, float]]]) -> None:
    one, other = orders
    assert table(one).to_json() == table(other).to_json()


@given(UNITS)
def test_written_and_read(units: list[tuple[int, float]]) -> None:
    cells = table(units)
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


def test_counts_what_is_missing() -> None:
    assert table([(0, 1.0), (7, 1.0), (7, 0.0)]).empty() == 6


@pytest.mark.parametrize(("mask", "reward"), [(8, 0.5), (-1, 0.5), (1, 1.5), (1, float("nan"))])
def test_what_is_no_unit(mask: int, reward: float) -> None:
    with pytest.raises(ValueError, match=r"coalition|reward"):
        Cells(PLAYERS).add(mask, reward)


@pytest.mark.parametrize(
    "cells", [[[1, 0, 0.0, 0.0]], [[1, 1, float("nan"), 1.0]], [[8, 1, 0.0, 0.0]], [[1]]]
)
def test_what_cannot_be_read(cells: list[list[float]]) -> None:
    state = Cells(PLAYERS).to_json() | {"cells": cells}
    with pytest.raises((ValueError, TypeError)):
        Cells.from_json(state)
