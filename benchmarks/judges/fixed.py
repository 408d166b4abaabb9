"""A test with a fixed horizon that is told the true effect: planned by the closed form, looked at once.

n = ((z_a sd_0 + z_b sd_1) / effect)^2 with the standard deviations of the difference when healthy and when bad; one-sided
(Lachin 1981; for proportions the textbook formula with unequal arms). Decides by z of the mean difference with the spread
that it was told, so that its power is the planned one up to the skew of small samples.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Truth:
    """What the planner is told of candidate - stable, a unit."""

    effect: float
    sd_healthy: float
    sd_bad: float


def units_needed(truth: Truth, alpha: float, power: float) -> int:
    """The closed form, rounded up."""
    z: float = stats.norm.isf(alpha) * truth.sd_healthy + stats.norm.ppf(power) * truth.sd_bad
    return math.ceil((z / truth.effect) ** 2)


def rejects(differences: Array, units: int, truth: Truth, alpha: float) -> NDArray[np.bool_]:
    """Whether each run (row) is called bad after `units` units."""
    z = differences[:, :units].mean(axis=1) * math.sqrt(units) / truth.sd_healthy
    worse: NDArray[np.bool_] = z > stats.norm.isf(alpha)
    return worse
