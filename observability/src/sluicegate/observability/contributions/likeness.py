"""Whether the candidate's components add to the reward as stable's do: units in which both were ablated alike. Without numpy."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from operator import add, itemgetter, mul
from typing import Any, Final

from sluicegate.contracts.evidence import (
    Ablation,
    Estimate,
    Likeness,
    Observation,
    Question,
    SignalEvidence,
)
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.observability.contributions.interval import multiplier
from sluicegate.observability.contributions.outcomes import Outcomes

EVERY: Final = 50
"""Pairs between two looks at the interval. It holds at every moment, so also at these; how units are cut into batches does
not move them."""


class Pairs:
    """State of one stage: outcomes of both versions, their joint second moments, and how long the interval stayed inside.

    The first unit says who the players are. Sums depend on the order of the units.
    """

    __slots__ = ("_alpha", "_delta", "_joint", "_since", "candidate", "missing", "players", "stable")

    def __init__(self, question: Question, _stage: Stage) -> None:
        self._delta, self._alpha = question.margin, question.level
        self.players: tuple[str, ...] = ()
        self.candidate = self.stable = Outcomes(0)
        self._joint: list[float] = []  # Σ z zᵀ of (candidate, stable), lower triangle by rows
        self.missing = 0
        self._since: int | None = None  # pairs at the first of the looks in a row that were inside

    def add(self, observation: Observation) -> None:
        """Fold one unit; one that was not ablated changes nothing, and a pair that lacks a reward is missing."""
        found = observation.ablation
        if found is None:
            return
        if not self.players:
            self._begin(found.coalition.players)
        reward, stable = _known(found.reward), _known(found.stable)
        if reward is None or stable is None or found.coalition.players != self.players:
            self.missing += 1
            return
        self._fold(found, reward, stable)

    def _begin(self, players: tuple[str, ...]) -> None:
        self.players, n = players, len(players)
        self.candidate, self.stable = Outcomes(n), Outcomes(n)
        self._joint = [0.0] * (n * (2 * n + 1))

    def _fold(self, found: Ablation, reward: float, stable: float) -> None:
        mask = found.coalition.mask
        both = [*self.candidate.add(mask, reward), *self.stable.add(mask, stable)]
        rows, columns = _triangle(len(both))
        self._joint = list(map(add, self._joint, map(mul, rows(both), columns(both))))
        units = self.candidate.units
        if units % EVERY == 0:
            if not self._is_inside():
                self._since = None
            elif self._since is None:
                self._since = units

    @property
    def steady(self) -> int:
        """Pairs between the first and the last look of those in a row at which the interval was inside."""
        return 0 if self._since is None else self.candidate.units // EVERY * EVERY - self._since

    def _is_inside(self) -> bool:
        """Whether the interval of the difference lies inside ±delta; there is none for the first units."""
        reach = multiplier(self.candidate.units, self._alpha)
        room = self._delta
        if not math.isinf(reach):
            room -= abs(self.candidate.spread() - self.stable.spread())
        return not math.isinf(reach) and room > 0.0 and reach * self._error() < room

    def evidence(self) -> SignalEvidence:
        """As a value; what is compared is known from two pairs on."""
        units = self.candidate.units
        found = SignalEvidence(
            signal=Signal.SHAPLEY_VARIANCE, units=units, missing=self.missing, margin=self._delta
        )
        if units < 2:
            return found
        return replace(
            found,
            candidate=self.candidate.spread(),
            stable=self.stable.spread(),
            likeness=Likeness(error=self._error(), shifts=self._shifts(), steady=self.steady),
        )

    def _shifts(self) -> tuple[Estimate, ...]:
        n, covariance = len(self.players), self._covariance()
        new, old = self.candidate.means(), self.stable.means()
        found = []
        for i, name in enumerate(self.players):
            variance = covariance[i][i] + covariance[n + i][n + i] - 2.0 * covariance[n + i][i]
            found.append(Estimate(name, new[i] - old[i], math.sqrt(max(0.0, variance))))
        return tuple(found)

    def _error(self) -> float:
        """Standard error of the difference of spreads, θᵀQθ with Q = diag(C, −C)/n: √(4θᵀQΣQθ + 2tr(QΣQΣ))."""
        n, covariance = len(self.players), self._covariance()
        upper, lower = covariance[:n], covariance[n:]
        slopes = [
            *(2.0 * value / n for value in _centred(self.candidate.means())),
            *(-2.0 * value / n for value in _centred(self.stable.means())),
        ]
        first = math.fsum(slopes[i] * math.fsum(map(mul, covariance[i], slopes)) for i in range(2 * n))
        # tr(QΣQΣ) of Q = diag(C, −C)/n, by the blocks of Σ: each centred by rows and columns, and squared.
        second = _energy([row[:n] for row in upper]) + _energy([row[n:] for row in lower])
        second -= 2.0 * _energy([row[n:] for row in upper])
        return math.sqrt(max(0.0, first + 2.0 * second / (n * n)))

    def _covariance(self) -> list[list[float]]:
        """Σ of the means of (candidate, stable), whole."""
        units = self.candidate.units
        means = [*self.candidate.means(), *self.stable.means()]
        size = len(means)
        whole = [[0.0] * size for _ in range(size)]
        places = ((i, j) for i in range(size) for j in range(i + 1))
        for (i, j), total in zip(places, self._joint, strict=True):
            whole[i][j] = whole[j][i] = (total / units - means[i] * means[j]) / (units - 1)
        return whole

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "players": list(self.players),
            "candidate": self.candidate.to_json(),
            "stable": self.stable.to_json(),
            "joint": self._joint,
            "missing": self.missing,
            "since": self._since,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], question: Question, stage: Stage) -> "Pairs":
        """The inverse of to_json, for the same question. Raises KeyError, TypeError or ValueError for what is none."""
        made = cls(question, stage)
        made.players = tuple(map(str, data["players"]))
        made.candidate, made.stable = (
            Outcomes.from_json(data["candidate"]),
            Outcomes.from_json(data["stable"]),
        )
        made._joint = list(map(float, data["joint"]))
        made.missing = int(data["missing"])
        made._since = None if data["since"] is None else int(data["since"])
        n = len(made.players)
        if {n} != {made.candidate.players, made.stable.players} or len(made._joint) != n * (2 * n + 1):
            raise ValueError("sums of other players")
        return made


_Picks = Callable[[list[float]], tuple[float, ...]]


@lru_cache(maxsize=64)
def _triangle(size: int) -> tuple[_Picks, _Picks]:
    """Of a vector the two factors of each product in the lower triangle, by rows. At least two values."""
    places = [(i, j) for i in range(size) for j in range(i + 1)]
    return itemgetter(*(i for i, _ in places)), itemgetter(*(j for _, j in places))


def _energy(block: list[list[float]]) -> float:
    """‖CBC‖²: squares of a square block without the means of its rows and columns."""
    n = len(block)
    rows = [sum(row) / n for row in block]
    columns = [sum(column) / n for column in zip(*block, strict=True)]
    mean = sum(rows) / n
    return math.fsum(
        (value - row_mean - column + mean) ** 2
        for row, row_mean in zip(block, rows, strict=True)
        for value, column in zip(row, columns, strict=True)
    )


def _centred(values: list[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def _known(reward: float | None) -> float | None:
    """None too when it is no reward: NaN, infinite or outside [0, 1]."""
    return reward if reward is not None and 0.0 <= reward <= 1.0 else None
