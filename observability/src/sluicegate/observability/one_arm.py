"""One arm against a limit: two tests of its mean, and the confidence sequence that they are the two ends of."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Final

from sluicegate.observability.sequential import FRACTIONS, MeanTest, stake_weights

_STEPS: Final = 60
"""Halvings: an end is exact to 2^-60."""


class OneArm:
    """A mean in [0, 1] against `limit`, in (0, 1). Values may be known only as lying between two bounds.

    `above` rejects "the mean is at most the limit" on the lower bounds, `below` rejects "it is at least the limit" on the upper
    ones, so that whatever the values were, neither errs more often than it would on the values themselves.
    """

    __slots__ = ("_highs", "_lows", "above", "below", "limit")

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.above = MeanTest(0.0, 1.0, limit)
        self.below = MeanTest(0.0, 1.0, 1.0 - limit)
        self._lows: Counter[float] = Counter()
        self._highs: Counter[float] = Counter()

    def add(self, least: float, most: float) -> None:
        """One value. Raises ValueError unless 0 <= least <= most <= 1."""
        if not 0.0 <= least <= most <= 1.0:
            raise ValueError(f"need 0 <= least <= most <= 1, got {least!r}, {most!r}")
        self.above.add(least)
        self.below.add(1.0 - most)
        self._lows[least] += 1
        self._highs[1.0 - most] += 1

    @property
    def n(self) -> int:
        """Values so far."""
        return self.above.n

    @property
    def mean(self) -> float | None:
        """Of the upper bounds: the worst that the values may have been."""
        return 1.0 - self._sum(self._highs) / self.n if self.n else None

    def ends(self, log_threshold: float) -> tuple[float, float]:
        """The confidence sequence now: means that neither test, moved there, rejects at `log_threshold` = ln(1/α).

        Each end is on the wrong side of the mean at some time with chance at most α (Waudby-Smith & Ramdas 2024, section 4: the
        inversion of the martingale at every mean). The mixture keeps its weights of the limit, which makes the e-value fall
        as the mean moves towards the values: the limit lies outside exactly if its test rejects.
        """
        low = _end(self._lows, self.limit, log_threshold)
        high = 1.0 - _end(self._highs, 1.0 - self.limit, log_threshold)
        return low, high

    @staticmethod
    def _sum(values: Counter[float]) -> float:
        return math.fsum(value * count for value, count in values.items())


def _end(values: Counter[float], limit: float, log_threshold: float) -> float:
    """The smallest mean that is not rejected from above."""
    total = values.total()
    if not total:
        return 0.0
    log_e = _mixture(values, limit)
    low, high = 0.0, math.fsum(value * count for value, count in values.items()) / total
    if high <= 0.0:
        return 0.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if middle <= 0.0 or log_e(middle) >= log_threshold:
            low = middle
        else:
            high = middle
    return low


def _mixture(values: Counter[float], limit: float) -> Callable[[float], float]:
    weights = stake_weights(1.0 / limit)
    whole = math.fsum(weights)
    shares = [math.log(weight / whole) for weight in weights]

    def log_e(mean: float) -> float:
        logs = [
            share
            + math.fsum(
                count * math.log1p(fraction * max((value - mean) / mean, -1.0))
                for value, count in values.items()
            )
            for share, fraction in zip(shares, FRACTIONS, strict=True)
        ]
        top = max(logs)
        return top + math.log(math.fsum(math.exp(log - top) for log in logs))

    return log_e
