"""A mergeable quantile sketch with a relative error.

DDSketch (Masson, Rim & Lee, VLDB 2019, arXiv 1908.10693): counts in buckets whose borders grow by a constant factor.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

ACCURACY: Final = 0.01
_GAMMA: Final = (1.0 + ACCURACY) / (1.0 - ACCURACY)
_LOG_GAMMA: Final = math.log(_GAMMA)
_SMALLEST: Final = 1e-3
_LARGEST: Final = 1e9


class Sketch:
    """Quantiles of non-negative values within 1 % of the exact order statistic.

    The promise holds for values in [1e-3, 1e9] (a microsecond to eleven days, in milliseconds); values beyond
    are counted as the nearest of the two. At most 1,383 buckets.
    """

    __slots__ = ("_buckets", "n")

    def __init__(self) -> None:
        self.n = 0
        self._buckets: dict[int, int] = {}

    def add(self, value: float) -> None:
        """Count one value. Raises ValueError when it is negative or not finite."""
        if not 0.0 <= value < math.inf:
            raise ValueError(f"{value!r} is not a finite non-negative number")
        index = math.ceil(math.log(min(max(value, _SMALLEST), _LARGEST)) / _LOG_GAMMA)
        self._buckets[index] = self._buckets.get(index, 0) + 1
        self.n += 1

    def merge(self, other: "Sketch") -> None:
        """Count the other's values too; same result in any order."""
        for index, count in other._buckets.items():  # noqa: SLF001 - own class
            self._buckets[index] = self._buckets.get(index, 0) + count
        self.n += other.n

    def quantile(self, q: float) -> float | None:
        """The value of rank ceil(q * n), within 1 %; None without values."""
        if not 0.0 < q <= 1.0:
            raise ValueError(f"quantile {q!r} is outside (0, 1]")
        rank = rank_of(q, self.n)
        for index in sorted(self._buckets):
            rank -= self._buckets[index]
            if rank <= 0:
                return 2.0 * math.exp(index * _LOG_GAMMA) / (1.0 + _GAMMA)
        return None

    def to_json(self) -> dict[str, Any]:
        """Canonical state: buckets in order."""
        return {"n": self.n, "buckets": [[index, self._buckets[index]] for index in sorted(self._buckets)]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Sketch":
        """The inverse of to_json."""
        sketch = cls()
        sketch.n = int(data["n"])
        sketch._buckets = {int(index): int(count) for index, count in data["buckets"]}
        return sketch


def rank_of(q: float, n: int) -> int:
    """Rank (from 1) of the q-quantile among n sorted values: ceil(q n), without the float's last bit."""
    return max(1, math.ceil(q * n - 1e-9))
