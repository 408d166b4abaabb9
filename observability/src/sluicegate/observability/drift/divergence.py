"""KL divergence of what the candidate gives from what stable gives: the score that is shown, never what decides.

Plug-in values are too large without any drift, the more so the fewer units and the more values there are: their null
distribution is chi-square(k - 1) / 2 * (1/n + 1/m) for k values and n and m units.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from sluicegate.observability.drift import chi_square

UNSEEN: Final = "__unseen__"
"""Values that stable never gave, together; it always has a share, so that the first new value is finite and visible."""

PRIOR: Final = 0.5
"""Added to each of stable's counts (Jeffreys; Krichevsky and Trofimov 1981)."""


def kl(current: Sequence[float], baseline: Sequence[float]) -> float:
    """Sum of p ln(p / q) over shares, in nats; infinite where baseline has nothing and current has something."""
    total = 0.0
    for p, q in zip(current, baseline, strict=True):
        if p > 0.0:
            if q <= 0.0:
                return math.inf
            total += p * math.log(p / q)
    return total


def smoothed_kl(current: Mapping[str, float], baseline: Mapping[str, float]) -> float:
    """KL(current || baseline) of counts: baseline smoothed, what it never had taken together as UNSEEN. 0 without counts."""
    known = [value for value, count in baseline.items() if count > 0.0]
    n, m = math.fsum(current.values()), math.fsum(baseline.values())
    if n <= 0.0 or m <= 0.0:
        return 0.0
    unseen = math.fsum(count for value, count in current.items() if not baseline.get(value, 0.0) > 0.0)
    whole = m + PRIOR * (len(known) + 1)
    shares = [current.get(value, 0.0) / n for value in known]
    return max(
        0.0,
        kl([*shares, unseen / n], [*((baseline[value] + PRIOR) / whole for value in known), PRIOR / whole]),
    )


def bias(values: int, n: float, m: float) -> float:
    """Mean of the plug-in KL of two equal arms: (k - 1) / 2 * (1/n + 1/m). m infinite: a baseline that is known."""
    return 0.5 * max(values - 1, 0) * (1.0 / n + 1.0 / m)


def debiased_kl(current: Mapping[str, float], baseline: Mapping[str, float], n: float, m: float) -> float:
    """smoothed_kl less its bias, at least 0; n, m: units."""
    if n <= 0.0 or m <= 0.0:
        return 0.0
    return max(0.0, smoothed_kl(current, baseline) - bias(_values(current, baseline), n, m))


def null_quantile(values: int, n: float, m: float, probability: float = 0.99) -> float:
    """What the plug-in KL of two equal arms stays below with this probability; 0 for a single value."""
    if values < 2:
        return 0.0
    return 0.5 * (1.0 / n + 1.0 / m) * chi_square.quantile(probability, values - 1)


def _values(current: Mapping[str, float], baseline: Mapping[str, float]) -> int:
    return len({value for counts in (current, baseline) for value, count in counts.items() if count > 0.0})
