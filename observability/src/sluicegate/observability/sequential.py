"""The anytime-valid test. Pure Python, O(1) state, natural logarithms.

An e-process is a non-negative process whose expectation under the null is at most 1 at every stopping time.
Ville's inequality: the chance that it ever reaches 1/alpha under the null is at most alpha, so it may be
looked at after every unit, by anybody, for ever.
"""

import math
from collections.abc import Mapping
from operator import add
from typing import Any, Final

FRACTIONS: Final = (1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 9 / 10)
"""Stakes of the mixture, as fractions of the largest stake that cannot go bankrupt.

The best stake against a truth is about (mean - null) / variance, unknown beforehand. It is 0.02 for a fallback rate
of 4 % against 2 %, 0.2 for equal success of 95 % and a margin of 2 points, 0.5 or more when the arms hardly ever
differ. Neighbours a factor of two apart lose little. Stakes of 1 are left out, so that no value makes the capital zero
for ever.
"""

_CACHED_VALUES: Final = 1024


def stake_weights(scale: float) -> tuple[float, ...]:
    """Weights of the mixture over FRACTIONS, not normalised; scale: 1 / (null - low), the largest stake."""
    stakes = [fraction * scale for fraction in FRACTIONS]
    return tuple(math.sqrt(min(stake, 1.0 / stake)) for stake in stakes)


class MeanTest:
    """E-process against H0: the mean of each value, given the past, is at most `null`; values in [low, high].

    Mixture over FRACTIONS of betting martingales prod(1 + stake * (x - null)), stake = fraction / (null - low):
    Waudby-Smith & Ramdas, JRSSB 2024 (arXiv 2010.09686), section 4, with a fixed grid. A stake weighs
    sqrt(min(stake, 1 / stake)): most at 1, the best one against a rate that doubles, so that harm which matters is
    seen sooner; observability/README.md has what that gains. Weights are fixed before the first value. The
    capital is a martingale when the mean equals `null`, a supermartingale below; no independence or common
    distribution is assumed. Logs of the capitals are sums in the order of the values, equal ones in
    a row by their number; the last row is a part of the state, so that batches and restarts cannot change a bit.
    """

    __slots__ = (
        "_cache",
        "_gains_of_last",
        "_last",
        "_logs",
        "_repeated",
        "_scale",
        "_weights",
        "high",
        "low",
        "n",
        "null",
    )

    def __init__(self, low: float, high: float, null: float) -> None:
        if not (math.isfinite(low) and math.isfinite(high) and low < null < high):
            raise ValueError(f"need finite low < null < high, got low={low!r}, null={null!r}, high={high!r}")
        self.low, self.high, self.null = low, high, null
        self.n = 0
        self._scale = 1.0 / (null - low)
        self._weights = stake_weights(self._scale)
        self._logs = [0.0] * len(FRACTIONS)  # before the last row of equal values
        self._last: float | None = None
        self._repeated = 0
        self._gains_of_last: tuple[float, ...] = ()
        self._cache: dict[float, tuple[float, ...]] = {}

    def add(self, x: float) -> None:
        """Fold one value. Raises ValueError when it is not finite or outside [low, high]."""
        if x == self._last:
            self._repeated += 1
        else:
            gains = self._cache.get(x)
            if gains is None:
                gains = self._gains(x)
            self._logs = self._totals()
            self._last, self._repeated, self._gains_of_last = x, 1, gains
        self.n += 1

    def _totals(self) -> list[float]:
        """Log capital of each stake after all values."""
        if self._repeated < 2:
            return list(map(add, self._logs, self._gains_of_last)) if self._repeated else self._logs
        times = self._repeated
        return [log + times * gain for log, gain in zip(self._logs, self._gains_of_last, strict=True)]

    def _gains(self, x: float) -> tuple[float, ...]:
        if not self.low <= x <= self.high:  # false for NaN
            raise ValueError(f"{x!r} is outside [{self.low!r}, {self.high!r}]")
        odds = max((x - self.null) * self._scale, -1.0)
        gains = tuple(math.log1p(fraction * odds) for fraction in FRACTIONS)
        if len(self._cache) < _CACHED_VALUES:
            self._cache[x] = gains
        return gains

    @property
    def log_e(self) -> float:
        """Log of the e-value; >= log(1/alpha) rejects the null at level alpha. 0 without values."""
        if not self.n:
            return 0.0
        logs = self._totals()
        top = max(logs)
        capital = math.fsum(
            weight * math.exp(log - top) for weight, log in zip(self._weights, logs, strict=True)
        )
        return top + math.log(capital / math.fsum(self._weights))

    @property
    def growth(self) -> float | None:
        """Gain of log_e per value at the values' present empirical distribution; None unless positive.

        The largest mean log gain among the stakes, max_k (1/n) sum_i log(1 + stake_k (x_i - null)): exact, since the
        sums are the state. The mixture follows its best stake up to a constant.
        """
        rate = max(self._totals()) / self.n if self.n else 0.0
        return rate if rate > 0.0 else None

    def to_json(self) -> dict[str, Any]:
        """State; floats survive JSON bit for bit (shortest repr)."""
        return {
            "low": self.low,
            "high": self.high,
            "null": self.null,
            "n": self.n,
            "logs": list(self._logs),
            "last": [self._last, self._repeated],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "MeanTest":
        """The inverse of to_json. Raises ValueError when the state has another grid."""
        if len(data["logs"]) != len(FRACTIONS):
            raise ValueError(f"state has {len(data['logs'])} stakes, this version has {len(FRACTIONS)}")
        test = cls(float(data["low"]), float(data["high"]), float(data["null"]))
        test.n = int(data["n"])
        test._logs = [float(log) for log in data["logs"]]
        last, test._repeated = data["last"]
        if last is not None:
            test._last = float(last)
            test._gains_of_last = test._gains(test._last)
        return test
