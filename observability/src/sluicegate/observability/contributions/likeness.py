"""Whether the candidate's components add to the reward as stable's do: units in which both were ablated alike. Without numpy."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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


class Pairs:
    """State of one stage: outcomes of both versions, their joint second moments, and how long the interval stayed inside.

    The first unit says who the players are. Sums depend on the order of the units.
    """

    __slots__ = ("_alpha", "_delta", "_joint", "candidate", "missing", "players", "stable", "steady")

    def __init__(self, question: Question, _stage: Stage) -> None:
        self._delta, self._alpha = question.margin, question.level
        self.players: tuple[str, ...] = ()
        self.candidate = self.stable = Outcomes(0)
        self._joint: list[list[float]] = []  # Σ z zᵀ of (candidate, stable), lower triangle
        self.missing = self.steady = 0

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
        self._joint = [[0.0] * (row + 1) for row in range(2 * n)]

    def _fold(self, found: Ablation, reward: float, stable: float) -> None:
        mask = found.coalition.mask
        both = [*self.candidate.add(mask, reward), *self.stable.add(mask, stable)]
        self._joint = [
            [total + left * right for total, right in zip(row, both, strict=False)]
            for row, left in zip(self._joint, both, strict=True)
        ]
        self.steady = self.steady + 1 if self._is_inside() else 0

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
        slopes = [
            *(2.0 * value / n for value in _centred(self.candidate.means())),
            *(-2.0 * value / n for value in _centred(self.stable.means())),
        ]
        first = math.fsum(slopes[i] * math.fsum(map(_times, covariance[i], slopes)) for i in range(2 * n))
        # QΣ: the rows of each half centred, those of the second half with the other sign.
        half = (
            [math.fsum(column[:n]) / n for column in covariance],
            [math.fsum(column[n:]) / n for column in covariance],
        )
        turned = [
            [(covariance[i][j] - half[i // n][j]) / (n if i < n else -n) for j in range(2 * n)]
            for i in range(2 * n)
        ]
        second = math.fsum(turned[i][j] * turned[j][i] for i in range(2 * n) for j in range(2 * n))
        return math.sqrt(max(0.0, first + 2.0 * second))

    def _covariance(self) -> list[list[float]]:
        """Σ of the means of (candidate, stable), whole."""
        units = self.candidate.units
        means = [*self.candidate.means(), *self.stable.means()]
        size = len(means)
        whole = [[0.0] * size for _ in range(size)]
        for i, row in enumerate(self._joint):
            for j, total in enumerate(row):
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
            "steady": self.steady,
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
        made._joint = [list(map(float, row)) for row in data["joint"]]
        made.missing, made.steady = int(data["missing"]), int(data["steady"])
        sizes = {len(made.players), made.candidate.players, made.stable.players}
        if len(sizes) > 1 or [len(row) for row in made._joint] != list(range(1, 2 * len(made.players) + 1)):
            raise ValueError("sums of other players")
        return made


def _times(left: float, right: float) -> float:
    return left * right


def _centred(values: list[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def _known(reward: float | None) -> float | None:
    """None too when it is no reward: NaN, infinite or outside [0, 1]."""
    return reward if reward is not None and 0.0 <= reward <= 1.0 else None
