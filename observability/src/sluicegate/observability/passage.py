"""How many units a MeanTest takes: a closed form before anything runs, and the fewest that could ever do.

The mixture's log e-value is, but for what the mean of n values does not tell, a convex function of their sum. Where it
equals ln(1/α) is an upward boundary for that sum, and the chance to have met it by n is that of a Brownian motion
with the sum's drift and variance to have met the boundary's tangent at n (Bachelier-Lévy; tangent approximation of
Ferebee 1982 and Daniels 1996). tests/observability/test_passage.py holds it to simulations of the real fold.
"""

import math
from collections.abc import Callable, Iterable
from typing import Final

from sluicegate.observability.sequential import FRACTIONS, stake_weights

MOST_UNITS: Final = 1e9
"""What takes more is never decided."""
_STEPS: Final = 40
_CLOSE: Final = 1e-9
_SAME: Final = 1.01  # a quantile is as exact as this ratio, or as one unit


class Passage:
    """A test of H0: mean <= null on values >= low, if its values are independent draws from `values`: (value, chance)."""

    __slots__ = ("_gains", "_high", "_leans", "_mean", "_variance", "_weights")

    def __init__(self, values: Iterable[tuple[float, float]], *, low: float, null: float) -> None:
        drawn = [(value, chance) for value, chance in values if chance > 0.0]
        scale = 1.0 / (null - low)
        weights = stake_weights(scale)
        total = math.fsum(weights)
        self._weights = [math.log(weight / total) for weight in weights]
        self._high = max(value for value, _ in drawn)
        self._mean = math.fsum(value * chance for value, chance in drawn)
        self._variance = math.fsum(chance * (value - self._mean) ** 2 for value, chance in drawn)
        self._gains, self._leans = [], []
        for fraction in FRACTIONS:
            gains = [math.log1p(fraction * max((value - null) * scale, -1.0)) for value, _ in drawn]
            mean = math.fsum(gain * chance for gain, (_, chance) in zip(gains, drawn, strict=True))
            shared = math.fsum(
                gain * (value - self._mean) * chance
                for gain, (value, chance) in zip(gains, drawn, strict=True)
            )
            self._gains.append(mean)
            self._leans.append(shared / self._variance if self._variance > 0.0 else 0.0)

    @property
    def grows(self) -> bool:
        """Whether the log e-value does, on average: else the threshold may never be reached."""
        return max(self._gains) > 0.0

    def chance(self, units: float, log_threshold: float) -> float:
        """That the test's log e-value has reached `log_threshold` (ln 1/α) at or before `units` values."""
        if units <= 0.0:
            return 0.0
        if self._variance <= 0.0:
            return float(self._at(units, 0.0)[0] >= log_threshold)
        edge, slope = self._boundary(units, log_threshold)
        if edge > units * (self._high - self._mean):
            return 0.0
        start = edge - slope * units
        spread = math.sqrt(self._variance * units)
        beyond = _upper(edge / spread)
        if start <= 0.0:
            return beyond
        returned = _upper((start - slope * units) / spread)
        if returned <= 0.0:
            return beyond
        before = math.log(returned) - 2.0 * slope * start / self._variance
        return min(1.0, beyond + math.exp(min(before, 0.0)))

    def units(self, quantile: float, log_threshold: float) -> int | None:
        """Values until the threshold is reached with chance `quantile`; None above MOST_UNITS."""
        return first(lambda units: self.chance(units, log_threshold), quantile)

    def _boundary(self, units: float, log_threshold: float) -> tuple[float, float]:
        """How far the sum must be above its mean after `units` values, and the slope of that; Newton from above."""
        edge = min(
            (log_threshold - weight - units * gain) / lean
            for weight, gain, lean in zip(self._weights, self._gains, self._leans, strict=True)
        )
        drift = lean = 0.0
        for _ in range(_STEPS):
            height, drift, lean = self._at(units, edge)
            step = (height - log_threshold) / lean
            edge -= step
            if abs(step) <= _CLOSE * (1.0 + abs(edge)):
                break
        return edge, -drift / lean

    def _at(self, units: float, above: float) -> tuple[float, float, float]:
        """The log e-value where the sum is so far above its mean; its slopes in units and in the sum."""
        logs = [
            weight + units * gain + above * lean
            for weight, gain, lean in zip(self._weights, self._gains, self._leans, strict=True)
        ]
        top = max(logs)
        shares = [math.exp(log - top) for log in logs]
        total = sum(shares)
        drift = sum(share * gain for share, gain in zip(shares, self._gains, strict=True)) / total
        lean = sum(share * one for share, one in zip(shares, self._leans, strict=True)) / total
        return top + math.log(total), drift, lean


def first(chance: Callable[[float], float], quantile: float) -> int | None:
    """The fewest units for which `chance`, which grows with them, is at least `quantile`; None above MOST_UNITS."""
    high = 64.0
    while chance(high) < quantile:
        high *= 4.0
        if high > MOST_UNITS:
            return None
    low = high / 4.0 if high > 64.0 else 0.0
    while high - low > 1.0 and (low == 0.0 or high / low > _SAME):
        middle = 0.5 * (low + high)
        if chance(middle) < quantile:
            low = middle
        else:
            high = middle
    return math.ceil(high)


def least_units(*, low: float, high: float, null: float, log_threshold: float) -> int:
    """Values without which the test cannot reach the threshold, whatever they are: all of them `high`."""
    scale = 1.0 / (null - low)
    weights = stake_weights(scale)
    total = math.fsum(weights)
    gains = [math.log1p(fraction * (high - null) * scale) for fraction in FRACTIONS]

    def reaches(units: int) -> bool:
        logs = [math.log(weight / total) + units * gain for weight, gain in zip(weights, gains, strict=True)]
        top = max(logs)
        return top + math.log(math.fsum(math.exp(log - top) for log in logs)) >= log_threshold

    most = max(1, math.ceil(log_threshold / min(gains)))
    least = 0
    while most - least > 1:
        middle = (most + least) // 2
        least, most = (least, middle) if reaches(middle) else (middle, most)
    return most


def _upper(z: float) -> float:
    """Chance of a standard normal above z."""
    return 0.5 * math.erfc(z / math.sqrt(2.0))
