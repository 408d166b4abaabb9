"""Units with a coalition of one game and arm, in the store's order: the table of coalitions and running means. Without numpy."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sluicegate.contracts.evidence import AblatedUnits, Ablation, Estimate, Observation
from sluicegate.contracts.runs import Arm, Game
from sluicegate.observability.contributions.cells import Cells
from sluicegate.observability.contributions.outcomes import Outcomes

MOST_CELLS: Final = 1 << 12
"""Coalitions that are kept: all of 12 players, and of more those that came first."""
MOST_TABLED: Final = 20
"""Players up to which coalitions are kept; more meet hardly any twice, and have running means alone."""

_Found = tuple[Ablation | None, float | None]
_PICKS: Final[dict[Arm, Callable[[Observation], _Found]]] = {
    Arm.ABLATED: lambda unit: (unit.ablation, unit.ablation.reward if unit.ablation else None),
    Arm.ABLATED_STABLE: lambda unit: (unit.ablation, unit.ablation.stable if unit.ablation else None),
    Arm.MIXED: lambda unit: (unit.mixed, unit.mixed.reward if unit.mixed else None),
}
STATES: Final = {Arm.ABLATED: "ablated", Arm.ABLATED_STABLE: "stableAblated", Arm.MIXED: "mixed"}
"""Where a fold keeps them."""


class Ablated:
    """State of one stage and arm. The first unit says who the players are; units of other players are counted as missing."""

    __slots__ = ("arm", "cells", "missing", "outcomes")

    def __init__(self, arm: Arm = Arm.ABLATED) -> None:
        self.arm = arm
        self.cells: Cells | None = None
        self.outcomes = Outcomes(0)
        self.missing = 0

    def add(self, observation: Observation) -> None:
        """Fold one unit; one without a coalition of this arm changes nothing."""
        found, reward = _PICKS[self.arm](observation)
        if found is None or (reward is None and self.arm is Arm.ABLATED_STABLE):
            return  # stable is ablated in some stages only; pairs that lack it are counted with the pairs
        if self.cells is None:
            self.cells = Cells(found.coalition.players)
            self.outcomes = Outcomes(len(found.coalition.players))
        if reward is None or not 0.0 <= reward <= 1.0 or found.coalition.players != self.cells.players:
            self.missing += 1
            return
        mask, known = found.coalition.mask, self.cells.by_mask
        self.outcomes.add(mask, reward)
        if len(self.cells.players) <= MOST_TABLED and (mask in known or len(known) < MOST_CELLS):
            self.cells.add(mask, reward)

    def evidence(self) -> AblatedUnits | None:
        """As a value; None when no unit had a coalition."""
        if self.cells is None:
            return None
        cells, is_known = sorted(self.cells.by_mask.items()), self.outcomes.units > 1
        return AblatedUnits(
            players=self.cells.players,
            cells=tuple((mask, cell.count, cell.total, cell.squares) for mask, cell in cells),
            missing=self.missing,
            arm=self.arm,
            game=Game.VERSION if self.arm is Arm.MIXED else Game.FALLBACK,
            units=self.outcomes.units,
            estimates=self._estimates() if is_known else (),
            spread=self.outcomes.spread() if is_known else None,
        )

    def _estimates(self) -> tuple[Estimate, ...]:
        players = () if self.cells is None else self.cells.players
        return tuple(map(Estimate, players, self.outcomes.means(), self.outcomes.errors()))

    def to_json(self) -> dict[str, Any]:
        """Canonical."""
        return {
            "cells": None if self.cells is None else self.cells.to_json(),
            "outcomes": self.outcomes.to_json(),
            "missing": self.missing,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], arm: Arm = Arm.ABLATED) -> "Ablated":
        """The inverse of to_json. Raises KeyError, TypeError or ValueError for what is none."""
        made = cls(arm)
        made.cells = None if data["cells"] is None else Cells.from_json(data["cells"])
        made.outcomes = Outcomes.from_json(data["outcomes"])
        made.missing = int(data["missing"])
        if made.cells is not None and made.outcomes.players != len(made.cells.players):
            raise ValueError("sums of other players")
        return made


def of_state(state: Mapping[str, Any]) -> tuple[AblatedUnits, ...]:
    """What a saved fold has of each arm, decoded; nothing of what was written in another format."""
    try:
        kept = [Ablated.from_json(state[name], arm).evidence() for arm, name in STATES.items()]
    except (KeyError, TypeError, ValueError):  # what `from_json` says of another format
        return ()
    return tuple(found for found in kept if found is not None)


def cells_of(units: AblatedUnits) -> Cells:
    """The table again, for an estimate."""
    cells = Cells(units.players)
    for mask, count, total, squares in units.cells:
        cells.put(mask, count, total, squares)
    return cells
