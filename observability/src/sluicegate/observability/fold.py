"""The evidence of one stage: observations in the store's order, folded into O(1) state."""

import json
from collections.abc import Iterable
from dataclasses import MISSING, asdict, fields
from datetime import datetime
from itertools import islice
from typing import Any, Final

from sluicegate.contracts.errors import Conflict, Problem, Refused
from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, Observation, Question, StageEvidence
from sluicegate.contracts.runs import Arm
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.observability.badness import valid_latencies
from sluicegate.observability.contributions.ablated import STATES, Ablated
from sluicegate.observability.contributions.likeness import Pairs
from sluicegate.observability.drift.outputs import Outputs
from sluicegate.observability.improvement import Improvements
from sluicegate.observability.ratio import Choices
from sluicegate.observability.sketch import Sketch
from sluicegate.observability.track import Track
from sluicegate.observability.violations import UnseenViolations

FORMAT: Final = 5
READ: Final = (4, FORMAT)
"""2: units are counted by the time at which their arm was chosen, ablated ones by coalition. 3: answers have a floor of
similarity, contributions running means. 4: a test keeps its last row of equal values, pairs the look since which they are
inside. 5: what a question has nothing of is left out."""
_AT_ONCE: Final = 256
"""Units of a batch that are made ready together."""


