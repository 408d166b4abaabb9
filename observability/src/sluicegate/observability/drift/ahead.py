"""Points of many vectors and their regions at once, to the bit what `points` makes one by one. Needs numpy."""

import struct
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sluicegate.contracts.evidence import VECTOR

_DOUBLES: Final = struct.Struct(f"{VECTOR}d")
_LARGEST: Final = float(np.finfo(np.float32).max)


def codes(vectors: Sequence[tuple[float, ...]], scale: tuple[tuple[float, ...], ...]) -> NDArray[np.uint8]:
    """Of n finite vectors, n × VECTOR bytes. scale: steps and zeros by coordinate."""
    steps, zeros = scale
    numbers = np.frombuffer(b"".join([_DOUBLES.pack(*one) for one in vectors])).reshape(-1, VECTOR)
    single = np.clip(numbers, -_LARGEST, _LARGEST).astype(np.float32)
    places: NDArray[np.float64] = single.astype(float) * steps + zeros
    return np.clip(places, 0.0, 255.0).astype(np.uint8)


def regions(
    points: NDArray[np.uint8],
    middles: tuple[tuple[int, ...], ...],
    radius: float,
) -> list[int]:
    """The nearest middle of each point, the first of equals; their number where all are farther than the radius.

    |p - m|² = |p|² - 2 p·m + |m|² of whole numbers is exact; so is the radius squared, which is one of these distances.
    """
    p, m = points.astype(float), np.array(middles, float)
    squares = (p * p).sum(axis=1)[:, None] - 2.0 * (p @ m.T) + (m * m).sum(axis=1)
    nearest = squares.argmin(axis=1)
    nearest[squares.min(axis=1) > round(radius * radius)] = len(middles)
    found: list[int] = nearest.tolist()
    return found
