"""Independent numpy form of the mixture test, for simulations that pure Python would make slow.

Written from the formula (product of 1 + stake * (x - null), weighted mean over the stakes), not from the product's code;
test_sequential.py checks that both agree.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STAKES = np.array([1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 9 / 10])


def log_e(x: Array, low: float, null: float) -> Array:
    """Log e-value after each value; x has shape (runs, values)."""
    total = np.zeros(x.shape)
    odds = STAKES / (null - low)
    weights = np.sqrt(np.minimum(odds, 1.0 / odds))
    for stake, weight in zip(STAKES, weights / weights.sum(), strict=True):
        capital = np.exp(np.minimum(np.cumsum(np.log1p(stake * (x - null) / (null - low)), axis=1), 600.0))
        total += weight * capital
    return np.log(total)


def harm_and_safe(difference: Array, margin: float) -> tuple[Array, Array]:
    """Both tests of a two-arm question on candidate - stable badness."""
    return log_e(difference, -1.0, 0.0), log_e(-difference, -1.0, -margin)


def first_crossing(path: Array, alpha: float) -> Array:
    """Number of values until log_e >= log(1/alpha), per run; infinity when never."""
    over = path >= np.log(1.0 / alpha)
    return np.where(over.any(axis=1), over.argmax(axis=1) + 1.0, np.inf)


def stable_per_pair(share: float, pairs: int, seed: int) -> NDArray[np.int64]:
    """How many stable units each candidate unit is compared with, by a slow re-telling of the pairing rule."""
    generator = np.random.default_rng(seed)
    sizes: list[int] = []
    waiting: dict[str, deque[int]] = {"candidate": deque(maxlen=64), "stable": deque(maxlen=64)}
    seen = {"candidate": 0, "stable": 0}
    while len(sizes) < pairs:
        arm = "candidate" if generator.random() < share else "stable"
        seen[arm] += 1
        waiting[arm].append(seen[arm])
        while waiting["candidate"]:
            size = max(1, min(20, seen["stable"] // seen["candidate"]))
            if size > len(waiting["stable"]):
                break
            waiting["candidate"].pop()
            for _ in range(size):
                waiting["stable"].pop()
            sizes.append(size)
    return np.array(sizes[:pairs])


def split_differences(
    generator: np.random.Generator,
    shape: tuple[int, int],
    rates: tuple[float, float],
    sizes: NDArray[np.int64],
) -> Array:
    """candidate - mean of stable, Bernoulli badness; rates = (candidate, stable) badness."""
    candidate = generator.random(shape) < rates[0]
    stable = generator.binomial(np.broadcast_to(sizes, shape), rates[1]) / sizes
    difference: Array = candidate - stable
    return difference


def paired_differences(
    generator: np.random.Generator, shape: tuple[int, int], rates: tuple[float, float], shared: float
) -> Array:
    """Both arms on the same request: with chance `shared` the request itself decides (one uniform for both)."""
    own = generator.random((2, *shape))
    request = generator.random(shape) < shared
    own[1] = np.where(request, own[0], own[1])
    difference: Array = (own[0] < rates[0]).astype(np.float64) - (own[1] < rates[1])
    return difference
