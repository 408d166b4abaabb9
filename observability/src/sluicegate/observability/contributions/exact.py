"""Shapley values from the whole table of 2^n coalition values, and their covariance."""

from functools import lru_cache
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_EXACT: Final = 12
"""Players up to which a table of measured means is filled in practice; beyond, `regression`."""


def players_of(values: Array) -> int:
    """n of a table of 2^n values. Raises ValueError for another length."""
    n = int(values.size).bit_length() - 1
    if values.ndim != 1 or n < 1 or values.size != 1 << n:
        raise ValueError(f"a table of {values.size} values; needed: 2^n, n at least 1")
    return n


def shapley(values: Array) -> Array:
    """φ of every player. values[mask]: the coalition's value; v(∅) is whatever it is.

    φ_i = Σ_{S∋i} (a(s) + b(s)) v(S) − Σ_S b(s) v(S), a and b the weights of Shapley's formula for S with and without i.
    """
    n = players_of(values)
    both, staying = _weights_by_mask(n)
    base = float(staying @ values)
    weighted = both * values
    # Halving: what is left after summing player i away serves all later players, so the work is 2·2^n, not n·2^n.
    found = np.empty(n)
    for player in reversed(range(n)):
        without, inside = weighted.reshape(2, -1)
        found[player] = inside.sum() - base
        weighted = without + inside
    return found


def weights(n: int) -> Array:
    """The matrix W of shape (2^n, n) with φ = Wᵀ v."""
    both, staying = _weights_by_mask(n)
    inside = (np.arange(1 << n)[:, None] >> np.arange(n)[None, :]) & 1
    return np.asarray(inside * both[:, None] - staying[:, None])


def covariance(variances: Array) -> Array:
    """Covariance of φ when the table's values are independent with these variances: Wᵀ diag(variances) W."""
    matrix = weights(players_of(variances))
    return np.asarray((matrix * variances[:, None]).T @ matrix)


@lru_cache(maxsize=4)
def _weights_by_mask(n: int) -> tuple[Array, Array]:
    """Of v(S), by S: a(s) + b(s), and b(s); a is its weight in φ_i when i is in S, −b when it is not."""
    joining = np.array([0.0, *(1.0 / (n * comb(n - 1, size - 1)) for size in range(1, n + 1))])
    staying = np.array([*(1.0 / (n * comb(n - 1, size)) for size in range(n)), 0.0])
    sizes = np.bitwise_count(np.arange(1 << n, dtype=np.uint32))
    return (joining + staying)[sizes], staying[sizes]
