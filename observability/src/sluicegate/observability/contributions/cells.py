"""The table of coalitions: a few sums per coalition that was seen, whatever the order of the units."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Cell:
    """Sums of one coalition: units, rewards, and their squares."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def mean(self) -> float:
        """Mean reward; of a cell with units."""
        return self.total / self.count

    @property
    def scatter(self) -> float:
        """Σ(y − mean)²."""
        return max(0.0, self.squares - self.total * self.mean)


@dataclass(slots=True)
class Cells:
    """All coalitions of one game. players: component names, bit 0 first."""

    players: tuple[str, ...]
    by_mask: dict[int, Cell] = field(default_factory=dict)
    units: int = 0

    def add(self, mask: int, reward: float) -> None:
        """One unit. Raises ValueError for a coalition of other players or a reward outside [0, 1]."""
        if not 0.0 <= reward <= 1.0:
            raise ValueError(f"reward {reward} is outside [0, 1]")
        self.put(mask, 1, reward, reward * reward)

    def put(self, mask: int, count: int, total: float, squares: float) -> None:
        """`count` units of one coalition at once: the sum of their rewards, and of their squares."""
        if not (0 <= mask < 1 << len(self.players) and count > 0):
            raise ValueError(f"{count} units of coalition {mask} are none of {len(self.players)} players")
        cell = self.by_mask.setdefault(mask, Cell())
        cell.count += count
        cell.total += total
        cell.squares += squares
        self.units += count

    def empty(self) -> int:
        """How many of the 2^n coalitions have no run."""
        return (1 << len(self.players)) - len(self.by_mask)

    def to_json(self) -> dict[str, Any]:
        """Canonical: equal tables give equal JSON."""
        rows = [[mask, cell.count, cell.total, cell.squares] for mask, cell in sorted(self.by_mask.items())]
        return {"players": list(self.players), "cells": rows}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Cells":
        """The inverse of to_json. Raises KeyError, TypeError or ValueError for what is none."""
        cells = cls(players=tuple(map(str, data["players"])))
        for mask, count, total, squares in data["cells"]:
            if not (math.isfinite(total) and math.isfinite(squares)):
                raise ValueError(f"coalition {mask} has a sum that is not finite")
            cells.put(int(mask), int(count), float(total), float(squares))
        return cells
