"""This product's gate, many rollouts at once.

log_e is the numpy form of MeanTest that tests/observability holds equal to it; tests/benchmarks runs Fold and gates over
the same units and finds the same moment of the abort.
"""

import numpy as np
from numpy.typing import NDArray

from tests.observability import simulation as sim

Array = NDArray[np.float64]


def aborted_at(differences: Array, closed: NDArray[np.int64], alpha: float, floor: int = 0) -> Array:
    """Minute at whose end each run (row) is aborted, looked at every minute; infinity: never.

    closed: units seen by the end of each minute. floor: units below which a p95 says nothing.
    """
    path = sim.log_e(differences, -1.0, 0.0)
    seen = closed > 0
    over = np.zeros((len(differences), len(closed)), dtype=np.bool_)
    over[:, seen] = path[:, closed[seen] - 1] >= -np.log(alpha)
    over &= closed >= floor
    return np.where(over.any(axis=1), over.argmax(axis=1).astype(float), np.inf)
