"""How unevenly contributions are spread, without the upward bias that noise gives to a plug-in."""

from typing import NamedTuple

import numpy as np

from sluicegate.observability.contributions.exact import Array


class Spread(NamedTuple):
    """Population variance of φ, corrected for noise, and the variance of that estimate."""

    value: float
    variance: float


def spread(phi: Array, covariance: Array) -> Spread:
    """g̃ = (φᵀCφ − tr(CΣ))/n with C = I − 11ᵀ/n; its variance by the delta method, and what is left of it where φ is even."""
    n = len(phi)
    centred = np.eye(n) - 1.0 / n
    projected = centred @ covariance
    gradient = 2.0 * centred @ phi / n
    value = float(phi @ centred @ phi - np.trace(projected)) / n
    variance = float(gradient @ covariance @ gradient + 2.0 * np.trace(projected @ projected) / n**2)
    return Spread(value, variance)
