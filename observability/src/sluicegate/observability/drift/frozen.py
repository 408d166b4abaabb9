"""One output of the version that serves, beside the baseline that was frozen of its own first units.

Of each value the share in a unit is a stream in [0, 1], and so is the rest: did it rise, did it fall. Each is followed by a
Shiryaev-Roberts e-detector (`observability.decay`), which needs no independence of units and no distribution. The mean of
e-detectors is one, so that with a threshold times their number the mean time to a false alarm is at least the chosen one,
over all values and both directions. Numbers are asked how often they lie above the deciles of the first ones.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sluicegate.contracts.evidence import OTHER_VALUES, ArmFacts
from sluicegate.contracts.watch import MovedOutput, WatchedField, WatchedOutput
from sluicegate.observability.decay import Detector, alarm_json, alarm_of
from sluicegate.observability.drift import vectors
from sluicegate.observability.drift.vectors import Vector

MOST: Final = 16
"""Values that are told apart, the last of them OTHER_VALUES."""
UNSEEN: Final = "(new)"
"""Values that no unit of the baseline gave, together."""
MOST_UNSEEN: Final = 8
BASELINE_ERROR: Final = 0.05
"""Chance that a share lies above the upper bound of its baseline, as with `decay.BASELINE_Z`."""


class Frozen:
    """State of one field: its baseline while it is counted, then the detectors, then the alarm.

    wanted: units of the baseline. false_alarm_every: units to a false alarm on average, of this field alone.
    """

    __slots__ = (
        "_borders",
        "_field",
        "_gap",
        "_learned",
        "_moved",
        "_pairs",
        "_per_value",
        "_tolerance",
        "_unseen",
        "_wanted",
        "n",
    )

    def __init__(
        self, field: WatchedOutput, *, wanted: int, tolerance: float, false_alarm_every: float
    ) -> None:
        self._field, self._wanted, self._tolerance = field, wanted, tolerance
        self._per_value = false_alarm_every
        self.n = self._gap = 0
        self._borders: tuple[float, ...] = ()
        self._learned: list[float] = []
        self._pairs: dict[str, tuple[Detector, Detector]] = {}
        self._unseen: dict[str, str] = {}
        self._moved: MovedOutput | None = None

    def add(self, facts: ArmFacts, at: datetime, run: str) -> None:
        """Fold one unit; one in which the field was not given changes nothing but the gap."""
        vector = self._vector(facts)
        if vector is None:
            self._gap += 1
            return
        self._gap = 0
        self.n += 1
        if self._moved is not None:
            return
        placed = self._placed(vector, run)
        for name, (rise, fall) in self._pairs.items():
            share = min(placed.get(name, 0.0), 1.0)
            rise.add(share, at, run)
            fall.add(1.0 - share, at, run)
        if self.n == self._wanted:
            self._freeze()
        self._look()

    def _vector(self, facts: ArmFacts) -> Vector | None:
        if not self._field.numeric:
            return vectors.choices(facts, self._field.key)
        numbers = vectors.numbers(facts, self._field.key)
        if not numbers:
            return None
        if self._borders:
            return self._above(numbers)
        self._learned.extend(numbers)
        if len(self._learned) >= vectors.CALIBRATION:
            self._borders, self._learned = vectors.borders_of(self._learned), []
        return None

    def _above(self, numbers: tuple[float, ...]) -> Vector:
        binned = vectors.binned(numbers, self._borders) or {}
        names = vectors.event_names(self._borders)
        return {name: vectors.exceeding(binned, event) for event, name in enumerate(names)}

    def _placed(self, vector: Vector, run: str) -> Vector:
        """By the values that are followed; while the baseline is counted new ones get a place as they appear."""
        if self.n <= self._wanted:
            self._make_room(vector)
        rest = OTHER_VALUES if OTHER_VALUES in self._pairs else UNSEEN
        placed: Vector = {}
        for value, share in vector.items():
            name = value if value in self._pairs else rest
            placed[name] = placed.get(name, 0.0) + share
            if name == UNSEEN and value not in self._unseen and len(self._unseen) < MOST_UNSEEN:
                self._unseen[value] = run
        return placed

    def _make_room(self, vector: Vector) -> None:
        wanted = sorted(vector.keys() - self._pairs.keys(), key=lambda value: (value == OTHER_VALUES, value))
        for value in wanted if OTHER_VALUES not in self._pairs else ():
            is_last = len(self._pairs) >= MOST - 1 or value == OTHER_VALUES
            self._pairs[OTHER_VALUES if is_last else value] = self._pair(before=self.n - 1)
            if is_last:
                return

    def _pair(self, before: int) -> tuple[Detector, Detector]:
        """For a value that the units before did not give."""
        rise, fall = (
            Detector(
                baseline_units=self._wanted,
                tolerance=self._tolerance,
                threshold=self._per_value,
                least_error=bound_at_zero(self._wanted),
            )
            for _ in range(2)
        )
        rise.skip(before, 0.0)
        fall.skip(before, 1.0)
        return rise, fall

    def _freeze(self) -> None:
        """The values are known now, and with them over how many detectors the alarm rate is split."""
        if not self._field.numeric and OTHER_VALUES not in self._pairs:
            self._pairs[UNSEEN] = self._pair(before=self._wanted)
        for pair in self._pairs.values():
            for detector in pair:
                detector.threshold = self._per_value * 2 * len(self._pairs)

    def _look(self) -> None:
        """The first alarm stays; of those that come with the same unit the surest."""
        found = [
            (detector.level, name, detector.alarm, direction)
            for name, pair in self._pairs.items()
            for direction, detector in enumerate(pair)
            if detector.alarm is not None
        ]
        if found:
            _, name, alarm, direction = max(found, key=lambda item: item[0])
            self._moved = MovedOutput(name, alarm.of_rest() if direction else alarm)

    @property
    def is_frozen(self) -> bool:
        """Whether the baseline is complete."""
        return self.n >= self._wanted

    def evidence(self) -> WatchedField:
        """As a value."""
        levels = [detector for pair in self._pairs.values() for detector in pair]
        top = max(levels, key=lambda one: one.level, default=None)
        return WatchedField(
            field=self._field,
            units=self.n,
            gap=self._gap,
            baseline=tuple(
                (name, rise.before or 0.0) for name, (rise, _) in self._pairs.items() if name != UNSEEN
            )
            if self.is_frozen
            else (),
            log_e=0.0 if top is None else top.log_level,
            threshold=0.0 if top is None else top.log_threshold,
            moved=self._moved,
            unseen=tuple(self._unseen.items()),
        )

    def to_json(self) -> dict[str, Any]:
        """State."""
        moved = self._moved
        return {
            "n": self.n,
            "gap": self._gap,
            "borders": list(self._borders),
            "learned": self._learned,
            "values": [[name, rise.to_json(), fall.to_json()] for name, (rise, fall) in self._pairs.items()],
            "unseen": list(self._unseen.items()),
            "moved": None if moved is None else [moved.value, alarm_json(moved.alarm)],
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """The inverse of to_json, into one made with the same arguments."""
        self.n, self._gap = int(data["n"]), int(data["gap"])
        self._borders, self._learned = tuple(map(float, data["borders"])), list(map(float, data["learned"]))
        self._pairs = {}
        for name, rise, fall in data["values"]:
            pair = self._pair(before=0)
            for detector, kept in zip(pair, (rise, fall), strict=True):
                detector.restore(kept)
            self._pairs[str(name)] = pair
        if self.is_frozen:
            for pair in self._pairs.values():
                for detector in pair:
                    detector.threshold = self._per_value * 2 * len(self._pairs)
        self._unseen = {str(value): str(run) for value, run in data["unseen"]}
        moved = data["moved"]
        self._moved = None if moved is None else MovedOutput(str(moved[0]), alarm_of(moved[1]))


def bound_at_zero(units: int) -> float:
    """Upper bound of a share that no unit showed, about 3/n: without variance the baseline has an error all the same.

    Clopper & Pearson, Biometrika 26 (1934), at 0 of n, one-sided. Of values in [0, 1] with mean p at least p are not 0, so
    that it holds for shares of independent units as well.
    """
    return float(1.0 - BASELINE_ERROR ** (1.0 / units))
