"""Simulated differences of shares, healthy and moved, and the product's bets on them."""

from collections.abc import Callable

import numpy as np

from sluicegate.observability.drift import shift, values
from tests.observability.simulation import Array

LOOKS, MARGIN = 2880, 0.05
SHARES = np.array([0.5, 0.25, 0.15, 0.09, 0.01])
MOVED = SHARES + np.array([-MARGIN, MARGIN, 0.0, 0.0, 0.0])
FAR = SHARES + np.array([-0.15, 0.15, 0.0, 0.0, 0.0])


def paths(x: Array, margin: float) -> Array:
    """(rows, units, values) to the log e-value after each unit against "moved by margin" (0: "did not move"), in both
    directions: the product's bets on running sums."""
    sums = (
        np.ones(x.shape[:2]).cumsum(axis=1)[..., None],
        np.maximum(x, 0.0).cumsum(axis=1),
        np.maximum(-x, 0.0).cumsum(axis=1),
        (x * x).cumsum(axis=1),
    )
    found = []
    for n, up, down, square in ((sums[0], *sums[1:]), (sums[0], sums[2], sums[1], sums[3])):
        lines, weights = shift._lines(margin)
        total = np.full(x.shape, -np.inf)
        for (a, b, c, d), weight in zip(lines, weights, strict=True):
            total = np.logaddexp(total, weight + a * n + b * up + c * down + d * square)
        found.append(total)
    return np.stack(found)


def harm(x: Array) -> Array:
    weights = np.array(values._WEIGHTS[: x.shape[2]])
    mean = np.logaddexp(*paths(x, 0.0)) - np.log(2.0)
    total = np.logaddexp.reduce(mean + np.log(weights), axis=2)
    combined: Array = np.logaddexp(total, np.log(1.0 - weights.sum()))
    return combined


def safe(x: Array) -> Array:
    smallest: Array = paths(x, MARGIN).min(axis=(0, 3))
    return smallest


def onehot(generator: np.random.Generator, shape: tuple[int, ...], shares: Array) -> Array:
    picked = np.searchsorted(shares.cumsum()[:-1], generator.random(shape), side="right")
    return np.eye(len(shares))[picked]


def paired(generator: np.random.Generator, shares: Array, rows: int) -> Array:
    """Half of the requests decide for both arms."""
    mine, theirs = onehot(generator, (rows, LOOKS), shares), onehot(generator, (rows, LOOKS), SHARES)
    if shares is SHARES:
        same = generator.random((rows, LOOKS, 1)) < 0.5
        mine = np.where(same, theirs, mine)
    difference: Array = mine - theirs
    return difference


def split(generator: np.random.Generator, shares: Array, rows: int, beside: int = 20) -> Array:
    """A share of 1 %, so that twenty of stable stand beside one of the candidate."""
    theirs = generator.multinomial(beside, SHARES, (rows, LOOKS)) / beside
    difference: Array = onehot(generator, (rows, LOOKS), shares) - theirs
    return difference


def sessions(generator: np.random.Generator, shares: Array, rows: int) -> Array:
    """Of 1 to 30 runs, each with its own taste (Dirichlet, intra-class correlation 1/2)."""

    def arm(mean: Array) -> Array:
        taste = generator.dirichlet(mean, (rows, LOOKS))
        runs = np.minimum(generator.geometric(0.2, (rows, LOOKS)), 30)
        found: Array = generator.multinomial(runs, taste) / runs[..., None]
        return found

    return arm(shares) - arm(SHARES)


DESIGNS: dict[str, Callable[[np.random.Generator, Array, int], Array]] = {
    "paired": paired,
    "split, 1 %": split,
    "sessions": sessions,
}


def wrong(generator: np.random.Generator, design: str, rows: int, alpha: float) -> tuple[int, int]:
    """How many of `rows` equal candidates are said to drift, and how many that moved by the margin to stay."""
    draw = DESIGNS[design]
    found = (harm(draw(generator, SHARES, rows)), safe(draw(generator, MOVED, rows)))
    drifted, stayed = (int((path.max(axis=1) >= -np.log(alpha)).sum()) for path in found)
    return drifted, stayed
