"""One question of a fold: two tests, the values waiting to be compared, and what is shown beside them."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sluicegate.contracts.evidence import ArmFacts, Observation, Question, SignalEvidence
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.observability.answers import Answers
from sluicegate.observability.badness import SIGNALS, badness, displayed, valid_latencies
from sluicegate.observability.sequential import MeanTest
from sluicegate.observability.sketch import rank_of

BOUNDARY_LATENCIES: Final = 59
"""Below 59 values a p95 has no upper 95 % confidence bound: 0.95 ** 59 < 0.05 (order statistics)."""

MOST_STABLE_PER_CANDIDATE: Final = 20
WAITING: Final = 64
WAITING_RUNS: Final = 32
"""Of the candidate's waiting units, the newest keep the run that would show a finding: they are compared first."""

WITNESSES: Final = 5
_LEAST_THRESHOLD: Final = 1e-3
_NOTHING: Final[tuple[Any, ...]] = (None, [])


class Design(StrEnum):
    """How candidate and stable are compared."""

    PAIRED = "Paired"  # both saw the same request
    SPLIT = "Split"  # each unit saw one arm; pairs are made in arrival order
    ONE_SAMPLE = "OneSample"  # stable is a number measured in an earlier stage


def design_of(question: Question, stage: Stage) -> Design:
    """A baseline makes it one-sample; else the stage decides."""
    if question.baseline is not None:
        return Design.ONE_SAMPLE
    return Design.PAIRED if stage in MIRRORED_STAGES else Design.SPLIT


@dataclass(slots=True)
class Mean:
    """Running mean; plain sums in order."""

    total: float = 0.0
    n: int = 0

    def add(self, value: float) -> None:
        """Fold one value."""
        self.total += value
        self.n += 1

    @property
    def value(self) -> float | None:
        """The mean; None without values."""
        return self.total / self.n if self.n else None


