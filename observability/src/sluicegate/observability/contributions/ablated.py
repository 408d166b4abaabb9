"""Ablated units of one stage, in the store's order or any other: the table of coalitions, without numpy."""

from collections.abc import Mapping
from typing import Any, Final

from sluicegate.contracts.evidence import AblatedUnits, Observation
from sluicegate.observability.contributions.cells import Cells

MOST_CELLS: Final = 1 << 12
"""Coalitions that are kept; units of further ones are counted as missing. All of 12 players; more players meet few twice."""


class Ablated:
    """State of one stage. The first unit says who the players are; units of other players are counted as missing."""

    __slots__ = ("cells", "missing")

    def __init__(self) -> None:
        self.cells: Cells | None = None
        self.missing = 0

    def add(self, observation: Observation) -> None:
        """Fold one unit; one that was not ablated changes nothing."""
        found = observation.ablation
        if found is None:
            return
        if self.cells is None:
            self.cells = Cells(found.coalition.players)
        mask, reward = found.coalition.mask, found.reward
        is_new = mask not in self.cells.by_mask
        strange = found.coalition.players != self.cells.players
        if reward is None or strange or (is_new and len(self.cells.by_mask) >= MOST_CELLS):
            self.missing += 1
            return
        self.cells.add(mask, reward)

    def evidence(self) -> AblatedUnits | None:
        """As a value; None when no unit was ablated."""
        if self.cells is None:
            return None
        cells = sorted(self.cells.by_mask.items())
        return AblatedUnits(
            players=self.cells.players,
            cells=tuple((mask, cell.count, cell.total, cell.squares) for mask, cell in cells),
            missing=self.missing,
        )

    def to_json(self) -> dict[str, Any]:
        """Canonical."""
        return {"cells": None if self.cells is None else self.cells.to_json(), "missing": self.missing}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Ablated":
        """The inverse of to_json. Raises KeyError, TypeError or ValueError for what is none."""
        made = cls()
        made.cells = None if data["cells"] is None else Cells.from_json(data["cells"])
        made.missing = int(data["missing"])
        return made


def of_state(state: Mapping[str, Any]) -> AblatedUnits | None:
    """The ablated units of a saved fold, decoded; None when there are none, or it was written before they were kept."""
    found = state.get("ablated")
    return None if found is None else Ablated.from_json(found).evidence()


def cells_of(units: AblatedUnits) -> Cells:
    """The table again, for an estimate."""
    cells = Cells(units.players)
    for mask, count, total, squares in units.cells:
        cells.put(mask, count, total, squares)
    return cells
