"""Points of many vectors and their regions at once, to the bit what `points` makes one by one. Needs numpy."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sluicegate.contracts.evidence import VECTOR

_LARGEST: Final = float(np.finfo(np.float32).max)


def codes(vectors: Sequence[tuple[float, ...]], scale: tuple[tuple[float, ...], ...]) -> NDArray[np.uint8]:
    """Of n finite vectors, n × VECTOR bytes. scale: steps and zeros by coordinate."""
    steps, zeros = scale
    single = np.clip(np.array(vectors, float).reshape(-1, VECTOR), -_LARGEST, _LARGEST).astype(np.float32)
    places: NDArray[np.float64] = single.astype(float) * steps + zeros
    return np.clip(places, 0.0, 255.0).astype(np.uint8)


def regions(
    points: NDArray[np.uint8],
    middles: tuple[tuple[int, ...], ...],
    radius: float,
) -> list[int]:
    """The nearest middle of each point, the first of equals; their number where all are farther than the radius.

    Squares of distances are whole numbers, and so is that of the radius, which is one of these distances.
    """
    apart = points[:, None, :].astype(np.int64) - np.array(middles)
    squares = (apart * apart).sum(axis=2)
    nearest = squares.argmin(axis=1)
    nearest[squares.min(axis=1) > round(radius * radius)] = len(middles)
    return [int(place) for place in nearest]
