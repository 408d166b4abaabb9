"""The 95th percentile of the latest runs, by the runs' own times."""

import math
from typing import Final

from sluicegate.observability.sketch import Sketch

SPAN: Final = 1800
"""Seconds of one of the two spans that are kept."""
QUANTILE: Final = 0.95


class Recent:
    """Values of the present half hour and the one before it, of those in which there were runs.

    Times are the runs', not a clock's: the same runs give the same quantile, in whatever order they come.
    """

    __slots__ = ("_before", "_now", "_span")

    def __init__(self) -> None:
        self._span = -1
        self._now, self._before = Sketch(), Sketch()

    def add(self, value: float, at: float) -> None:
        """at: Unix seconds; what is older than both spans is not counted. Raises ValueError as the sketch does."""
        span = math.floor(at / SPAN)
        if span > self._span:
            self._before = self._now if span == self._span + 1 else Sketch()
            self._now, self._span = Sketch(), span
        if span == self._span:
            self._now.add(value)
        elif span == self._span - 1:
            self._before.add(value)

    def p95(self) -> float:
        """Within 1 % of the value of rank ceil(0.95 n) (`Sketch.quantile`); NaN without values."""
        both = Sketch()
        both.merge(self._now)
        both.merge(self._before)
        found = both.quantile(QUANTILE)
        return math.nan if found is None else found
