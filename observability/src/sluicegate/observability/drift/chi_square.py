"""The chi-square distribution, without scipy: gates run where only the base install is."""

import math
from functools import lru_cache

_STEPS = 1000


def survival(x: float, df: int) -> float:
    """P(X > x) with `df` degrees of freedom: the regularised upper incomplete gamma Q(df/2, x/2).

    Series below its mean, Lentz's continued fraction above (Numerical Recipes, 6.2). Raises ValueError for df < 1.
    """
    if df < 1:
        raise ValueError(f"df is {df!r}; allowed: at least 1")
    a, half = 0.5 * df, 0.5 * x
    if not half > 0.0:
        return 1.0
    scale = math.exp(a * math.log(half) - half - math.lgamma(a))
    if half < a + 1.0:
        return max(0.0, 1.0 - scale * _series(a, half))
    return min(1.0, scale * _fraction(a, half))


def _series(a: float, x: float) -> float:
    term = total = 1.0 / a
    for step in range(1, _STEPS):
        term *= x / (a + step)
        total += term
        if term < total * 1e-16:
            break
    return total


def _fraction(a: float, x: float) -> float:
    tiny = 1e-300
    b = x + 1.0 - a
    c, d = 1.0 / tiny, 1.0 / b
    value = d
    for step in range(1, _STEPS):
        an = -step * (step - a)
        b += 2.0
        d = an * d + b
        d = 1.0 / (d if abs(d) > tiny else tiny)
        c = b + an / c
        c = c if abs(c) > tiny else tiny
        value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value


@lru_cache(maxsize=256)
def quantile(probability: float, df: int) -> float:
    """The x with P(X <= x) = probability, by bisection. Raises ValueError unless 0 < probability < 1."""
    if not 0.0 < probability < 1.0:
        raise ValueError(f"probability is {probability!r}; allowed: above 0, below 1")
    low, high = 0.0, 1.0
    while survival(high, df) > 1.0 - probability:
        high *= 2.0
    while True:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            return middle
        low, high = (middle, high) if survival(middle, df) > 1.0 - probability else (low, middle)
