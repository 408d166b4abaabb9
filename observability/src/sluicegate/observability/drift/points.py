"""The state of a field of vectors: in which region each lies, and whether the clouds of both arms differ.

Stable's first vectors set a scale for each coordinate and the middles of the regions; their units are no evidence. From then
on a vector is a point of sixteen bytes. Which share of the units lies in a region is asked as of values (`shift`), after
every unit, and says what moved. The clouds as wholes are compared by permutation (`energy`), at looks that lie ever twice as far
apart, each at a sample of the pairs since the look before.
"""

import math
import struct
from base64 import b64decode, b64encode
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from operator import add, mul
from typing import Any, Final

from sluicegate.contracts.evidence import VECTOR, ArmFacts, CloudLook
from sluicegate.observability.drift import energy
from sluicegate.observability.drift.shift import Shift
from sluicegate.observability.drift.values import RUNS, Move
from sluicegate.observability.drift.vectors import Runs, Vector

CALIBRATION: Final = 32
"""Vectors of stable by which scale and regions are set."""
REGIONS: Final = 6
"""Beside the one for what lies far from all of them."""
ATTEMPTS: Final = 10
"""Calibrations at most. One that finds no more points than REGIONS tells no distance between them, and the next vectors are learned
instead; after the last it is taken as it is: what gave so few for so long gives no others.
"""
SAMPLE: Final = 32
"""Pairs of a look: of those that differ, since equal points say nothing whichever way round."""

_MANY: Final = 8
"""Vectors from which on it pays to make their points at once."""
_INSIDE: Final = 64
_MIDDLE: Final = 128
"""A byte is 128 in the middle of the calibration's range and moves by 64 over all of it."""
_SINGLE: Final = struct.Struct(f"<{VECTOR}f")
"""Refuses what is too large; the native layout would make it infinite."""
_LARGEST: Final = (2.0 - 2.0**-23) * 2.0**127
"""Of single precision (IEEE 754)."""
_FIBONACCI: Final = 2654435769
"""2^32 over the golden ratio: multiples modulo 2^32 lie evenly (Knuth, The Art of Computer Programming 3, 6.4)."""