class Track:
    """State of one question; see observability/README.md for the rules."""

    __slots__ = (
        "_freezes",
        "_of_copies",
        "answers",
        "boundary",
        "calibration",
        "candidate",
        "design",
        "harm",
        "missing",
        "question",
        "safe",
        "stable",
        "waiting_candidate",
        "waiting_stable",
        "witnesses",
    )

    def __init__(self, question: Question, stage: Stage) -> None:
        if question.signal not in SIGNALS:
            raise ValueError(f"{question.signal} cannot be folded; known: {', '.join(sorted(SIGNALS))}")
        if not 0.0 <= question.margin < 1.0:
            raise ValueError(f"margin of {question.signal} is {question.margin!r}; allowed: 0 <= margin < 1")
        self.question = question
        self.design = design_of(question, stage)
        self.harm, self.safe = _tests(question, self.design)
        self.answers = Answers() if question.signal is Signal.DISAGREEMENT else None
        self._of_copies = question.against_control or question.signal is Signal.DISAGREEMENT
        self._freezes = question.signal is Signal.P95_LATENCY and self.design is not Design.ONE_SAMPLE
        self.missing = 0
        self.candidate, self.stable = Mean(), Mean()
        self.boundary = question.boundary_ms
        self.calibration: list[float] = []
        self.waiting_candidate: deque[tuple[float, str]] = deque(maxlen=WAITING)
        self.waiting_stable: deque[float] = deque(maxlen=WAITING)
        self.witnesses: deque[str] = deque(maxlen=WITNESSES)

    def add(self, observation: Observation) -> None:
        """Fold one unit."""
        if self._freezes and self.boundary is None:
            self._calibrate(observation)
        else:
            _FOLDS[self.design](self, observation)

    def _calibrate(self, observation: Observation) -> None:
        """The unit is spent on the latency boundary: its values are never evidence as well."""
        self.calibration.extend(valid_latencies(observation.stable))
        if len(self.calibration) >= BOUNDARY_LATENCIES:
            ordered = sorted(self.calibration)
            p95 = ordered[rank_of(0.95, len(ordered)) - 1]
            self.boundary = p95 + max(self.question.latency_slack * p95, self.question.latency_floor_ms)
            self.calibration = []

    def _value(self, facts: ArmFacts) -> float | None:
        return badness(self.question, facts, self.boundary if self.answers is None else self.answers.floor)

    def _fold_paired(self, observation: Observation) -> None:
        other = observation.control if self._of_copies else observation.stable
        if observation.candidate is None or (self._of_copies and other is None):
            return  # nothing was mirrored here, or this pair has no second copy of stable
        bad = self._value(observation.candidate)
        reference = None if other is None else self._value(other)
        if bad is None or reference is None:
            self.missing += 1
            return
        self.candidate.add(bad)
        self.stable.add(reference)
        self._compare(bad, reference)
        if bad > reference:
            self.witnesses.append(self._witness(observation))
        if self.answers is not None and other is not None:
            self.answers.add(observation.candidate, other, bad - reference)

    def _fold_split(self, observation: Observation) -> None:
        if observation.candidate is not None:
            bad = self._value(observation.candidate)
            if bad is None:
                self.missing += 1
            else:
                self.candidate.add(bad)
                self._wait(bad, self._witness(observation) if bad > 0.0 else "")
        if observation.stable is not None:
            reference = self._value(observation.stable)
            if reference is None:
                self.missing += 1
            else:
                self.stable.add(reference)
                self.waiting_stable.append(reference)
        self._pair()

    def _wait(self, bad: float, run: str) -> None:
        self.waiting_candidate.append((bad, run))
        if len(self.waiting_candidate) > WAITING_RUNS:
            oldest = -WAITING_RUNS - 1
            self.waiting_candidate[oldest] = (self.waiting_candidate[oldest][0], "")

    def _pair(self) -> None:
        """Newest with newest, so that a change of the world hits both sides; how many, by counts alone."""
        while self.waiting_candidate:
            wanted = min(max(self.stable.n // self.candidate.n, 1), MOST_STABLE_PER_CANDIDATE)
            if len(self.waiting_stable) < wanted:
                return
            reference = sum(self.waiting_stable.pop() for _ in range(wanted)) / wanted
            bad, run = self.waiting_candidate.pop()
            self._compare(bad, reference)
            if bad > reference and run:
                self.witnesses.append(run)

    def _fold_one_sample(self, observation: Observation) -> None:
        if observation.candidate is None:
            return
        bad = self._value(observation.candidate)
        if bad is None:
            self.missing += 1
            return
        self.candidate.add(bad)
        self.harm.add(bad)
        self.safe.add(-bad)
        if bad > _baseline_badness(self.question):
            self.witnesses.append(self._witness(observation))

    def _witness(self, observation: Observation) -> str:
        """The unit's run in which the candidate was worst by most; the first of those kept when that is not known."""
        worst, run = 0.0, observation.runs[0] if observation.runs else observation.unit
        for one in observation.by_run:
            bad = self._value(one.candidate)
            reference = None if one.stable is None else self._value(one.stable)
            if bad is not None and bad - (reference or 0.0) > worst:
                worst, run = bad - (reference or 0.0), one.run
        return run

    def _compare(self, bad: float, reference: float) -> None:
        difference = bad - reference
        self.harm.add(difference)
        self.safe.add(-difference)

    def evidence(self, candidate_p95: float | None, stable_p95: float | None) -> SignalEvidence:
        """What a gate needs; the p95 are shown with the latency question only."""
        signal = self.question.signal
        latency = signal is Signal.P95_LATENCY
        candidate, stable = self.candidate.value, self.stable.value
        return SignalEvidence(
            signal=signal,
            component=self.question.component,
            units=self.harm.n,
            missing=self.missing,
            candidate=None if candidate is None else displayed(signal, candidate),
            stable=self.question.baseline if stable is None else displayed(signal, stable),
            harm_log_e=self.harm.log_e,
            safe_log_e=self.safe.log_e,
            margin=self.question.margin,
            boundary=self.boundary,
            growth=self.safe.growth,
            candidate_p95_ms=candidate_p95 if latency else None,
            stable_p95_ms=stable_p95 if latency else None,
            witnesses=tuple(self.witnesses),
            answers=None if self.answers is None else self.answers.evidence(),
        )

    def to_json(self) -> dict[str, Any]:
        """State; what there is nothing of is left out."""
        found = {
            "harm": self.harm.to_json(),
            "safe": self.safe.to_json(),
            "missing": self.missing,
            "candidate": [self.candidate.total, self.candidate.n],
            "stable": [self.stable.total, self.stable.n],
            "boundary": self.boundary,
            "calibration": self.calibration,
            "waitingCandidate": [[bad, run] if run else _short(bad) for bad, run in self.waiting_candidate],
            "waitingStable": [_short(bad) for bad in self.waiting_stable],
            "witnesses": list(self.witnesses),
            "answers": None if self.answers is None else self.answers.to_json(),
        }
        return {name: value for name, value in found.items() if value not in _NOTHING}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], question: Question, stage: Stage) -> "Track":
        """The inverse of to_json, for the same question and stage."""
        track = cls(question, stage)
        track.harm = MeanTest.from_json(data["harm"])
        track.safe = MeanTest.from_json(data["safe"])
        track.missing = int(data["missing"])
        track.candidate, track.stable = Mean(*data["candidate"]), Mean(*data["stable"])
        track.boundary = data.get("boundary")
        track.calibration = list(data.get("calibration", ()))
        track.waiting_candidate.extend(map(_waiting, data.get("waitingCandidate", ())))
        track.waiting_stable.extend(map(float, data.get("waitingStable", ())))
        track.witnesses.extend(data.get("witnesses", ()))
        if data.get("answers") is not None:
            track.answers = Answers.from_json(data["answers"])
        return track


_FOLDS: Final = {
    Design.PAIRED: Track._fold_paired,  # noqa: SLF001 - own class
    Design.SPLIT: Track._fold_split,  # noqa: SLF001 - own class
    Design.ONE_SAMPLE: Track._fold_one_sample,  # noqa: SLF001 - own class
}


def _short(bad: float) -> float | int:
    """All or nothing, as most are, in one byte instead of three."""
    return int(bad) if bad in {0.0, 1.0} else bad


def _waiting(entry: Any) -> tuple[float, str]:
    """A badness alone, or with its run."""
    bad, run = entry if isinstance(entry, list) else (entry, "")
    return float(bad), str(run)


def _tests(question: Question, design: Design) -> tuple[MeanTest, MeanTest]:
    """Harm and safe. One-sample: both about baseline + margin, because the baseline is itself an estimate."""
    if design is not Design.ONE_SAMPLE:
        return MeanTest(-1.0, 1.0, 0.0), MeanTest(-1.0, 1.0, -question.margin)
    threshold = _baseline_badness(question) + question.margin
    threshold = min(max(threshold, _LEAST_THRESHOLD), 1.0 - _LEAST_THRESHOLD)
    return MeanTest(0.0, 1.0, threshold), MeanTest(-1.0, 0.0, -threshold)


def _baseline_badness(question: Question) -> float:
    baseline = question.baseline
    if baseline is None or not 0.0 <= baseline <= 1.0:
        raise ValueError(f"baseline of {question.signal} is {baseline!r}; allowed: 0 <= baseline <= 1")
    return displayed(question.signal, baseline)
