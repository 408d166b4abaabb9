"""The watch over a version that serves: its units in the store's order, folded into O(1) state."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter

from sluicegate.contracts.errors import Conflict, Problem, Refused
from sluicegate.contracts.evidence import ArmFacts, Observation
from sluicegate.contracts.stages import Signal
from sluicegate.contracts.watch import WatchedSignal, WatchEvidence, WatchLook
from sluicegate.observability.decay import Detector
from sluicegate.observability.drift.frozen import Frozen
from sluicegate.observability.promised import Promised

FORMAT: Final = 2
_UNREADABLE: Final = (ValueError, KeyError, TypeError, IndexError, AttributeError)
_OBJECT: Final = ("watched", "since")
"""By which a look is of the same version of the same object."""


class Watch:
    """One detector of the reward and one of each component's fallbacks, over which the alarm rate is split; the observed outputs
    and the promises of the SLA, each with an alarm rate of their own.

    The same units give the same bytes, however they are cut into batches and wherever the watch is saved and loaded
    between. What is missing is no value: it moves no detector, and `gap` says how long it has been missing.
    """

    __slots__ = ("_detectors", "_gaps", "_outputs", "_promises", "cursor", "look", "units")

    def __init__(self, look: WatchLook) -> None:
        self.look = look
        self.cursor = self.units = 0
        parts = 1 + len(look.components)
        self._detectors = [
            Detector(
                baseline_units=look.baseline_units,
                tolerance=look.tolerance,
                threshold=float(look.false_alarm_every * parts),
            )
            for _ in range(parts)
        ]
        self._gaps = [0] * parts
        self._outputs = [
            Frozen(
                field,
                wanted=look.baseline_units,
                tolerance=look.drift_tolerance,
                false_alarm_every=float(look.false_alarm_every * len(look.outputs)),
            )
            for field in look.outputs
        ]
        threshold = float(look.false_alarm_every * len(look.promises))
        self._promises = [Promised(promise, threshold) for promise in look.promises]

    def add(self, observation: Observation) -> bool:
        """Fold one unit; False when it was folded before, or belongs to an earlier object of the same name."""
        if observation.key != self.look.watched.key:
            raise ValueError(
                f"unit {observation.sequence} is of {observation.key}, not {self.look.watched.key}"
            )
        if observation.sequence <= self.cursor:
            return False
        self.cursor = observation.sequence
        facts = observation.stable or observation.candidate
        early = self.look.since is not None and observation.at < self.look.since
        if facts is None or early:
            return False
        self.units += 1
        run = observation.runs[0] if observation.runs else observation.unit
        for place, bad in enumerate(self._values(facts)):
            if bad is None or not 0.0 <= bad <= 1.0:  # NaN compares false
                self._gaps[place] += 1
                continue
            self._gaps[place] = 0
            self._detectors[place].add(bad, observation.at, run)
        for output in self._outputs:
            output.add(facts, observation.at, run)
        for promised in self._promises:
            promised.add(facts, observation.at, run)
        return True

    def add_all(self, observations: Iterable[Observation]) -> int:
        """Fold them in order; how many counted."""
        return sum(self.add(observation) for observation in observations)

    def _values(self, facts: ArmFacts) -> Iterable[float | None]:
        """Badness by detector. A component that is not mentioned did not fall back."""
        yield None if facts.reward is None else 1.0 - facts.reward
        for component in self.look.components:
            yield facts.fallbacks.get(component, 0.0)

    def evidence(self) -> WatchEvidence:
        """As folded up to `cursor`."""
        return WatchEvidence(
            look=self.look,
            cursor=self.cursor,
            units=self.units,
            signals=tuple(
                _shown(place, detector, self._gaps[place], self.look)
                for place, detector in enumerate(self._detectors)
            ),
            outputs=tuple(output.evidence() for output in self._outputs),
            promises=tuple(promised.evidence() for promised in self._promises),
        )

    def to_bytes(self) -> bytes:
        """Canonical state: equal states have equal bytes."""
        state = {
            "format": FORMAT,
            "look": _described(self.look),
            "cursor": self.cursor,
            "units": self.units,
            "gaps": self._gaps,
            "detectors": [detector.to_json() for detector in self._detectors],
            "outputs": [output.to_json() for output in self._outputs],
            "promises": [promised.to_json() for promised in self._promises],
        }
        return json.dumps(state, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes, look: WatchLook) -> "Watch":
        """The inverse of to_bytes. Raises Conflict when something else was watched (go on with `anew`, and say so),
        Refused when it cannot be read.
        """
        try:
            state = json.loads(data)
            if state["format"] != FORMAT or state["look"] != _described(look):
                raise Conflict("the watch was changed: it starts anew, with a new baseline")
            watch = cls(look)
            watch.cursor, watch.units = int(state["cursor"]), int(state["units"])
            watch._gaps = [int(gap) for gap in state["gaps"]]
            for detector, kept in zip(watch._detectors, state["detectors"], strict=True):
                detector.restore(kept)
            for output, kept in zip(watch._outputs, state["outputs"], strict=True):
                output.restore(kept)
            watch._restore_promises(state)
        except _UNREADABLE as error:
            raise Refused((Problem(path="watch", message=f"cannot be read: {error}"),)) from error
        return watch

    @classmethod
    def anew(cls, data: bytes, look: WatchLook) -> "Watch":
        """A watch with a new baseline. The promises of the same version go on, from the unit on that they saw last, so that
        a breach stays open; of what cannot be read nothing does.
        """
        watch = cls(look)
        try:
            state, wanted = json.loads(data), _described(look)
            is_same = state["format"] == FORMAT and all(
                state["look"][part] == wanted[part] for part in _OBJECT
            )
            if is_same and state.get("promises"):
                watch._restore_promises(state)
                watch.cursor = int(state["cursor"])
        except _UNREADABLE:
            return cls(look)
        return watch

    def _restore_promises(self, state: Any) -> None:
        for promised, kept in zip(self._promises, state.get("promises", ()), strict=False):
            promised.restore(kept)


_LOOK: Final = TypeAdapter(WatchLook)


def _described(look: WatchLook) -> Any:
    return _LOOK.dump_python(look, mode="json", exclude={"promises"})


def _shown(place: int, detector: Detector, gap: int, look: WatchLook) -> WatchedSignal:
    """With rewards and rates as people know them; badness stays inside."""
    is_reward = place == 0

    def shown(bad: float | None) -> float | None:
        return None if bad is None else (1.0 - bad if is_reward else bad)

    alarm = detector.alarm
    if alarm is not None and is_reward:
        alarm = replace(alarm, before=1.0 - alarm.before, after=1.0 - alarm.after)
    return WatchedSignal(
        signal=Signal.REWARD if is_reward else Signal.FALLBACK_RATE_MAX,
        component=None if is_reward else look.components[place - 1],
        units=detector.n,
        gap=gap,
        baseline=shown(detector.before),
        limit=shown(detector.limit),
        log_e=detector.log_level,
        threshold=detector.log_threshold,
        alarm=alarm,
    )
