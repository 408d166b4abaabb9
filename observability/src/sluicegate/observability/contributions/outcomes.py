"""Contributions as running means: one pass over the units, any number of players, no table of coalitions. Without numpy."""

import math
from collections.abc import Mapping
from functools import lru_cache
from operator import add, mul
from typing import Any, Final

from sluicegate.observability.contributions.coalitions import EDGE_SHARE, probability

SHRINK: Final = 10
"""Units per player for which the model of the rewards is drawn to "nobody adds anything"."""
_LEVEL_SHRINK: Final = 4


class Outcomes:
    """One game of one version. Each unit gives an outcome z with E[z | past] = φ, whatever the game is.

    z = β + W(S)/p(S)·(y − m(S)): W are Shapley's weights of coalition S, p(S) the known chance of having drawn it, and
    m(S) the additive game (β and a level) that earlier units suggest. Since φ of an additive game is β, any m made of the
    past leaves z unbiased, and a good one makes it quiet (regression-adjusted: Witter, Liu & Musco, arXiv 2506.11849; the
    weights are Horvitz & Thompson's, bounded under the Shapley kernel). Sums depend on the units' order.
    """

    __slots__ = ("_level", "_squares", "_total_squares", "_totals", "players", "units")

    def __init__(self, players: int) -> None:
        self.players = players
        self.units = 0
        self._totals = [0.0] * players
        self._squares = [0.0] * players
        self._total_squares = 0.0  # of the sum of a unit's outcomes
        self._level = 0.0

    def add(self, mask: int, reward: float) -> list[float]:
        """Fold one unit; its outcomes. Raises ValueError for a coalition of other players or a reward outside [0, 1]."""
        n = self.players
        if not (0 <= mask < 1 << n and 0.0 <= reward <= 1.0):
            raise ValueError(f"reward {reward} of coalition {mask} is none of {n} players, or outside [0, 1]")
        halves, gains = _coalition(n, mask)
        seen = self.units + SHRINK * n
        model = [total / seen for total in self._totals]
        added = sum(map(mul, model, halves))
        surprise = reward - self._level / (self.units + _LEVEL_SHRINK) - added
        outcomes = [part + surprise * gain for part, gain in zip(model, gains, strict=True)]
        self.units += 1
        self._level += reward - added
        self._totals = list(map(add, self._totals, outcomes))
        self._squares = list(map(add, self._squares, map(mul, outcomes, outcomes)))
        self._total_squares += sum(outcomes) ** 2
        return outcomes

    def means(self) -> list[float]:
        """φ; of at least one unit."""
        return [total / self.units for total in self._totals]

    def errors(self) -> list[float]:
        """Standard errors of `means`; of at least two units."""
        return [
            math.sqrt(self._variance(mean, squares))
            for mean, squares in zip(self.means(), self._squares, strict=True)
        ]

    def spread(self) -> float:
        """Population variance of φ without what noise adds to it: (φᵀCφ − tr(CΣ))/n, C = I − 11ᵀ/n. At least two units.

        Below 0 when the noise happens to be small.
        """
        n, means = self.players, self.means()
        noise = math.fsum(
            self._variance(mean, squares) for mean, squares in zip(means, self._squares, strict=True)
        )
        noise -= self._variance(math.fsum(means), self._total_squares) / n
        return (uneven(means) - noise) / n

    def _variance(self, mean: float, squares: float) -> float:
        return max(0.0, squares / self.units - mean * mean) / (self.units - 1)

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "units": self.units,
            "totals": self._totals,
            "squares": self._squares,
            "totalSquares": self._total_squares,
            "level": self._level,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Outcomes":
        """The inverse of to_json. Raises KeyError, TypeError or ValueError for what is none."""
        made = cls(len(data["totals"]))
        made.units = int(data["units"])
        made._totals, made._squares = list(map(float, data["totals"])), list(map(float, data["squares"]))
        made._total_squares, made._level = float(data["totalSquares"]), float(data["level"])
        if len(made._squares) != made.players:
            raise ValueError("sums of other players")
        return made


def uneven(values: list[float]) -> float:
    """φᵀCφ: the sum of squared distances from the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


@lru_cache(maxsize=4096)
def _coalition(players: int, mask: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """By player: whether it is inside, less 1/2; and W_i(S)/p(S)."""
    factor, shift = weight(players, mask.bit_count())
    inside = [(mask >> player) & 1 for player in range(players)]
    return tuple(is_in - 0.5 for is_in in inside), tuple(factor * (is_in - shift) for is_in in inside)


@lru_cache(maxsize=512)
def weight(players: int, size: int) -> tuple[float, float]:
    """(w, c) with W_i(S)/p(S) = w·([i ∈ S] − c), of coalitions of that size.

    Inside: 2·H_{n−1}/(1 − EDGE_SHARE) and size/n, since the kernel's p(S) is proportional to 1/(C(n, s)·s·(n − s)).
    """
    if size in (0, players):
        whole = 1.0 / (players * probability(players, (1 << size) - 1))
        return whole, 1.0 if size == 0 else 0.0
    harmonic = math.fsum(1.0 / k for k in range(1, players))
    return 2.0 * harmonic / (1.0 - EDGE_SHARE), size / players
