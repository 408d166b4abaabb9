"""Do two clouds of points differ? Energy distance of pairs, its permutation p, and what such a p is worth over many looks."""

import math
from collections.abc import Sequence
from itertools import compress
from typing import Final

from sluicegate.contracts.adapters.system import seeded

DRAWS: Final = 999
"""Permutations of one look at most, so that its p is at least 0.001."""
ENOUGH: Final = 10
"""Permutations at least as far apart as what was seen, after which a look ends: p is known well enough (Besag and Clifford 1991)."""

Point = Sequence[float]
Pair = tuple[Point, Point]
"""A point of each arm, of the same request or of units that arrived together."""


def kernel(pairs: Sequence[Pair]) -> list[list[float]]:
    """h[i][j] = |xi - yj| + |yi - xj| - |xi - xj| - |yi - yj|, 0 for i = j.

    The sum over all is n² times the energy distance 2E|X - Y| - E|X - X'| - E|Y - Y'| (Székely and Rizzo 2013) less the
    sum of 2|xi - yi|. Where a pair's points change places h[i][j] changes its sign, and the rest stays.
    """
    found = [[0.0] * len(pairs) for _ in pairs]
    for i, (x, y) in enumerate(pairs):
        for j, (other_x, other_y) in enumerate(pairs[:i]):
            apart = math.dist(x, other_y) + math.dist(y, other_x)
            found[i][j] = found[j][i] = apart - math.dist(x, other_x) - math.dist(y, other_y)
    return found


def cut(found: Sequence[Sequence[float]], chosen: Sequence[bool]) -> float:
    """Sum of h[i][j] over i chosen and j not. What is seen, less four times this, is the sum where the chosen change places."""
    rest = [not one for one in chosen]
    return sum([sum(compress(row, rest)) for row in compress(found, chosen)])


def p_value(pairs: Sequence[Pair], *seed: object) -> float:
    """The chance of an energy distance at least this large, where the points of each pair might as well have changed places.

    Holds for every number of pairs, as long as each is as likely either way round and none depends on which way round earlier
    ones were. Permutations are drawn one by one until ENOUGH of them are as far apart (p = ENOUGH / drawn) or there are DRAWS of
    them (p = (1 + as far) / (1 + DRAWS)): Besag and Clifford, Biometrika 78 (1991). seed: of the draws, no part of what is
    compared. Raises ValueError without pairs.
    """
    if not pairs:
        raise ValueError("there are no pairs to compare")
    found, size, generator = kernel(pairs), len(pairs), seeded(*seed)
    most = 1e-9 * max(1.0, *(max(map(abs, row)) for row in found))  # rounding is no distance
    as_far = 0
    for drawn in range(1, DRAWS + 1):
        chosen = [bit == "1" for bit in f"{generator.getrandbits(size):0{size}b}"]
        as_far += cut(found, chosen) <= most
        if as_far == ENOUGH:
            return ENOUGH / drawn
    return (1 + as_far) / (1 + DRAWS)


def log_e(p: float) -> float:
    """Log of an e-value that any valid p is worth: (1 - p + p ln p) / (p ln² p), the mean over k of k p^(k - 1).

    Its expectation under the null is at most 1 (Vovk and Wang, Annals of Statistics 49, 2021), so that the product over looks at
    fresh pairs is an e-process in the looks, at each of which it may be read: how often one looked is paid for. Between them it stays. 0.001 is worth 20.8, 0.05 is worth 1.78, 1 a half. p: above 0.
    """
    if p >= 1.0:
        return -math.log(2.0)
    log = math.log(p)
    return math.log((1.0 - p + p * log) / (p * log * log))
