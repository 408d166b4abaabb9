"""What one arm of a unit gave in one field, as shares of values; and in which of its runs."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

from sluicegate.contracts.evidence import ArmFacts, Observation

Vector = dict[str, float]
"""Shares by value; they sum to 1."""

Runs = dict[str, str]
"""The run that shows a value; under "" the run for all others."""

CALIBRATION: Final = 50
"""Numbers of stable by which the borders are set: five between two neighbours."""

DECILES: Final = tuple(range(1, 10))


def choices(facts: ArmFacts | None, field: str) -> Vector | None:
    """Of a field with a few values; None when the arm gave nothing, or what it gave is no distribution."""
    found = None if facts is None else facts.choices.get(field)
    if not found:
        return None
    if len(found) == 1:  # a unit of one run that gave one value
        (value,) = found
        return {value: 1.0} if 0.0 < found[value] <= 1.0 else None
    if not all(0.0 <= share <= 1.0 for share in found.values()):
        return None
    total = math.fsum(found.values())
    return {value: share / total for value, share in sorted(found.items()) if share > 0.0} if total else None


def numbers(facts: ArmFacts | None, field: str) -> tuple[float, ...]:
    """The finite ones of a field of numbers."""
    found = () if facts is None else facts.numbers.get(field, ())
    if len(found) == 1:
        return found if math.isfinite(found[0]) else ()
    return tuple(number for number in found if math.isfinite(number))


def borders_of(values: Sequence[float]) -> tuple[float, ...]:
    """The distinct deciles of these values, ascending (nearest rank)."""
    ordered = sorted(values)
    return tuple(sorted({ordered[max(0, math.ceil(len(ordered) * decile / 10) - 1)] for decile in DECILES}))


def binned(values: Sequence[float], borders: Sequence[float]) -> Vector | None:
    """Shares by how many of `event_names` hold; None of no values."""
    if not values:
        return None
    vector: Vector = {}
    for value in values:
        name = str(bin_of(value, borders))
        vector[name] = vector.get(name, 0.0) + 1.0
    return {name: count / len(values) for name, count in sorted(vector.items())}


def bin_of(value: float, borders: Sequence[float]) -> int:
    """How many of `event_names` hold."""
    return 1 + bisect_left(borders, value) if value >= borders[0] else 0


def single_bins(borders: Sequence[float]) -> tuple[Vector, ...]:
    """What `binned` says of one value, by its bin; made once, never changed."""
    return tuple({str(place): 1.0} for place in range(len(borders) + 2))


def event_names(borders: Sequence[float]) -> tuple[str, ...]:
    """≥ the lowest border, then > each of them: where a number lies among stable's deciles."""
    return (f"≥ {borders[0]:.6g}", *(f"> {border:.6g}" for border in borders))


def exceeding(vector: Mapping[str, float], event: int) -> float:
    """The share of values for which the event holds."""
    return math.fsum(share for name, share in vector.items() if int(name) > event)


def runs_of(observation: Observation, field: str) -> Runs:
    """Of the candidate."""
    runs = {"": observation.runs[0] if observation.runs else observation.unit}
    if not observation.by_run:
        return runs
    for one in observation.by_run:
        for value in one.candidate.choices.get(field, ()):
            runs.setdefault(value, one.run)
    return runs