class Points:
    """Regions of one field, and the pairs that wait for the next look."""

    __slots__ = (
        "_ahead",
        "_attempts",
        "_bins",
        "_differing",
        "_learned",
        "_middles",
        "_places",
        "_radius",
        "_runs",
        "_sample",
        "_scale",
        "_shifts",
        "look",
    )

    def __init__(self) -> None:
        self._attempts = 0
        self._learned: list[tuple[float, ...]] = []
        self._scale: tuple[tuple[float, ...], ...] = ()  # by coordinate: steps for 1; where 0 lies
        self._middles: tuple[tuple[int, ...], ...] = ()
        self._radius = 0.0
        self._shifts: list[Shift] = []
        self._bins: list[list[float]] = []
        self._runs: tuple[str, ...] = ()
        self._differing = 0
        self._sample: list[tuple[int, str, str]] = []  # by rank, ascending
        self.look = CloudLook()
        self._ahead: dict[int, tuple[ArmFacts, str]] = {}  # made at once: by id of the facts, the point
        self._places: dict[str, int] = {}  # of these points, the region

    @property
    def is_set(self) -> bool:
        """Whether regions are known, so that units can be compared."""
        return bool(self._middles)

    def calibrate(self, stable: ArmFacts | None, field: str) -> None:
        """Spend a unit on the regions."""
        mean = _mean(stable, field)
        if mean is not None:
            self._learned.append(mean)
        if len(self._learned) >= CALIBRATION:
            self._attempts += 1
            self._set(self._learned)
            self._learned = []

    def _set(self, learned: list[tuple[float, ...]]) -> None:
        self._scale = tuple(zip(*map(_scale, zip(*learned, strict=True)), strict=True))
        codes = tuple(dict.fromkeys(tuple(self._code(vector)) for vector in learned))
        if len(codes) <= REGIONS and self._attempts < ATTEMPTS:
            self._scale = ()
            return
        self._middles = codes[:REGIONS]
        self._radius = max(min(math.dist(code, middle) for middle in self._middles) for code in codes)
        self._shifts = [Shift() for _ in range(len(self._middles) + 1)]
        self._bins = [[0.0, 0.0] for _ in self._shifts]

    def _code(self, vector: tuple[float, ...]) -> bytes:
        steps, zeros = self._scale
        try:
            return bytes(map(int, map(add, map(mul, vector, steps), zeros)))
        except (ValueError, OverflowError):  # what lies far outside lies at the edge
            places = map(add, map(mul, vector, steps), zeros)
            return bytes([int(min(max(place, 0.0), 255.0)) for place in places])

    def expect(self, coming: Sequence[ArmFacts], field: str) -> None:
        """Make the points of these at once, where numpy is there: they are folded next, and the result is the same."""
        self._ahead, self._places = {}, {}
        known = [(one, found) for one in coming if _is_plain(found := one.numbers.get(field, ()))]
        if not self.is_set or len(known) < _MANY:
            return
        try:
            from sluicegate.observability.drift import ahead  # noqa: PLC0415 - loads numpy
        except ImportError:
            return
        made = ahead.codes([found for _, found in known], self._scale)
        codes = made.tobytes()
        starts = range(0, len(codes), VECTOR)
        texts = [b64encode(codes[start : start + VECTOR]).decode() for start in starts]
        self._ahead = {id(one): (one, text) for (one, _), text in zip(known, texts, strict=True)}
        self._places = dict(zip(texts, ahead.regions(made, self._middles, self._radius), strict=True))

    @property
    def is_blind(self) -> bool:
        """Whether more than half of stable's units are far: the regions do not describe it, and equal shares say nothing."""
        return bool(self._bins) and self._bins[-1][1] > 0.5 * sum(stable for _, stable in self._bins)

    def vector(self, facts: ArmFacts | None, field: str) -> Vector | None:
        """The point, as text, of the mean over the unit's runs."""
        made = self._ahead.pop(id(facts), None)
        if made is not None and made[0] is facts:
            return {made[1]: 1.0}
        mean = _mean(facts, field)
        return None if mean is None else {b64encode(self._code(mean)).decode(): 1.0}

    def learn(self, stable: Vector | None) -> None:
        """Vectors are no new values."""

    def compare(self, candidate: Vector, stable: Vector, runs: Runs) -> None:
        """Fold one comparison; of several units of stable the newest is the candidate's pair."""
        mine = self._placed(candidate)
        theirs = mine if candidate == stable else self._placed(stable)
        for place, share in mine.items():
            self._bins[place][0] += share
        for place, share in theirs.items():
            self._bins[place][1] += share
        if mine != theirs:
            self._runs = (*self._runs, runs[""])[-RUNS:]
            for place in {**mine, **theirs}:
                self._shifts[place].add(mine.get(place, 0.0) - theirs.get(place, 0.0))
        point, other = next(iter(candidate)), next(iter(stable))
        if point != other:
            self._differing += 1
            self._draw(point, other)

    def _placed(self, vector: Vector) -> dict[int, float]:
        """Shares of regions; they may sum to a little more than 1."""
        if len(vector) == 1:
            (text,) = vector
            return {self._region(text): 1.0}
        found: dict[int, float] = {}
        for text, share in vector.items():
            place = self._region(text)
            found[place] = min(1.0, found.get(place, 0.0) + share)
        return found

    def _region(self, point: str) -> int:
        known = self._places.get(point)
        if known is not None:
            return known
        distances = list(map(math.dist, repeat(tuple(b64decode(point))), self._middles))
        nearest = min(distances)
        return len(distances) if nearest > self._radius else distances.index(nearest)

    def _draw(self, point: str, other: str) -> None:
        """Keep a sample by a hash of the pair's number, which nothing that an arm gives can turn and which spreads evenly."""
        rank = self._differing * _FIBONACCI & 0xFFFFFFFF
        if len(self._sample) < SAMPLE or rank < self._sample[-1][0]:
            insort(self._sample, (rank, point, other))
            del self._sample[SAMPLE:]
        if self._differing == SAMPLE << self.look.looks:
            pairs = [(tuple(b64decode(x)), tuple(b64decode(y))) for _, x, y in self._sample]
            p = energy.p_value(pairs, "points", self.look.looks)
            self.look = CloudLook(self.look.looks + 1, p, self.look.log_e + energy.log_e(p))
            self._sample = []

    def counts(self) -> tuple[tuple[str, float, float], ...]:
        """(region, candidate, stable)."""
        return tuple((self._name(place), a, b) for place, (a, b) in enumerate(self._bins))

    def _name(self, place: int) -> str:
        return f"in region {place + 1}" if place < len(self._middles) else "far from stable's first"

    def moves(self) -> Iterator[Move]:
        """Each region."""
        for place, (shift, (candidate, stable)) in enumerate(zip(self._shifts, self._bins, strict=True)):
            yield Move(
                self._name(place), 1.0 / len(self._shifts), shift, shift, candidate, stable, self._runs
            )

    def unseen(self) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
        """Vectors are no new values."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "attempts": self._attempts,
            "learned": _packed(f"{VECTOR}f", self._learned),
            "scale": _packed(f"{VECTOR}d", self._scale),
            "middles": _packed(f"{VECTOR}B", self._middles),
            "radius": self._radius,
            "regions": [
                [*shift.to_json(), *pair] for shift, pair in zip(self._shifts, self._bins, strict=True)
            ],
            "runs": list(self._runs),
            "differing": self._differing,
            "sample": _packed(
                f">I{VECTOR}s{VECTOR}s", [(rank, b64decode(x), b64decode(y)) for rank, x, y in self._sample]
            ),
            "look": list(self.look),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Points":
        """The inverse of to_json."""
        made = cls()
        made._attempts = int(data["attempts"])
        made._learned = _unpacked(f"{VECTOR}f", data["learned"])
        made._scale = tuple(_unpacked(f"{VECTOR}d", data["scale"]))
        made._middles = tuple(_unpacked(f"{VECTOR}B", data["middles"]))
        made._radius = float(data["radius"])
        for up, down, square, candidate, stable in data["regions"]:
            made._shifts.append(Shift(float(up), float(down), float(square)))
            made._bins.append([float(candidate), float(stable)])
        made._runs = tuple(data["runs"])
        made._differing = int(data["differing"])
        made._sample = [
            (rank, b64encode(x).decode(), b64encode(y).decode())
            for rank, x, y in _unpacked(f">I{VECTOR}s{VECTOR}s", data["sample"])
        ]
        looks, p, log_e = data["look"]
        made.look = CloudLook(int(looks), float(p), float(log_e))
        return made


def _is_plain(found: tuple[float, ...]) -> bool:
    """One vector, of finite numbers."""
    return len(found) == VECTOR and math.isfinite(sum(found))


def _mean(facts: ArmFacts | None, field: str) -> tuple[float, ...] | None:
    """Of the unit's vectors, in single precision; None without a whole one, or when a number is not finite."""
    found = () if facts is None else facts.numbers.get(field, ())
    count = len(found) // VECTOR
    if not count or len(found) % VECTOR or not math.isfinite(sum(found)):
        return None
    return _single(found if count == 1 else [sum(found[place::VECTOR]) / count for place in range(VECTOR)])


def _single(mean: Sequence[float]) -> tuple[float, ...]:
    """As the state keeps it, so that what is learned and what is compared with it are rounded alike."""
    try:
        packed = _SINGLE.pack(*mean)
    except OverflowError:
        packed = _SINGLE.pack(*(min(max(value, -_LARGEST), _LARGEST) for value in mean))
    return _SINGLE.unpack(packed)


def _scale(values: tuple[float, ...]) -> tuple[float, float]:
    """Of a coordinate that never varied the smallest step is far."""
    low, high = min(values), max(values)
    step = _INSIDE / max(high - low, 1e-9 * max(abs(low), abs(high), 1e-9))
    return step, _MIDDLE + 0.5 - 0.5 * (low + high) * step


def _packed(layout: str, rows: Any) -> str:
    return b64encode(b"".join(struct.pack(layout, *row) for row in rows)).decode()


def _unpacked(layout: str, text: str) -> list[Any]:
    return list(struct.iter_unpack(layout, b64decode(text)))
