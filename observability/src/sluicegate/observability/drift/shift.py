"""Did a share move, and by less than the margin? Both from four sums, in any order.

x in [-1, 1] is the share of a value in a unit's candidate less that in its stable. Against "the mean of x, given the past,
is at least m" bets the capital prod(1 + s z), z = m - x, which has expectation at most 1. Two lower bounds of its log
need only sums, and so do not depend on the order of the units:

- chord: log(1 + s z) is concave in x, so above its chords over [-1, 0] and [0, 1]; exact for x in {-1, 0, 1}, which is
  what units of one run give.
- square: log(1 + s z) >= s z - (-log(1 - s) - s) z² for z >= -1 and 0 <= s < 1 (Fan, Grama and Liu 2015, lemma 4.1); it
  sees how little sessions of many runs vary.

The e-value is the mean over both and over the stakes of `sequential.FRACTIONS`: at most its expectation 1, however
often one looks (Ville).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sluicegate.observability.sequential import FRACTIONS, stake_weights

_Line = tuple[float, float, float, float]
_LN_NONE: Final = -math.inf


@dataclass(slots=True)
class Shift:
    """Sums of x over units: of its positive part, of its negative part, of its square. Merges in any order."""

    up: float = 0.0
    down: float = 0.0
    square: float = 0.0

    def add(self, x: float) -> None:
        """Fold one unit. Raises ValueError when it is not finite or outside [-1, 1]."""
        if not -1.0 <= x <= 1.0:  # false for NaN
            raise ValueError(f"{x!r} is outside [-1, 1]")
        if x > 0.0:
            self.up += x
        else:
            self.down -= x
        self.square += x * x

    def without(self, x: float) -> "Shift":
        """The sums as if x had not been folded."""
        return Shift(
            max(0.0, self.up - max(x, 0.0)),
            max(0.0, self.down - max(-x, 0.0)),
            max(0.0, self.square - x * x),
        )

    def rose(self, n: int) -> float:
        """Log e-value against "the share did not rise"."""
        return _mixed(_logs(n, self.down, self.up, self.square, 0.0), 0.0)

    def fell(self, n: int) -> float:
        """Log e-value against "the share did not fall"."""
        return _mixed(_logs(n, self.up, self.down, self.square, 0.0), 0.0)

    def kept(self, n: int, margin: float) -> float:
        """Log e-value against "the share moved by `margin` or more": the weaker of both directions."""
        return min(_mixed(logs, margin) for logs in self._both(n, margin))

    def growth(self, n: int, margin: float) -> float | None:
        """Gain of `kept` per unit at the present sums; None unless positive."""
        rate = min(max(logs) for logs in self._both(n, margin)) / n if n else 0.0
        return rate if rate > 0.0 else None

    def _both(self, n: int, margin: float) -> tuple[list[float], list[float]]:
        return (
            _logs(n, self.up, self.down, self.square, margin),
            _logs(n, self.down, self.up, self.square, margin),
        )

    def to_json(self) -> list[float]:
        """State."""
        return [self.up, self.down, self.square]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> "Shift":
        """The inverse of to_json."""
        return cls(*map(float, data))


@lru_cache(maxsize=64)
def _lines(margin: float) -> tuple[tuple[_Line, ...], tuple[float, ...]]:
    """Each bound of each stake as a linear form of (n, up, down, square), and its weight."""
    lines: list[_Line] = []
    scale = 1.0 / (1.0 - margin)
    for fraction in FRACTIONS:  # chords through x = -1, 0 and 1
        stake = fraction * scale
        none = math.log1p(stake * margin)
        rise, fall = math.log1p(stake * (margin - 1.0)), math.log1p(stake * (margin + 1.0))
        lines.append((none, rise - none, fall - none, 0.0))
    for stake in FRACTIONS:
        psi = -math.log1p(-stake) - stake
        lines.append(
            (
                stake * margin - psi * margin**2,
                -stake + 2.0 * psi * margin,
                stake - 2.0 * psi * margin,
                -psi,
            )
        )
    weights = (*_normed(stake_weights(scale)), *_normed(stake_weights(1.0)))
    return tuple(lines), tuple(math.log(0.5 * weight) for weight in weights)


def _normed(weights: tuple[float, ...]) -> tuple[float, ...]:
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


def _logs(n: int, up: float, down: float, square: float, margin: float) -> list[float]:
    """Log capital of each bet against "the mean of x is at least margin"."""
    return [a * n + b * up + c * down + d * square for a, b, c, d in _lines(margin)[0]]


def _mixed(logs: list[float], margin: float) -> float:
    return log_sum(log + weight for log, weight in zip(logs, _lines(margin)[1], strict=True))


def log_sum(logs: Any) -> float:
    """log Σ exp, without overflow; -inf of nothing."""
    known = list(logs)
    top = max(known, default=_LN_NONE)
    return top if top == _LN_NONE else top + math.log(math.fsum(math.exp(log - top) for log in known))
