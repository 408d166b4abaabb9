"""Which φ is given, and when none is."""

import pytest

from sluicegate.observability.contributions.cells import Cells
from sluicegate.observability.contributions.estimate import Model, estimate

NAMES = ("planner", "tools")


def filled(*masks: int, times: int = 30) -> Cells:
    """A deterministic game: 0.25 each, and 0.5 more together."""
    value = {0: 0.0, 1: 0.25, 2: 0.25, 3: 1.0}
    cells = Cells(NAMES)
    for mask in masks * times:
        cells.add(mask, value[mask])
    return cells


@pytest.mark.parametrize("model", [None, *Model])
def test_a_deterministic_game(model: Model | None) -> None:
    found = estimate(filled(0, 1, 2, 3), model)
    assert tuple(item.component for item in found.each) == NAMES
    assert [bound for item in found.each for bound in (item.low, item.value, item.high)] == pytest.approx(
        [0.5] * 6
    )
    assert (found.units, found.reward, found.floor, found.absent) == (120, 1.0, 0.0, None)


@pytest.mark.parametrize(
    ("cells", "model", "why"),
    [
        (filled(0, 1, 3), None, "1 of 4 coalitions have no run yet"),
        (filled(0, 1, 2, 3, times=10), None, "40 ablated runs; at least 50 are needed"),
        (filled(1, 2), Model.REGRESSION, "no run with nobody and none with everybody yet"),
        (Cells(()), None, "no component can be ablated"),
        (
            Cells(tuple("abcdefghijklm"), units=99),
            Model.EXACT,
            "13 components are too many for the exact model (at most 12)",
        ),
        (filled(0, 3), Model.REGRESSION, "the coalitions seen do not tell the components apart yet"),
    ],
    ids=["a missing coalition", "too few runs", "no edges", "no players", "too many", "always together"],
)
def test_no_contribution_says_why(cells: Cells, model: Model | None, why: str) -> None:
    found = estimate(cells, model)
    assert (found.each, found.absent) == ((), why)


def test_regression_lives_without_a_coalition() -> None:
    """Three players who add 0.2, 0.3 and 0.5, and of {1, 2} no run."""
    cells = Cells(("planner", "tools", "writer"))
    for mask in (0, 1, 2, 3, 4, 5, 7) * 10:
        cells.add(mask, sum(part for i, part in enumerate((0.2, 0.3, 0.5)) if mask >> i & 1))
    assert estimate(cells).absent == "1 of 8 coalitions have no run yet"
    found = estimate(cells, Model.REGRESSION)
    assert [item.value for item in found.each] == pytest.approx([0.2, 0.3, 0.5])
    assert found.method == "odd regression of order 1 on 7 coalitions"
