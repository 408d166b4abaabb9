"""Mann-Whitney's test and the shift between two samples, as Kayenta's judge uses them.

Rules: Kayenta, kayenta-judge, `MannWhitneyTest` and `MannWhitney` (a port of R's `wilcox.test` with
`exact = FALSE`): normal approximation, tie correction, continuity correction of one half, both ends of the
interval and the Hodges-Lehmann estimate found as roots of the statistic.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_STEPS = 60


def statistic(x: Array, y: Array, *, correct: bool = True) -> float:
    """z of "x is larger than y"; 0 when all values are equal."""
    m, n = len(x), len(y)
    ordered = np.sort(y)
    below, upto = np.searchsorted(ordered, x, "left"), np.searchsorted(ordered, x, "right")
    excess = 0.5 * float((below + upto).sum()) - 0.5 * m * n
    _, ties = np.unique(np.concatenate([x, y]), return_counts=True)
    total = m + n
    spread = (
        m * n / 12.0 * (total + 1 - float((ties.astype(float) ** 3 - ties).sum()) / (total * (total - 1)))
    )
    if spread <= 0.0:
        return 0.0
    correction = 0.5 * np.sign(excess) if correct else 0.0
    return float((excess - correction) / np.sqrt(spread))


def shift(x: Array, y: Array) -> float:
    """Hodges-Lehmann estimate of x - y: where the statistic of (x - shift, y) changes its sign."""
    ordered = np.sort(y)
    half = 0.5 * len(x) * len(y)
    low, high = float(x.min() - y.max()), float(x.max() - y.min())
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        moved = x - middle
        wins = 0.5 * float(
            (np.searchsorted(ordered, moved, "left") + np.searchsorted(ordered, moved, "right")).sum()
        )
        if wins == half:
            return middle
        low, high = (middle, high) if wins > half else (low, middle)
    return 0.5 * (low + high)
