"""Is a better reward a better outcome? The evaluator's reward beside the business's word, candidate beside stable.

Both differences are tested at once, on the same comparisons: the reward's against "better by the tolerance at most", the
outcome's against "better by the tolerance or more". Where the outcome gains at least as much as the reward, one of the
two nulls is true whatever the gain is, so that both are rejected with probability at most α, ever (Ville).
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from sluicegate.contracts.evidence import ArmFacts, Improvement, Observation
from sluicegate.contracts.stages import Stage
from sluicegate.observability.sequential import MeanTest
from sluicegate.observability.track import MOST_STABLE_PER_CANDIDATE, WAITING, Mean

TOLERANCE: Final = 0.02
"""Two points: what the gates of a split stage take for no difference as well."""

Values = tuple[float, float]
"""The evaluator's reward, and the outcome."""


class Improvements:
    """State of the comparison, in the stage in which both arms answer users; elsewhere no candidate has an outcome."""

    __slots__ = (
        "_flat",
        "_gain",
        "_missing",
        "_outcome",
        "_reward",
        "_rise",
        "_stable",
        "_stage",
        "_waiting",
    )

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._gain = MeanTest(-1.0, 1.0, TOLERANCE)
        self._flat = MeanTest(-1.0, 1.0, -TOLERANCE)
        self._rise = MeanTest(-1.0, 1.0, 0.0)
        self._missing = 0
        self._reward, self._outcome = (Mean(), Mean()), (Mean(), Mean())  # candidate's, stable's
        self._waiting: deque[Values] = deque(maxlen=WAITING)
        self._stable: deque[Values] = deque(maxlen=WAITING)

    def add(self, observation: Observation) -> None:
        """Fold one unit."""
        if self._stage is not Stage.CONTROLLED:
            return
        for place, facts in enumerate((observation.candidate, observation.stable)):
            if facts is None:
                continue
            values = _values(facts)
            if values is None:
                self._missing += place == 0
                continue
            self._reward[place].add(values[0])
            self._outcome[place].add(values[1])
            (self._waiting, self._stable)[place].append(values)
        self._pair()

    def _pair(self) -> None:
        """As `track.Track` pairs: newest with newest, how many by counts alone."""
        while self._waiting:
            wanted = min(max(self._reward[1].n // self._reward[0].n, 1), MOST_STABLE_PER_CANDIDATE)
            if len(self._stable) < wanted:
                return
            others = [self._stable.pop() for _ in range(wanted)]
            reward, outcome = self._waiting.pop()
            gained = outcome - sum(other[1] for other in others) / wanted
            self._gain.add(reward - sum(other[0] for other in others) / wanted)
            self._flat.add(-gained)
            self._rise.add(gained)

    @property
    def comparisons(self) -> int:
        """Made so far."""
        return self._gain.n

    def evidence(self) -> Improvement | None:
        """None before anything could be compared."""
        means = [mean.value for mean in (*self._reward, *self._outcome)]
        reward, stable_reward, outcome, stable_outcome = means
        if (
            not self._gain.n
            or reward is None
            or stable_reward is None
            or outcome is None
            or stable_outcome is None
        ):
            return None
        return Improvement(
            units=self.comparisons,
            missing=self._missing,
            reward=reward,
            stable_reward=stable_reward,
            outcome=outcome,
            stable_outcome=stable_outcome,
            tolerance=TOLERANCE,
            gain_log_e=self._gain.log_e,
            flat_log_e=self._flat.log_e,
            rise_log_e=self._rise.log_e,
        )

    def to_json(self) -> dict[str, Any] | None:
        """State; None in stages that have none."""
        if self._stage is not Stage.CONTROLLED:
            return None
        return {
            "gain": self._gain.to_json(),
            "flat": self._flat.to_json(),
            "rise": self._rise.to_json(),
            "missing": self._missing,
            "means": [[mean.total, mean.n] for mean in (*self._reward, *self._outcome)],
            "waiting": [list(values) for values in self._waiting],
            "stable": [list(values) for values in self._stable],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None, stage: Stage) -> "Improvements":
        """The inverse of to_json, for the same stage."""
        made = cls(stage)
        if data is None:
            return made
        made._gain, made._flat, made._rise = (
            MeanTest.from_json(data[name]) for name in ("gain", "flat", "rise")
        )
        made._missing = int(data["missing"])
        first, second, third, fourth = (Mean(*mean) for mean in data["means"])
        made._reward, made._outcome = (first, second), (third, fourth)
        made._waiting.extend((float(reward), float(outcome)) for reward, outcome in data["waiting"])
        made._stable.extend((float(reward), float(outcome)) for reward, outcome in data["stable"])
        return made


def _values(facts: ArmFacts) -> Values | None:
    """Both, when both are known; NaN compares false."""
    reward, outcome = facts.evaluated, facts.outcome
    if reward is None or outcome is None or not (0.0 <= reward <= 1.0 and 0.0 <= outcome <= 1.0):
        return None
    return reward, outcome
