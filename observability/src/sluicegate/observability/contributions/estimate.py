"""φ with intervals from a table of ablated runs, or why there is none."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sluicegate.contracts.evidence import AblatedUnits
from sluicegate.observability.contributions.cells import Cells
from sluicegate.observability.contributions.exact import MOST_EXACT, Array, covariance, shapley
from sluicegate.observability.contributions.interval import LEAST_UNITS, multiplier
from sluicegate.observability.contributions.regression import Rows, odd_regression
from sluicegate.observability.contributions.variance import spread


class Model(StrEnum):
    """How φ is estimated."""

    EXACT = "Exact"  # from the mean of every coalition
    REGRESSION = "Regression"  # from those that were seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """One component's part of the reward, in reward; low and high hold at every look with confidence 1 − α."""

    component: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributions:
    """All of a game's. reward, floor: mean reward with everybody and with nobody. method: in words.

    spread: population variance of the contributions, corrected for noise, with its interval; None for one player, and
    where only running means are kept. absent: why there is no contribution; then `each` is empty.
    """

    units: int
    method: str
    each: tuple[Contribution, ...] = ()
    reward: float | None = None
    floor: float | None = None
    spread: Contribution | None = None
    absent: str | None = None


def estimate(cells: Cells, model: Model | None = None, *, alpha: float = 0.05) -> Contributions:
    """φ of every player, each interval at `alpha`. model None: exact up to 12 players, else regression.

    Exact: a coalition without runs means no φ at all.
    """
    n = len(cells.players)
    chosen = model or (Model.EXACT if n <= MOST_EXACT else Model.REGRESSION)
    absent = _absent(cells, chosen)
    if absent is not None:
        return Contributions(units=cells.units, method=chosen.value, absent=absent)
    rows = _rows(cells)
    if chosen is Model.EXACT:
        phi, sigma = shapley(rows.means), covariance(rows.variances)
        method = f"exact, from the means of {1 << n} coalitions"
    else:
        fit = odd_regression(rows)
        if fit is None:
            text = "the coalitions seen do not tell the components apart yet"
            return Contributions(units=cells.units, method=chosen.value, absent=text)
        phi, sigma = fit.phi, fit.covariance
        method = f"odd regression of order {fit.order} on {len(rows.masks)} coalitions"
    times = multiplier(cells.units, alpha)
    reach = times * np.sqrt(np.diag(sigma))
    means = dict(zip(rows.masks.tolist(), rows.means.tolist(), strict=True))
    return Contributions(
        units=cells.units,
        method=method,
        each=tuple(
            Contribution(
                component=name, value=float(value), low=float(value - half), high=float(value + half)
            )
            for name, value, half in zip(cells.players, phi, reach, strict=True)
        ),
        reward=means[(1 << n) - 1],
        floor=means[0],
        spread=_spread(phi, sigma, times) if n > 1 else None,
    )


def running(units: AblatedUnits, *, alpha: float = 0.05) -> Contributions:
    """φ as the fold's running means have it: of any number of players, also where no table is kept."""
    method = "running means of pseudo-outcomes"
    if units.units < LEAST_UNITS:
        text = f"{units.units} ablated runs; at least {LEAST_UNITS} are needed"
        return Contributions(units=units.units, method=method, absent=text)
    times = multiplier(units.units, alpha)
    return Contributions(
        units=units.units,
        method=method,
        each=tuple(
            Contribution(
                component=one.component,
                value=one.value,
                low=one.value - times * one.error,
                high=one.value + times * one.error,
            )
            for one in units.estimates
        ),
    )


def _spread(phi: Array, sigma: Array, times: float) -> Contribution:
    found = spread(phi, sigma)
    half = times * max(found.variance, 0.0) ** 0.5
    return Contribution(component="", value=found.value, low=found.value - half, high=found.value + half)


def _absent(cells: Cells, model: Model) -> str | None:
    n = len(cells.players)
    if n == 0:
        return "no component can be ablated"
    if cells.units < LEAST_UNITS:
        return f"{cells.units} ablated runs; at least {LEAST_UNITS} are needed"
    if model is Model.EXACT and n > MOST_EXACT:
        return f"{n} components are too many for the exact model (at most {MOST_EXACT})"
    if model is Model.EXACT and cells.empty():
        return f"{cells.empty()} of {1 << n} coalitions have no run yet"
    edges = {0: "with nobody", (1 << n) - 1: "with everybody"}
    missing = [text for mask, text in edges.items() if mask not in cells.by_mask]
    return f"no run {' and none '.join(missing)} yet" if missing else None


def _rows(cells: Cells) -> Rows:
    """Sorted by mask. A cell's variance leans on the pooled one by the weight of one run: few runs know little of it."""
    ordered = sorted(cells.by_mask.items())
    counts = np.array([cell.count for _, cell in ordered], dtype=np.float64)
    scatter = np.array([cell.scatter for _, cell in ordered])
    return Rows(
        players=len(cells.players),
        masks=np.array([mask for mask, _ in ordered], dtype=np.int64),
        means=np.array([cell.mean for _, cell in ordered]),
        counts=counts,
        variances=_variances(counts, scatter),
    )


def _variances(counts: Array, scatter: Array) -> Array:
    freedom = max(float((counts - 1.0).sum()), 1.0)
    pooled = float(scatter.sum()) / freedom
    return np.asarray((scatter + pooled) / counts / counts)
