"""One field of a component's outputs, folded: does the candidate give what stable gives?

Both arms are compared by unit, in Canary and Shadow the copies of one request, in Controlled units in the order of their
arrival, as every other question (`track`). A unit in which only one arm gave the field is missing.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sluicegate.contracts.evidence import CloudLook, Observation, OutputCounts, Question, SignalEvidence
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage
from sluicegate.observability.drift import vectors
from sluicegate.observability.drift.points import Points
from sluicegate.observability.drift.shift import Shift, log_sum
from sluicegate.observability.drift.thresholds import Thresholds
from sluicegate.observability.drift.values import Move, Values
from sluicegate.observability.drift.vectors import Runs, Vector

WAITING: Final = 32
WAITING_POINTS: Final = 20
MOST_STABLE_PER_CANDIDATE: Final = 20
_NO_RUNS: Final[Runs] = {}  # equal outputs show nothing


class Outputs:
    """State of one question on ComponentDrift."""

    __slots__ = (
        "_key",
        "_kind",
        "_learns",
        "_mirrored",
        "_missing",
        "_n",
        "_seen",
        "_waiting",
        "_waiting_stable",
        "question",
    )

    def __init__(self, question: Question, stage: Stage) -> None:
        if question.component is None or question.output is None:
            raise ValueError(f"{question.signal} cannot be folded without a component and a field")
        if not 0.0 < question.margin < 1.0:
            raise ValueError(f"margin of {question.signal} is {question.margin!r}; allowed: 0 < margin < 1")
        self.question = question
        self._key = f"{question.component}.{question.output}"
        self._mirrored = stage in MIRRORED_STAGES
        self._kind: Values | Thresholds | Points = _kind(question)
        self._learns = isinstance(self._kind, Values)
        self._n = self._missing = 0
        self._seen = [0, 0]  # units of the candidate and of stable that gave the field, in split stages
        most = WAITING_POINTS if question.length else WAITING
        self._waiting: deque[tuple[Vector, Runs]] = deque(maxlen=most)
        self._waiting_stable: deque[Vector] = deque(maxlen=most)

    def expect(self, coming: Sequence[Observation]) -> None:
        """These are folded next: what is cheaper for many at once is done now. Changes no state."""
        if isinstance(self._kind, Points):
            arms = [arm for one in coming for arm in (one.stable, one.candidate) if arm is not None]
            self._kind.expect(arms, self._key)

    def add(self, observation: Observation) -> None:
        """Fold one unit."""
        kind, key = self._kind, self._key
        if not kind.is_set:
            kind.calibrate(observation.stable, key)
            return
        stable = kind.vector(observation.stable, key)
        if self._learns:
            kind.learn(stable)
            kind.learn(kind.vector(observation.control, key))
        if self._mirrored:
            self._add_pair(observation, stable)
        else:
            self._add_unit(observation, stable)

    def _add_pair(self, observation: Observation, stable: Vector | None) -> None:
        if observation.candidate is None:
            return
        candidate = self._kind.vector(observation.candidate, self._key)
        if candidate is not None and stable is not None:
            runs = _NO_RUNS if candidate == stable else vectors.runs_of(observation, self._key)
            self._compare(candidate, stable, runs)
        elif candidate is not None or stable is not None:
            self._missing += 1

    def _add_unit(self, observation: Observation, stable: Vector | None) -> None:
        if observation.candidate is not None:
            candidate = self._kind.vector(observation.candidate, self._key)
            if candidate is None:
                self._missing += 1
            else:
                self._seen[0] += 1
                self._waiting.append((candidate, vectors.runs_of(observation, self._key)))
        if stable is not None:
            self._seen[1] += 1
            self._waiting_stable.append(stable)
        self._match()

    def _match(self) -> None:
        """Newest with newest; how many of stable, by counts alone."""
        while self._waiting:
            wanted = min(max(self._seen[1] // self._seen[0], 1), MOST_STABLE_PER_CANDIDATE)
            if len(self._waiting_stable) < wanted:
                return
            others = [self._waiting_stable.pop() for _ in range(wanted)]
            candidate, runs = self._waiting.pop()
            self._compare(candidate, _mean(others), runs)

    def _compare(self, candidate: Vector, stable: Vector, runs: Runs) -> None:
        self._n += 1
        self._kind.compare(candidate, stable, runs)

    def evidence(self) -> SignalEvidence:
        """What the gate needs; candidate and stable: shares of the value that moved most surely."""
        n, margin, moves = self._n, self.question.margin, tuple(self._kind.moves())
        plain = SignalEvidence(
            signal=self.question.signal,
            component=self.question.component,
            output=self.question.output,
            missing=self._missing,
            margin=margin,
        )
        if not n:
            return plain
        found = [(move.harm.rose(n), move.harm.fell(n)) for move in moves]
        surest = max(range(len(moves)), key=lambda place: _sureness(*found[place]))
        stays = [move.shift for move in moves] + ([] if self.question.numeric else [Shift()])
        kept = [shift.kept(n, margin) for shift in stays]
        weakest = min(range(len(stays)), key=kept.__getitem__)
        cloud = self._kind.look if isinstance(self._kind, Points) else None
        is_blind = isinstance(self._kind, Points) and self._kind.is_blind
        return SignalEvidence(
            signal=plain.signal,
            component=plain.component,
            output=plain.output,
            units=n,
            missing=self._missing,
            candidate=moves[surest].candidate / n,
            stable=moves[surest].stable / n,
            harm_log_e=_with_cloud(_mixture(moves, found), cloud),
            safe_log_e=0.0 if is_blind else kept[weakest],
            margin=margin,
            growth=0.0 if is_blind else stays[weakest].growth(n, margin),
            witnesses=self._witnesses(moves, surest),
            outputs=OutputCounts(
                moved=moves[surest].name,
                numeric=self.question.numeric and cloud is None,
                counts=self._kind.counts(),
                unseen=self._kind.unseen(),
                cloud=cloud,
            ),
        )

    def _witnesses(self, moves: tuple[Move, ...], surest: int) -> tuple[str, ...]:
        """Runs that show what moved: of a value that became rarer those of the value that came instead."""
        move = moves[surest]
        if move.shift.up < move.shift.down:
            move = max(moves, key=lambda one: one.candidate - one.stable)
        return move.runs

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "n": self._n,
            "missing": self._missing,
            "seen": list(self._seen),
            "kind": self._kind.to_json(),
            "waiting": [[vector, runs] for vector, runs in self._waiting],
            "waitingStable": list(self._waiting_stable),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], question: Question, stage: Stage) -> "Outputs":
        """The inverse of to_json, for the same question and stage."""
        made = cls(question, stage)
        made._n, made._missing = int(data["n"]), int(data["missing"])
        made._seen = [int(count) for count in data["seen"]]
        made._kind = type(made._kind).from_json(data["kind"])
        made._waiting.extend((_shares(vector), dict(runs)) for vector, runs in data["waiting"])
        made._waiting_stable.extend(map(_shares, data["waitingStable"]))
        return made


def _sureness(rose: float, fell: float) -> tuple[float, bool]:
    """What came is named rather than what it took the place of, where both are as sure."""
    return round(max(rose, fell), 6), rose > fell


def _mixture(moves: tuple[Move, ...], found: list[tuple[float, float]]) -> float:
    """Log of the mean over values and directions; what no value has taken yet keeps its capital of 1."""
    logs = [
        math.log(0.5 * move.weight) + log_e for move, pair in zip(moves, found, strict=True) for log_e in pair
    ]
    rest = 1.0 - math.fsum(move.weight for move in moves)
    return log_sum([*logs, math.log(rest)] if rest > 1e-12 else logs)


def _with_cloud(regions: float, cloud: CloudLook | None) -> float:
    """Log of the mean of both e-values, where there are two."""
    return regions if cloud is None else log_sum([regions, cloud.log_e]) - math.log(2.0)


def _kind(question: Question) -> Values | Thresholds | Points:
    if question.length:
        return Points()
    return Thresholds() if question.numeric else Values()


def _mean(vectors_: list[Vector]) -> Vector:
    names = dict.fromkeys(name for vector in vectors_ for name in vector)
    return {name: sum(vector.get(name, 0.0) for vector in vectors_) / len(vectors_) for name in names}


def _shares(vector: Mapping[str, Any]) -> Vector:
    return {str(name): float(share) for name, share in vector.items()}
