"""Intervals that hold however often one looks: asymptotic confidence sequences (normal mixture)."""

import math
from typing import Final

TUNED_FOR: Final = 1000
"""Units at which the interval is narrowest."""
LEAST_UNITS: Final = 50
"""Below, the normal approximation says nothing, and no interval is given."""


def multiplier(units: float, alpha: float, tuned_for: float = TUNED_FOR) -> float:
    """How many standard errors an interval is wide, to each side: ±SE·√(2(Nρ²+1)/(Nρ²)·ln(√(Nρ²+1)/α))."""
    if units < LEAST_UNITS:
        return math.inf
    doubled = -2.0 * math.log(alpha)
    scaled = units * (doubled + math.log1p(doubled)) / tuned_for
    return math.sqrt(2.0 * (scaled + 1.0) / scaled * math.log(math.sqrt(scaled + 1.0) / alpha))