class Fold:
    """Folds observations of one (rollout, stage, attempt) for a fixed tuple of questions.

    The same observations give the same bytes, however they are cut into batches and wherever the fold is saved and
    loaded between. An observation at or below the cursor was folded before and changes nothing.
    """

    __slots__ = (
        "_ablated",
        "_candidate_latency",
        "_choices",
        "_dropped",
        "_first_at",
        "_improvements",
        "_last_at",
        "_stable_latency",
        "_stable_units",
        "_tracks",
        "_units",
        "_unseen",
        "cursor",
        "key",
        "questions",
    )

    def __init__(self, key: EvidenceKey, questions: tuple[Question, ...]) -> None:
        self.key = key
        self.questions = questions
        self.cursor = 0
        self._units = self._stable_units = self._dropped = 0
        self._first_at: datetime | None = None
        self._last_at: datetime | None = None
        self._tracks = [_track(question)(question, key.stage) for question in questions]
        self._candidate_latency, self._stable_latency = Sketch(), Sketch()
        self._unseen = UnseenViolations()
        self._ablated = {arm: Ablated(arm) for arm in STATES}
        self._choices = Choices(key.stage)
        self._improvements = Improvements(key.stage)

    def add(self, observation: Observation) -> bool:
        """Fold one unit; False when it was folded before. Raises ValueError for another stage's unit."""
        if observation.key != self.key:
            raise ValueError(
                f"observation {observation.sequence} belongs to {observation.key}, not {self.key}"
            )
        if observation.sequence <= self.cursor:
            return False
        self.cursor = observation.sequence
        self._dropped += observation.dropped
        if observation.candidate is not None:
            self._units += 1
            self._first_at = min(self._first_at or observation.at, observation.at)
            self._last_at = max(self._last_at or observation.at, observation.at)
        if observation.stable is not None:
            self._stable_units += 1
        _sketch(self._candidate_latency, observation.candidate)
        _sketch(self._stable_latency, observation.stable)
        self._unseen.add(observation)
        for ablated in self._ablated.values():
            ablated.add(observation)
        self._choices.add(observation)
        self._improvements.add(observation)
        for track in self._tracks:
            track.add(observation)
        return True

    def add_all(self, observations: Iterable[Observation]) -> int:
        """Fold them in order; how many were new."""
        left, new = iter(observations), 0
        while coming := tuple(islice(left, _AT_ONCE)):
            for track in self._tracks:
                if isinstance(track, Outputs):
                    track.expect(coming)
            new += sum(self.add(observation) for observation in coming)
        return new

    def evidence(self) -> StageEvidence:
        """The evidence as folded up to `cursor`."""
        candidate_p95 = self._candidate_latency.quantile(0.95)
        stable_p95 = self._stable_latency.quantile(0.95)
        return StageEvidence(
            key=self.key,
            cursor=self.cursor,
            units=self._units,
            stable_units=self._stable_units,
            dropped=self._dropped,
            first_at=self._first_at,
            last_at=self._last_at,
            units_per_hour=self._units_per_hour(),
            signals=tuple(
                track.evidence(candidate_p95, stable_p95) if isinstance(track, Track) else track.evidence()
                for track in self._tracks
            ),
            unseen_violations=self._unseen.shown(),
            unseen_overflow=self._unseen.overflow,
            ablated=self._ablated[Arm.ABLATED].evidence(),
            stable_ablated=self._ablated[Arm.ABLATED_STABLE].evidence(),
            mixed=self._ablated[Arm.MIXED].evidence(),
            routing=self._choices.evidence(),
            improvement=self._improvements.evidence(),
        )

    def _units_per_hour(self) -> float | None:
        if self._first_at is None or self._last_at is None or self._units < 2:
            return None
        hours = (self._last_at - self._first_at).total_seconds() / 3600.0
        return (self._units - 1) / hours if hours > 0.0 else None

    def to_bytes(self) -> bytes:
        """Canonical state: sorted keys, shortest floats; equal states have equal bytes."""
        state = {
            "format": FORMAT,
            "key": list(self.key),
            "questions": _described(self.questions),
            "cursor": self.cursor,
            "units": self._units,
            "stableUnits": self._stable_units,
            "dropped": self._dropped,
            "firstAt": _written(self._first_at),
            "lastAt": _written(self._last_at),
            "candidateLatency": self._candidate_latency.to_json(),
            "stableLatency": self._stable_latency.to_json(),
            "unseen": self._unseen.to_json(),
            **{name: self._ablated[arm].to_json() for arm, name in STATES.items()},
            "choices": self._choices.to_json(),
            "improvements": self._improvements.to_json(),
            "tracks": [track.to_json() for track in self._tracks],
        }
        return json.dumps(state, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes, questions: tuple[Question, ...]) -> "Fold":
        """The inverse of to_bytes.

        Raises Conflict when the state answers other questions or was written in another format (start a new fold, and
        say so: its error rate starts anew), Refused when it cannot be read.
        """
        try:
            state = json.loads(data)
            if state["format"] not in READ:
                raise Conflict(
                    f"evidence has format {state['format']!r}, this version writes {FORMAT}: "
                    "it is folded anew from the observations that are kept"
                )
            if [_PLAIN | one for one in state["questions"]] != _described(questions):
                raise Conflict("the questions of this stage changed; their evidence starts anew")
            return cls._restored(state, questions)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise Refused((Problem(path="evidence", message=f"cannot be read: {error}"),)) from error

    @classmethod
    def _restored(cls, state: dict[str, Any], questions: tuple[Question, ...]) -> "Fold":
        rollout, stage, attempt = state["key"]
        fold = cls(EvidenceKey(rollout, Stage(stage), int(attempt)), questions)
        fold.cursor = int(state["cursor"])
        fold._units = int(state["units"])
        fold._stable_units = int(state["stableUnits"])
        fold._dropped = int(state["dropped"])
        fold._first_at = _read(state["firstAt"])
        fold._last_at = _read(state["lastAt"])
        fold._candidate_latency = Sketch.from_json(state["candidateLatency"])
        fold._stable_latency = Sketch.from_json(state["stableLatency"])
        fold._unseen = UnseenViolations.from_json(state["unseen"])
        fold._ablated = {arm: Ablated.from_json(state[name], arm) for arm, name in STATES.items()}
        fold._choices = Choices.from_json(state["choices"], fold.key.stage)
        fold._improvements = Improvements.from_json(state["improvements"], fold.key.stage)
        fold._tracks = [
            _track(question).from_json(track, question, fold.key.stage)
            for track, question in zip(state["tracks"], questions, strict=True)
        ]
        return fold


def _track(question: Question) -> type[Track] | type[Outputs] | type[Pairs]:
    return _TRACKS.get(question.signal, Track)


_TRACKS: Final[dict[Signal, type[Outputs] | type[Pairs]]] = {
    Signal.DRIFT: Outputs,
    Signal.SHAPLEY_VARIANCE: Pairs,
}
"""Signals whose evidence is no comparison of the arms' badness."""


def _sketch(sketch: Sketch, facts: ArmFacts | None) -> None:
    for latency in valid_latencies(facts):
        sketch.add(latency)


def _described(questions: tuple[Question, ...]) -> list[dict[str, Any]]:
    """As JSON reads it back, so that they can be compared."""
    described: list[dict[str, Any]] = json.loads(json.dumps([asdict(question) for question in questions]))
    return described


_PLAIN: Final = {one.name: one.default for one in fields(Question) if one.default is not MISSING}
"""What a question asks that was written before there was a field."""


def _written(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _read(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
