"""The state of a field with a few values: of each its counts in both arms, and whether its share moved."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sluicegate.contracts.evidence import MOST_VALUES, OTHER_VALUES, ArmFacts
from sluicegate.observability.drift import vectors
from sluicegate.observability.drift.shift import Shift
from sluicegate.observability.drift.vectors import Runs, Vector

MOST: Final = MOST_VALUES
"""Values that are told apart, the last of them OTHER_VALUES."""

MOST_KNOWN: Final = 64
RUNS: Final = 3
_WEIGHTS: Final = tuple(
    1.0 / (rank * sum(1.0 / other for other in range(1, MOST + 1))) for rank in range(1, MOST + 1)
)
"""Of the mixture over values, in the order in which they appeared: frequent ones come first."""
FIRST_WEIGHT: Final = _WEIGHTS[0]


@dataclass(slots=True)
class Value:
    """candidate, stable: units that gave it, in parts. first: x of the unit that brought it. units: of the candidate."""

    candidate: float = 0.0
    stable: float = 0.0
    shift: Shift = field(default_factory=Shift)
    first: float = 0.0
    units: int = 0
    runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """One thing whose share may have moved. harm, shift: sums for "it moved" and for "it stayed"."""

    name: str
    weight: float
    harm: Shift
    shift: Shift
    candidate: float
    stable: float
    runs: tuple[str, ...] = ()


class Values:
    """Values get a place as they appear. The unit that brings one is no evidence that it moved: which value is looked at
    must be known before the unit that speaks of it. For "it stayed" every unit counts, those before it appeared as well.
    """

    __slots__ = ("_known", "_saturated", "_values")

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}
        self._known: set[str] = set()
        self._saturated = False

    @property
    def is_set(self) -> bool:
        """Nothing has to be learned before units can be compared."""
        return True

    def calibrate(self, stable: ArmFacts | None, field: str) -> None:
        """Never asked for."""

    def vector(self, facts: ArmFacts | None, field: str) -> Vector | None:
        """Shares of the values."""
        return vectors.choices(facts, field)

    def learn(self, stable: Vector | None) -> None:
        """Remember what stable gives, whether it is compared or not."""
        for value in stable or ():
            if value in self._known:
                continue
            if len(self._known) >= MOST_KNOWN:
                self._saturated = True
            else:
                self._known.add(value)

    def compare(self, candidate: Vector, stable: Vector, runs: Runs) -> None:
        """Fold one comparison."""
        if candidate.keys() <= self._values.keys() and stable.keys() <= self._values.keys():
            if candidate == stable:
                self._agree(candidate)
                return
            if len(candidate) == len(stable) == 1:
                (old,), (new,) = stable, candidate
                self._replace(old, new, runs)
                return
            mine, theirs = candidate, stable
        else:
            places = self._places(candidate.keys() | stable.keys())
            mine, theirs = _moved(candidate, places), _moved(stable, places)
        for name in sorted(mine.keys() | theirs.keys()):
            share, reference = mine.get(name, 0.0), theirs.get(name, 0.0)
            x = min(1.0, max(-1.0, share - reference))
            held = self._values.get(name)
            if held is None:
                held = self._values[name] = Value(first=x)
            held.candidate += share
            held.stable += reference
            held.units += share > 0.0
            held.shift.add(x)
            if x > 0.0:
                held.runs = (*held.runs, runs.get(name, runs[""]))[-RUNS:]

    def _agree(self, both: Vector) -> None:
        """Known values that both arms gave alike, as in most units: no share moved."""
        for name, share in both.items():
            held = self._values[name]
            held.candidate += share
            held.stable += share
            held.units += 1

    def _replace(self, old: str, new: str, runs: Runs) -> None:
        """A known value instead of another, in a unit of one run."""
        gone, come = self._values[old], self._values[new]
        gone.stable += 1.0
        gone.shift.down += 1.0
        gone.shift.square += 1.0
        come.candidate += 1.0
        come.units += 1
        come.shift.up += 1.0
        come.shift.square += 1.0
        come.runs = (*come.runs, runs.get(new, runs[""]))[-RUNS:]

    def _places(self, values: Iterable[str]) -> dict[str, str]:
        """Where each value is counted: at its own place, new ones by name while there is room, else at OTHER_VALUES."""
        room = MOST - 1 - len(self._values.keys() - {OTHER_VALUES})
        places = {}
        for value in sorted(values):
            is_new = value not in self._values
            places[value] = OTHER_VALUES if is_new and (room <= 0 or value == OTHER_VALUES) else value
            room -= places[value] != OTHER_VALUES and is_new
        return places

    def counts(self) -> tuple[tuple[str, float, float], ...]:
        """(value, candidate, stable), by place."""
        return tuple((name, held.candidate, held.stable) for name, held in self._values.items())

    def moves(self) -> Iterator[Move]:
        """Each value."""
        for (name, held), weight in zip(self._values.items(), _WEIGHTS, strict=False):
            without_first = held.shift.without(held.first)
            yield Move(name, weight, without_first, held.shift, held.candidate, held.stable, held.runs)

    def unseen(self) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
        """Values that stable never gave: how many of the candidate's units did, and runs; the most frequent first."""
        if self._saturated:
            return ()
        found = (
            (name, held.units, held.runs)
            for name, held in self._values.items()
            if name != OTHER_VALUES and name not in self._known and held.units
        )
        return tuple(sorted(found, key=lambda item: (-item[1], item[0])))

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "values": [
                [
                    name,
                    held.candidate,
                    held.stable,
                    held.shift.to_json(),
                    held.first,
                    held.units,
                    list(held.runs),
                ]
                for name, held in self._values.items()
            ],
            "known": sorted(self._known),
            "saturated": self._saturated,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Values":
        """The inverse of to_json."""
        made = cls()
        for name, candidate, stable, shift, first, units, runs in data["values"]:
            made._values[str(name)] = Value(
                float(candidate), float(stable), Shift.from_json(shift), float(first), int(units), tuple(runs)
            )
        made._known = set(data["known"])
        made._saturated = bool(data["saturated"])
        return made


def _moved(vector: Vector, places: Mapping[str, str]) -> Vector:
    placed: Vector = {}
    for value, share in vector.items():
        placed[places[value]] = placed.get(places[value], 0.0) + share
    return placed
