"""How unevenly contributions are spread, without the upward bias that noise gives to a plug-in."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from sluicegate.observability.contributions.exact import Array
from sluicegate.observability.contributions.interval import multiplier

LEAST_PAIRED: Final = 1000
"""Ablated runs of both versions before they can be called alike."""
LEAST_STEADY: Final = 1000
"""Consecutive runs through which the difference's interval must stay inside ±δ."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Population variance of φ, corrected for noise, and the variance of that estimate."""

    value: float
    variance: float


def spread(phi: Array, covariance: Array) -> Spread:
    """g̃ = (φᵀCφ − tr(CΣ))/n with C = I − 11ᵀ/n; its variance by the delta method."""
    n = len(phi)
    centred = np.eye(n) - 1.0 / n
    projected = centred @ covariance
    gradient = 2.0 * centred @ phi / n
    value = float(phi @ centred @ phi - np.trace(projected)) / n
    variance = float(gradient @ covariance @ gradient + 2.0 * np.trace(projected @ projected) / n**2)
    return Spread(value, variance)


@dataclass(frozen=True, slots=True)
class Measured:
    """φ of one version with its covariance."""

    phi: Array
    covariance: Array


@dataclass(slots=True)
class Likeness:
    """Whether new contributes as old did, one look per paired run: all three conditions must hold.

    At least LEAST_PAIRED paired runs; the time-uniform interval of g_new − g_old inside ±delta for LEAST_STEADY
    consecutive runs; every |Δφ| below `most_shift`, by the upper ends of intervals. The second alone misses who
    contributes and small values altogether. Both versions are over the same players and independent runs.
    """

    delta: float
    most_shift: float
    alpha: float = 0.05
    runs: int = 0
    steady: int = 0
    largest_shift: float = float("inf")

    def look(self, old: Measured, new: Measured, runs: int) -> bool:
        """The state after `runs` paired runs, never fewer than at the look before; True: alike."""
        gone, self.runs = runs - self.runs, runs
        before, after = spread(old.phi, old.covariance), spread(new.phi, new.covariance)
        width = multiplier(runs, self.alpha) * (before.variance + after.variance) ** 0.5
        inside = abs(after.value - before.value) + width < self.delta
        self.steady = self.steady + gone if inside else 0
        errors = np.sqrt(np.diag(old.covariance) + np.diag(new.covariance))
        each = multiplier(runs, self.alpha / len(errors))
        self.largest_shift = float((np.abs(new.phi - old.phi) + each * errors).max())
        return runs >= LEAST_PAIRED and self.steady >= LEAST_STEADY and self.largest_shift < self.most_shift
