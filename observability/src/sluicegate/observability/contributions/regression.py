"""Shapley values from some of the coalitions: least squares on odd functions of membership.

Only the odd part of a game matters for φ: u(S) = v(S) − v(N∖S). With coalitions from the Shapley kernel, least squares
on products of one (or one and three) memberships, under the constraint that contributions add up to v(N) − v(∅), tends
to φ for *every* game (order 1 is Kernel SHAP with paired sampling); a higher order explains more and costs parameters.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sluicegate.observability.contributions.exact import Array

ROWS_PER_PARAMETER: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Coalitions with their mean, the weight of it (runs), and the variance of the mean; ∅ and N are among them."""

    players: int
    masks: NDArray[np.int64]
    means: Array
    counts: Array
    variances: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """φ and its covariance (sandwich: what the model does not explain counts as noise). order: 1 or 3."""

    phi: Array
    covariance: Array
    order: int


def odd_regression(rows: Rows, order: int | None = None) -> Fit | None:
    """The fit; None when ∅ or N was never seen, or the coalitions do not tell the players apart.

    order None: 3 where there are two coalitions (pairs count once) per parameter, else 1. A coalition whose complement was seen as well
    is used as the pair's difference; a lone one as it is, its even part being noise.
    """
    everybody = (1 << rows.players) - 1
    at = {int(mask): index for index, mask in enumerate(rows.masks)}
    if 0 not in at or everybody not in at:
        return None
    nobody, all_in = at.pop(0), at.pop(everybody)
    total = rows.means[all_in] - rows.means[nobody]
    total_variance = rows.variances[all_in] + rows.variances[nobody]
    if rows.players == 1:
        return Fit(phi=np.array([total]), covariance=np.array([[total_variance]]), order=1)
    pairs = _pairs(rows, at, everybody)
    if order is None:
        parameters = len(_terms(rows.players, 3))
        order = 3 if len(pairs.masks) >= ROWS_PER_PARAMETER * parameters else 1
    terms = _terms(rows.players, order)
    free = _free_terms(pairs, terms, rows.players, total, total_variance)
    return None if free is None else _fit(free, terms, rows.players, total, total_variance)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """A row per pair of complements: mask, odd half of the value, runs, and whether the other half is missing."""

    masks: NDArray[np.int64]
    responses: Array
    counts: Array
    lone: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Free:
    """Of all terms but the last: coefficients, their change with v(N) − v(∅), and their covariance."""

    fitted: Array
    slope: Array
    noise: Array


def _free_terms(
    pairs: _Pairs, terms: list[tuple[int, ...]], players: int, total: float, total_variance: float
) -> _Free | None:
    """Weighted least squares under "contributions add up": 2·Σc = v(N) − v(∅), so that the last term is fixed by the others.

    None when the coalitions do not tell the terms apart.
    """
    signs = 2.0 * ((pairs.masks[:, None] >> np.arange(players)[None, :]) & 1) - 1.0
    design = np.stack([signs[:, list(term)].prod(axis=1) for term in terms], axis=1)
    reduced = design[:, :-1] - design[:, -1:]
    if pairs.lone.any():
        reduced = np.column_stack([reduced, pairs.lone.astype(float)])
    weighted = (reduced * pairs.counts[:, None]).T
    moments = weighted @ reduced
    if np.linalg.matrix_rank(moments) < reduced.shape[1]:
        return None
    gain = np.linalg.inv(moments) @ weighted
    wanted = pairs.responses - design[:, -1] * (total / 2.0)
    fitted = gain @ wanted
    residuals = wanted - reduced @ fitted
    freedom = len(pairs.masks) / max(len(pairs.masks) - reduced.shape[1], 1)
    slope = -gain @ (design[:, -1] / 2.0)
    noise = (gain * residuals**2 * freedom) @ gain.T + np.outer(slope, slope) * total_variance
    size = len(terms) - 1  # behind them: what lone coalitions have in common
    return _Free(fitted=fitted[:size], slope=slope[:size], noise=noise[:size, :size])


def _fit(free: _Free, terms: list[tuple[int, ...]], players: int, total: float, total_variance: float) -> Fit:
    """From the free terms and the total to φ: φ_i = Σ over terms with i of 2c/|term|."""
    shares = np.array([[2.0 / len(term) * (player in term) for term in terms] for player in range(players)])
    onto, last = shares[:, :-1] - shares[:, -1:], shares[:, -1] / 2.0
    cross = onto @ free.slope * total_variance
    return Fit(
        phi=onto @ free.fitted + last * total,
        covariance=onto @ free.noise @ onto.T
        + np.outer(cross, last)
        + np.outer(last, cross)
        + np.outer(last, last) * total_variance,
        order=max(map(len, terms)),
    )


def _terms(players: int, order: int) -> list[tuple[int, ...]]:
    return [
        term for size in range(1, min(order, players) + 1, 2) for term in combinations(range(players), size)
    ]


def _pairs(rows: Rows, at: dict[int, int], everybody: int) -> _Pairs:
    masks, responses, counts, lone = [], [], [], []
    for mask, index in at.items():
        other = at.get(mask ^ everybody)
        if other is None:
            masks.append(mask)
            responses.append(rows.means[index])
            counts.append(rows.counts[index])
            lone.append(True)
        elif mask < mask ^ everybody:
            masks.append(mask)
            responses.append((rows.means[index] - rows.means[other]) / 2.0)
            counts.append(rows.counts[index] + rows.counts[other])
            lone.append(False)
    return _Pairs(
        masks=np.array(masks, dtype=np.int64),
        responses=np.array(responses),
        counts=np.array(counts),
        lone=np.array(lone, dtype=bool),
    )
