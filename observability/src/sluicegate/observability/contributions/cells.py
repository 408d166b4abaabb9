"""The table of coalitions: a few sums per coalition that was seen. They merge in any order."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_LARGEST: Final = 1e150


@dataclass(slots=True)
class Cell:
    """Sums of one coalition. weight: Σw, squares_of_weight: Σw², total: Σwy, squares: Σwy²; w is 1 without decay."""

    weight: float = 0.0
    weight_squared: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    @property
    def mean(self) -> float:
        """Mean reward; of a cell with weight."""
        return self.total / self.weight

    @property
    def count(self) -> float:
        """Runs that the cell is worth (Kish's effective size); the number of runs without decay."""
        return self.weight**2 / self.weight_squared

    @property
    def scatter(self) -> float:
        """Σ(y − mean)², scaled to `count` runs."""
        return max(0.0, self.squares / self.weight - self.mean**2) * self.count

    def add(self, other: "Cell", factor: float = 1.0) -> None:
        """Take another cell's sums, every weight of it times `factor`."""
        self.weight += factor * other.weight
        self.weight_squared += factor * factor * other.weight_squared
        self.total += factor * other.total
        self.squares += factor * other.squares


@dataclass(slots=True)
class Cells:
    """All coalitions of one game. players: component names, bit 0 first.

    half_life: units after which an observation counts half; None: everything counts alike, and sums are exact.
    """

    players: tuple[str, ...]
    half_life: float | None = None
    by_mask: dict[int, Cell] = field(default_factory=dict)
    units: int = 0
    _scale: float = 1.0  # weight of the next unit; grows instead of every cell shrinking

    def add(self, mask: int, reward: float) -> None:
        """One unit. Raises ValueError for a coalition of other players or a reward outside [0, 1]."""
        if not 0 <= mask < 1 << len(self.players):
            raise ValueError(f"coalition {mask} is none of {len(self.players)} players")
        if not 0.0 <= reward <= 1.0:
            raise ValueError(f"reward {reward} is outside [0, 1]")
        if self.half_life is not None:
            self._scale *= 2.0 ** (1.0 / self.half_life)
        w = self._scale
        cell = self.by_mask.setdefault(mask, Cell())
        cell.add(Cell(1.0, 1.0, reward, reward * reward), w)
        self.units += 1
        if w > _LARGEST:
            self._settle()

    def put(self, mask: int, count: int, total: float, squares: float) -> None:
        """`count` units of one coalition at once: the sum of their rewards, and of their squares."""
        if not (0 <= mask < 1 << len(self.players) and count > 0):
            raise ValueError(f"{count} units of coalition {mask} are none of {len(self.players)} players")
        self.by_mask.setdefault(mask, Cell()).add(Cell(count, count, total, squares), self._scale)
        self.units += count

    def merge(self, other: "Cells") -> None:
        """Add another table of the same players; both as of their last unit."""
        if other.players != self.players:
            raise ValueError(f"tables of other players: {other.players} and {self.players}")
        self._settle()
        factor = 1.0 / other._scale  # noqa: SLF001 - same class
        for mask, cell in other.by_mask.items():
            self.by_mask.setdefault(mask, Cell()).add(cell, factor)
        self.units += other.units

    def empty(self) -> int:
        """How many of the 2^n coalitions have no run."""
        return (1 << len(self.players)) - len(self.by_mask)

    def _settle(self) -> None:
        factor, self._scale = 1.0 / self._scale, 1.0
        for mask, cell in self.by_mask.items():
            self.by_mask[mask] = fresh = Cell()
            fresh.add(cell, factor)

    def to_json(self) -> dict[str, Any]:
        """Canonical: equal tables give equal JSON."""
        rows = [
            [mask, cell.weight, cell.weight_squared, cell.total, cell.squares]
            for mask, cell in sorted(self.by_mask.items())
        ]
        return {
            "players": list(self.players),
            "halfLife": self.half_life,
            "units": self.units,
            "scale": self._scale,
            "cells": rows,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Cells":
        """The inverse of to_json. Raises KeyError, TypeError or ValueError for what is none."""
        cells = {int(mask): Cell(*map(float, sums)) for mask, *sums in data["cells"]}
        if not all(math.isfinite(cell.total) and cell.weight > 0.0 for cell in cells.values()):
            raise ValueError("a coalition without weight")
        half_life = data["halfLife"]
        return cls(
            players=tuple(map(str, data["players"])),
            half_life=None if half_life is None else float(half_life),
            by_mask=cells,
            units=int(data["units"]),
            _scale=float(data["scale"]),
        )
