"""Other people's anytime-valid tests, written from their formulas: yardsticks that the product's test is held against.

The product has one test for every gate (docs/decisions/0002). What it decides is compared with what these decide on
the same values; test_oracles.py checks each of them against published numbers and against the package `ville`.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special  # type: ignore[import-untyped]

Array = NDArray[np.float64]


def beta_log_e(successes: int, n: int, p0: float, side: str = "both") -> float:
    """Log e-value of the uniform beta-binomial mixture against a rate of p0 (Robbins).

    ln B(s+1, n−s+1) − s ln p0 − (n−s) ln(1−p0); side "greater" or "less": the mixture lives above or below p0 only.
    """
    a, b = successes + 1.0, n - successes + 1.0
    found = special.betaln(a, b) - special.xlogy(successes, p0) - special.xlog1py(n - successes, -p0)
    if side == "greater":
        found += math.log(special.betaincc(a, b, p0) / (1.0 - p0))
    elif side == "less":
        found += math.log(special.betainc(a, b, p0) / p0)
    return float(found)


def beta_interval(successes: int, n: int, alpha: float) -> tuple[float, float]:
    """Rates that the two-sided mixture does not reject: a confidence sequence, not intersected over time."""

    def excess(p: float) -> float:
        return beta_log_e(successes, n, p) + math.log(alpha)

    rate = successes / n
    low = optimize.brentq(excess, 1e-300, rate, xtol=1e-13) if successes else 0.0
    high = optimize.brentq(excess, rate, 1.0 - 1e-16, xtol=1e-13) if successes < n else 1.0
    return low, high


def _plug_in(x: Array, alpha: float) -> tuple[Array, Array]:
    """The mean before each value, and the stake it is bet with (Waudby-Smith & Ramdas 2024, equation 15)."""
    t = np.arange(1, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    before = np.concatenate(([0.5], mean[:-1]))
    spread = np.concatenate(([0.25], variance[:-1]))
    return before, np.sqrt(2 * math.log(2 / alpha) / (spread * t * np.log1p(t)))


def bernstein_interval(x: Array, alpha: float) -> tuple[float, float]:
    """Predictable plug-in empirical Bernstein of values in [0, 1], after the last one (theorem 2, ibid.)."""
    before, stake = _plug_in(x, alpha)
    stake = np.minimum(stake, 0.5)
    penalty = 4 * (x - before) ** 2 * (-np.log1p(-stake) - stake) / 4
    centre = (stake * x).sum() / stake.sum()
    radius = (math.log(2 / alpha) + penalty.sum()) / stake.sum()
    return float(centre - radius), float(centre + radius)


def betting_interval(x: Array, alpha: float, grid: int = 20_001) -> tuple[float, float]:
    """Hedged capital of values in [0, 1], half on each side, after the last one (theorem 3, ibid.)."""
    means = np.linspace(0.0, 1.0, grid)[1:-1]
    _, stakes = _plug_in(x, alpha)
    up, down = np.zeros_like(means), np.zeros_like(means)
    for value, stake in zip(x, stakes, strict=True):
        up += np.log1p(np.minimum(stake, 0.5 / means) * (value - means))
        down += np.log1p(-np.minimum(stake, 0.5 / (1 - means)) * (value - means))
    kept = means[math.log(0.5) + np.maximum(up, down) < -math.log(alpha)]
    return float(kept[0]), float(kept[-1])


def two_sample_log_e(candidate: Array, stable: Array) -> Array:
    """Log e-value after each block of one outcome (0 or 1) of either arm against one common rate.

    Turner, Ly & Grünwald 2024: both rates are learned from the past (uniform prior), the common one is their mean.
    """
    past = np.arange(len(candidate))
    a = (1.0 + np.concatenate(([0.0], np.cumsum(candidate)[:-1]))) / (past + 2)
    b = (1.0 + np.concatenate(([0.0], np.cumsum(stable)[:-1]))) / (past + 2)
    common = 0.5 * (a + b)

    def log_chance(rate: Array, outcome: Array) -> Array:
        chance: Array = np.log(np.where(outcome == 1.0, rate, 1.0 - rate))
        return chance

    gain = log_chance(a, candidate) + log_chance(b, stable)
    gain -= log_chance(common, candidate) + log_chance(common, stable)
    path: Array = np.cumsum(gain)
    return path


def msprt_log_e(mean: float, n: int, spread: float = 1.0) -> float:
    """Log of the mixture sequential probability ratio of a normal mean against 0, variance 1, effect N(0, spread²)."""
    total = 1.0 + n * spread**2
    return -0.5 * math.log(total) + (n * mean * spread) ** 2 / (2 * total)


def kl_bernoulli(p: float, q: float) -> float:
    """Kullback-Leibler divergence of two rates, nats."""
    return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))
