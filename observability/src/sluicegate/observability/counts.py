"""Anytime-valid tests of counts that come in blocks: bad ones of so many, in one arm or in two."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

STAKES: Final = tuple(2.0**power for power in range(-7, 7))
"""Of the mixture, 1/128 to 64. The best one against a truth is about (difference - null) / variance: 0.7 for 2 % against 1 %,
50 for 2 ‰ against a limit of 1 ‰; neighbours a factor of two apart lose little."""

_WEIGHTS: Final = tuple(math.sqrt(min(stake, 1.0 / stake)) for stake in STAKES)
_BOLDEST: Final = 0.9
"""Of the stake that one more outcome could bankrupt."""


@dataclass(frozen=True, slots=True)
class Block:
    """What was counted between two looks. stable None: one arm against a limit. Rates are of `bad`."""

    bad: int
    total: int
    stable_bad: int = 0
    stable_total: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.bad <= self.total:
            raise ValueError(f"need 0 <= bad <= total, got {self.bad}, {self.total}")
        if self.stable_total is not None and not 0 <= self.stable_bad <= self.stable_total:
            raise ValueError(f"need 0 <= bad <= total, got {self.stable_bad}, {self.stable_total}")


def centres(past: Block, null: float) -> tuple[float, float]:
    """(a, b) with a - b = null: the rates under the null that what was counted before comes nearest to.

    One arm: a is the null itself. The rates are smoothed by half an outcome of each kind, so that neither is 0 or 1. How
    near they are decides power only, never validity.
    """
    if past.stable_total is None:
        return null, 0.0
    bad, total = past.bad + past.stable_bad + 0.5, past.total + past.stable_total + 1.0
    share = (past.total + 0.5) / total
    low, high = max(0.0, -null), min(1.0, 1.0 - null)
    room = (high - low) * 1e-3
    stable = min(max(bad / total - share * null, low + room), high - room)
    return stable + null, stable


def block_gains(block: Block, past: Block, null: float, sign: float) -> tuple[float, ...]:
    """Log gain of each stake by one block, against H0: sign * (candidate's rate - stable's rate - null) <= 0.

    prod over the candidate's outcomes (1 + sign k w (y - a)) times prod over stable's (1 - sign k (1 - w) (y - b)), with
    w = n_s / (n_c + n_s), so that both arms stake the same k n_c n_s / (n_c + n_s) = D. By 1 + x <= exp(x) its expectation is
    at most exp(sign D (rate_c - rate_s - null)) <= 1 under H0, for any k and a - b = null that are fixed before the block. A
    stake that a single outcome could bankrupt is cut to 0.9 of that. Of two arms the first block says nothing: without a past
    the centres would be far off, and a large block would cost more than it can show. Turner, Ly & Grünwald 2024 (arXiv 2106.02693) stake
    k = (estimate - a) / (a (1 - a)); here k is a mixture, as everywhere in Sluicegate.
    """
    if block.stable_total is not None and not past.total + (past.stable_total or 0):
        return (0.0,) * len(STAKES)
    a, b = centres(past, null)
    stable_total = block.stable_total or 0
    weight = 1.0 if block.stable_total is None else stable_total / max(block.total + stable_total, 1)
    worst = max(weight * (a if sign > 0 else 1.0 - a), 0.0)
    if block.stable_total is not None:
        worst = max(worst, (1.0 - weight) * (1.0 - b if sign > 0 else b))
    boldest = _BOLDEST / worst if worst > 0.0 else math.inf
    return tuple(
        _gain(block.bad, block.total, sign * min(stake, boldest) * weight, a)
        + _gain(block.stable_bad, stable_total, -sign * min(stake, boldest) * (1.0 - weight), b)
        for stake in STAKES
    )


def _gain(bad: int, total: int, stake: float, centre: float) -> float:
    return bad * math.log1p(stake * (1.0 - centre)) + (total - bad) * math.log1p(-stake * centre)


def log_e(logs: Sequence[float]) -> float:
    """Log of the mixture's e-value; >= ln(1/alpha) rejects H0 at level alpha, at any time (Ville)."""
    if not logs:
        return 0.0
    top = max(logs)
    capital = math.fsum(weight * math.exp(log - top) for weight, log in zip(_WEIGHTS, logs, strict=True))
    return top + math.log(capital / math.fsum(_WEIGHTS))


def folded(logs: Sequence[float], gains: Sequence[float]) -> tuple[float, ...]:
    """The logs after one more block; empty logs are a test that has not begun."""
    return tuple(log + gain for log, gain in zip(logs or (0.0,) * len(STAKES), gains, strict=True))
