"""A threshold gate, as Argo Rollouts and Flagger run it: one value an interval against a fixed limit.

Sources: Flagger, "How it works" (interval 1m, threshold 5: failed checks before rollback; the count is not taken back
by a good check); Argo Rollouts, "Analysis" (interval, failureLimit: that many failures are tolerated, so a limit of
k - 1 aborts at the k-th; with `consecutive` k in a row are needed). Values are bad when large.
An interval without a value is no check here; both tools leave it to the user.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rule:
    """Abort at the `failures`-th value above the limit, in a row or in all."""

    minutes: int
    failures: int
    consecutive: bool = False

    def __str__(self) -> str:
        return f"{self.minutes} min, {self.failures} failed{' in a row' if self.consecutive else ''}"


FLAGGER = Rule(1, 5)
RULES = tuple(
    Rule(minutes, failures, consecutive)
    for minutes in (1, 5, 15, 30, 60)
    for failures, consecutive in (
        (1, False),
        (2, False),
        (3, False),
        (5, False),
        (2, True),
        (3, True),
        (5, True),
    )
)
"""What is tried when the gate is tuned."""


def aborted_at(values: Array, rule: Rule, limit: float) -> Array:
    """Minute at whose end each run (row) is aborted; infinity: never. values: one an interval."""
    failed = values > limit  # false for NaN
    over = _in_a_row(failed, rule.failures) if rule.consecutive else failed.cumsum(axis=1) >= rule.failures
    return np.where(over.any(axis=1), (over.argmax(axis=1) + 1.0) * rule.minutes - 1.0, np.inf)


def smallest_limit(values: Array, rule: Rule, rate: float) -> float:
    """The limit at which at most `rate` of these runs (rows) are aborted."""
    known = np.where(np.isnan(values), -np.inf, values)
    if known.shape[1] < rule.failures:
        return np.inf
    if rule.consecutive:
        windows = np.lib.stride_tricks.sliding_window_view(known, rule.failures, axis=1)
        highest = windows.min(axis=2).max(axis=1)
    else:
        highest = -np.sort(-known, axis=1)[:, rule.failures - 1]
    return float(-np.sort(-highest)[int(rate * len(highest))])


def _in_a_row(failed: NDArray[np.bool_], length: int) -> NDArray[np.bool_]:
    run = np.zeros(len(failed), dtype=np.int64)
    over = np.zeros_like(failed)
    for column in range(failed.shape[1]):
        run = np.where(failed[:, column], run + 1, 0)
        over[:, column] = run >= length
    return over
