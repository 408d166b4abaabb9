"""The state of a field of numbers: how often each arm lies above stable's deciles, a peek-proof Kolmogorov-Smirnov test."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from sluicegate.contracts.evidence import ArmFacts
from sluicegate.observability.drift import vectors
from sluicegate.observability.drift.shift import Shift
from sluicegate.observability.drift.values import RUNS, Move
from sluicegate.observability.drift.vectors import Runs, Vector


class Thresholds:
    """Stable's first 50 or more numbers set the borders; their units are no evidence, so that borders depend on the past."""

    __slots__ = ("_bins", "_events", "_learned", "_runs", "_singles", "borders")

    def __init__(self) -> None:
        self.borders: tuple[float, ...] = ()
        self._learned: list[float] = []
        self._events: list[Shift] = []
        self._bins: list[list[float]] = []
        self._runs: tuple[str, ...] = ()
        self._singles: tuple[Vector, ...] = ()

    @property
    def is_set(self) -> bool:
        """Whether the borders are known, so that units can be compared."""
        return bool(self.borders)

    def calibrate(self, stable: ArmFacts | None, field: str) -> None:
        """Spend a unit on the borders."""
        self._learned.extend(vectors.numbers(stable, field))
        if len(self._learned) >= vectors.CALIBRATION:
            self._set(vectors.borders_of(self._learned))
            self._learned = []

    def _set(self, borders: tuple[float, ...]) -> None:
        self.borders = borders
        self._events = [Shift() for _ in vectors.event_names(borders)]
        self._bins = [[0.0, 0.0] for _ in range(len(self._events) + 1)]
        self._singles = vectors.single_bins(borders)

    def vector(self, facts: ArmFacts | None, field: str) -> Vector | None:
        """Shares of the ranges between borders."""
        found = () if facts is None else facts.numbers.get(field, ())
        if len(found) == 1:  # a unit of one run
            (value,) = found
            return self._singles[vectors.bin_of(value, self.borders)] if math.isfinite(value) else None
        return vectors.binned(vectors.numbers(facts, field), self.borders)

    def learn(self, stable: Vector | None) -> None:
        """Numbers are no new values."""

    def compare(self, candidate: Vector, stable: Vector, runs: Runs) -> None:
        """Fold one comparison of binned numbers."""
        for arm, vector in enumerate((candidate, stable)):
            for name, share in vector.items():
                self._bins[int(name)][arm] += share
        if candidate == stable:
            return
        self._runs = (*self._runs, runs[""])[-RUNS:]
        if len(candidate) == len(stable) == 1:
            self._step(int(*stable), int(*candidate))
            return
        bins = [int(name) for name in candidate.keys() | stable.keys()]
        between = slice(min(bins), max(bins))  # below and above both arms lie alike
        for event, shift in enumerate(self._events[between], start=between.start):
            x = vectors.exceeding(candidate, event) - vectors.exceeding(stable, event)
            shift.add(min(1.0, max(-1.0, x)))

    def _step(self, start: int, end: int) -> None:
        """From one bin to another, as units of one run do: every border between was crossed."""
        if start < end:
            for shift in self._events[start:end]:
                shift.up += 1.0
                shift.square += 1.0
        else:
            for shift in self._events[end:start]:
                shift.down += 1.0
                shift.square += 1.0

    def counts(self) -> tuple[tuple[str, float, float], ...]:
        """(range, candidate, stable), ascending."""
        names = vectors.event_names(self.borders) if self.borders else ()
        labels = (f"< {self.borders[0]:.6g}", *names) if names else ()
        return tuple((name, *pair) for name, pair in zip(labels, map(tuple, self._bins), strict=True))  # type: ignore[misc]

    def moves(self) -> Iterator[Move]:
        """Each border."""
        for event, shift in enumerate(self._events):
            candidate, stable = (sum(pair[arm] for pair in self._bins[event + 1 :]) for arm in (0, 1))
            name = vectors.event_names(self.borders)[event]
            yield Move(name, 1.0 / len(self._events), shift, shift, candidate, stable, self._runs)

    def unseen(self) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
        """Numbers are no new values."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "learned": self._learned,
            "borders": list(self.borders),
            "events": [shift.to_json() for shift in self._events],
            "bins": [list(pair) for pair in self._bins],
            "runs": list(self._runs),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Thresholds":
        """The inverse of to_json."""
        made = cls()
        made._learned = [float(value) for value in data["learned"]]
        if data["borders"]:
            made._set(tuple(float(border) for border in data["borders"]))
        made._events = [Shift.from_json(shift) for shift in data["events"]]
        made._bins = [[float(a), float(b)] for a, b in data["bins"]]
        made._runs = tuple(data["runs"])
        return made
