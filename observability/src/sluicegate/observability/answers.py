"""How alike answers are: the floor of similarity, frozen from stable beside itself, and what is shown of it.

Answers of agents vary in their words. How much is normal is seen where stable answered the same request twice: the
first 39 similarities of texts whose facts agree set the floor, at their 5 % quantile by the rank of conformal prediction
(Vovk, Gammerman and Shafer 2005, section 2.2): a further one falls below it with a chance of 1/20 when they are
exchangeable. It depends on the past only, and no similarity that set it is judged by it: until it is known units are
compared by their facts alone.
"""

from collections.abc import Mapping
from typing import Any, Final

from sluicegate.contracts.evidence import AnswerEvidence, ArmFacts

SIMILARITIES: Final = 39
"""Similarities that set the floor: the second lowest of them, so that one odd answer does not."""

QUANTILE: Final = 0.05
HIGHEST_FLOOR: Final = 0.8
"""Texts with the same facts that are more alike than this are the same answer, however exactly stable repeats itself."""


class Answers:
    """State of the disagreement question beside its tests."""

    __slots__ = (
        "_calibration",
        "_candidate",
        "_only_candidate",
        "_only_stable",
        "_stable",
        "_unjudged",
        "floor",
    )

    def __init__(self) -> None:
        self.floor: float | None = None
        self._calibration: list[float] = []
        self._candidate, self._stable = [0.0, 0], [0.0, 0]
        self._unjudged = self._only_candidate = self._only_stable = 0

    def add(self, candidate: ArmFacts, control: ArmFacts, difference: float) -> None:
        """Fold one unit that was compared. difference: badness of the candidate minus that of control."""
        self._only_candidate += difference > 0.0
        self._only_stable += difference < 0.0
        _fold(self._candidate, candidate.similarity)
        _fold(self._stable, control.similarity)
        if self.floor is None:
            self._calibrate(candidate, control)

    def _calibrate(self, candidate: ArmFacts, control: ArmFacts) -> None:
        values = _known(control)
        self._unjudged += bool(values or _known(candidate))
        self._calibration += values
        found = len(self._calibration)
        if found >= SIMILARITIES:
            lowest = sorted(self._calibration)[int(QUANTILE * (found + 1) + 1e-9) - 1]
            self.floor, self._calibration = min(lowest, HIGHEST_FLOOR), []

    def evidence(self) -> AnswerEvidence:
        """What a gate and people need."""
        return AnswerEvidence(
            similarity=_mean(self._candidate),
            stable_similarity=_mean(self._stable),
            floor=self.floor,
            have=SIMILARITIES if self.floor is not None else len(self._calibration),
            want=SIMILARITIES,
            unjudged=self._unjudged,
            only_candidate=self._only_candidate,
            only_stable=self._only_stable,
        )

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "floor": self.floor,
            "calibration": self._calibration,
            "candidate": self._candidate,
            "stable": self._stable,
            "counts": [self._unjudged, self._only_candidate, self._only_stable],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Answers":
        """The inverse of to_json."""
        answers = cls()
        answers.floor = data["floor"]
        answers._calibration = list(data["calibration"])
        answers._candidate, answers._stable = list(data["candidate"]), list(data["stable"])
        answers._unjudged, answers._only_candidate, answers._only_stable = data["counts"]
        return answers


def _known(facts: ArmFacts) -> list[float]:
    return [value for value in facts.texts if value is not None]


def _fold(mean: list[float], value: float | None) -> None:
    if value is not None and 0.0 <= value <= 1.0:
        mean[0] += value
        mean[1] += 1


def _mean(mean: list[float]) -> float | None:
    return mean[0] / mean[1] if mean[1] else None
