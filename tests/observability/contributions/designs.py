"""Simulated pairs of ablated units for 48 hours, one a minute, whose truth lies exactly where the gate may say neither.

Written in numpy from the formulas of observability/README.md (outcomes, spread, its error) and the three conditions of
docs/explanation/contributions.md; test_errors.py holds it to the product's own fold and gate.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize  # type: ignore[import-untyped]

from sluicegate.observability.contributions.coalitions import probability
from sluicegate.observability.contributions.exact import shapley
from tests.observability import designs as units
from tests.observability.contributions.paired import VALUES
from tests.observability.simulation import Array

Masks = NDArray[np.int64]
LOOKS, PLAYERS, LEAST, LEAST_PAIRS = units.LOOKS, 5, 50, 1000
PLANNER, TOOLS = 0, 1
_SLICE = 240


@dataclass(frozen=True, slots=True)
class Truth:
    """The candidate's game by coalition, stable's is VALUES; and what the gate allows: exactly as far as they are apart."""

    candidate: Array
    delta: float
    delta_phi: float


def _lowered(player: int, by: float) -> Array:
    """One contribution is smaller by so much, all others stay (Shapley values are linear)."""
    inside = (np.arange(1 << PLAYERS) >> player) & 1
    found: Array = VALUES - by * inside
    return found


def _apart(delta: float) -> Array:
    """The variance of the contributions is smaller by delta."""
    here = shapley(VALUES).var()

    def missing(by: float) -> float:
        return float(here - shapley(_lowered(TOOLS, by)).var() - delta)

    return _lowered(TOOLS, float(optimize.brentq(missing, 0.0, 0.15)))


MOVED = Truth(_lowered(PLANNER, 0.05), delta=0.01, delta_phi=0.05)
VARIES = Truth(_apart(0.005), delta=0.005, delta_phi=0.2)


def _bernoulli(generator: np.random.Generator, chances: Array) -> Array:
    """Rewards of 0 or 1; 70 % of the requests decide for both versions alike."""
    luck = generator.random(chances.shape)
    shared = generator.random(chances.shape[1:]) < 0.7
    luck[1] = np.where(shared, luck[0], luck[1])
    return (luck < chances).astype(np.float64)


def _sessions(generator: np.random.Generator, chances: Array) -> Array:
    """Means of sessions of 1 to 30 runs, under a load with a memory of twenty minutes that moves every reward by up to 5 points."""
    load = 0.05 * np.tanh(units.drifting(generator, chances.shape[1], 0.95))
    return units.session_means(generator, chances - load)


Draw = Callable[[np.random.Generator, Array], Array]
DESIGNS: dict[str, tuple[Truth, Draw]] = {
    "pairs, a contribution moved by deltaPhi": (MOVED, _bernoulli),
    "pairs, the variance moved by delta": (VARIES, _bernoulli),
    "sessions under a drifting load, a contribution moved by deltaPhi": (MOVED, _sessions),
}


def drawn(generator: np.random.Generator, design: str, rows: int) -> tuple[Masks, Array]:
    """Coalitions (rows, units), and rewards (candidate and stable, rows, units)."""
    truth, draw = DESIGNS[design]
    chances = [probability(PLAYERS, mask) for mask in range(1 << PLAYERS)]
    masks = generator.choice(1 << PLAYERS, (rows, LOOKS), p=chances)
    return masks, draw(generator, np.stack([truth.candidate[masks], VALUES[masks]]))


def outcomes(masks: Masks, rewards: Array) -> Array:
    """(2, rows, units, players): z = β + W(S)/p(S)·(y − m(S)), m by the units before."""
    inside = (masks[..., None] >> np.arange(PLAYERS)) & 1
    gains = _gains()[masks]
    totals, level = np.zeros((2, len(masks), PLAYERS)), np.zeros((2, len(masks)))
    found = np.empty((2, *gains.shape))
    for unit in range(masks.shape[1]):
        model = totals / (unit + 10 * PLAYERS)
        added = (model * (inside[:, unit] - 0.5)).sum(axis=2)
        surprise = rewards[:, :, unit] - level / (unit + 4) - added
        found[:, :, unit] = model + surprise[..., None] * gains[:, unit]
        totals += found[:, :, unit]
        level += rewards[:, :, unit] - added
    return found


def _gains() -> Array:
    """W(S)/p(S) by coalition: of a game that is 1 there and 0 elsewhere the contributions, over its chance."""
    alone = np.eye(1 << PLAYERS)
    return np.array([shapley(row) / probability(PLAYERS, mask) for mask, row in enumerate(alone)])


@dataclass(frozen=True, slots=True)
class Look:
    """After so many units, by row: what differs, and the standard errors."""

    units: Array
    difference: Array
    error: Array
    shifts: Array
    shift_errors: Array


def looks(found: Array) -> Iterator[Look]:
    """Every unit from the 50th on, in slices; arrays are (rows, units of the slice, …)."""
    both = np.concatenate([found[0], found[1]], axis=2)
    total, square = np.zeros((len(both), 1, 2 * PLAYERS)), np.zeros((len(both), 1, 2 * PLAYERS, 2 * PLAYERS))
    for start in range(0, both.shape[1], _SLICE):
        part = both[:, start : start + _SLICE]
        totals = total + part.cumsum(axis=1)
        squares = square + (part[..., :, None] * part[..., None, :]).cumsum(axis=1)
        total, square = totals[:, -1:], squares[:, -1:]
        numbers = np.arange(start + 1, start + part.shape[1] + 1.0)
        kept = numbers >= LEAST
        yield _look(numbers[kept], totals[:, kept], squares[:, kept])


def _look(numbers: Array, totals: Array, squares: Array) -> Look:
    count = numbers[:, None]
    means = totals / count
    sigma = (squares / count[..., None] - means[..., :, None] * means[..., None, :]) / (
        count[..., None] - 1.0
    )
    centred = np.eye(PLAYERS) - 1.0 / PLAYERS
    quadratic = np.zeros((2 * PLAYERS, 2 * PLAYERS))
    quadratic[:PLAYERS, :PLAYERS], quadratic[PLAYERS:, PLAYERS:] = centred / PLAYERS, -centred / PLAYERS
    turned = quadratic @ sigma
    slopes = 2.0 * means @ quadratic
    variance = (slopes[..., None, :] @ sigma @ slopes[..., None])[..., 0, 0]
    variance += 2.0 * (turned * turned.swapaxes(2, 3)).sum(axis=(2, 3))
    diagonal = np.diagonal(sigma, axis1=2, axis2=3)
    crossed = np.diagonal(sigma[..., PLAYERS:, :PLAYERS], axis1=2, axis2=3)
    shift_variance = diagonal[..., :PLAYERS] + diagonal[..., PLAYERS:] - 2.0 * crossed
    return Look(
        units=numbers,
        difference=0.5 * (means * slopes).sum(axis=2) - np.trace(turned, axis1=2, axis2=3),
        error=np.sqrt(np.maximum(variance, 0.0)),
        shifts=means[..., :PLAYERS] - means[..., PLAYERS:],
        shift_errors=np.sqrt(np.maximum(shift_variance, 0.0)),
    )


def reach(numbers: Array, alpha: float) -> Array:
    """√(2(x+1)/x·ln(√(x+1)/α)), x = N(−2 ln α + ln(1 − 2 ln α))/1000 (Waudby-Smith et al. 2021, their ρ)."""
    x = numbers * (-2.0 * np.log(alpha) + np.log1p(-2.0 * np.log(alpha))) / 1000.0
    found: Array = np.sqrt(2.0 * (x + 1.0) / x * np.log(np.sqrt(x + 1.0) / alpha))
    return found


def wrong(
    generator: np.random.Generator,
    design: str,
    rows: int,
    alpha: float,
    reach_of: Callable[[Array, float], Array] = reach,
    every: int = 50,
) -> tuple[int, int]:
    """How many of `rows` rollouts are aborted, and how many promoted: each is wrong, at any of 2,880 looks."""
    truth = DESIGNS[design][0]
    aborted, promoted = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
    since = np.full(rows, np.inf)
    for look in looks(outcomes(*drawn(generator, design, rows))):
        aborted |= _differs(look, truth, alpha, reach_of).any(axis=1)
        inside = np.abs(look.difference) + reach_of(look.units, alpha) * look.error < truth.delta
        far = np.abs(look.shifts) + reach_of(look.units, alpha)[:, None] * look.shift_errors
        is_near = far.max(axis=2) < truth.delta_phi
        for place, number in enumerate(look.units):
            if number % every == 0:
                since = np.where(inside[:, place], np.minimum(since, number), np.inf)
            steady = number // every * every - since
            promoted |= is_near[:, place] & (steady >= LEAST_PAIRS) & (number >= LEAST_PAIRS)
    return int(aborted.sum()), int(promoted.sum())


def _differs(
    look: Look, truth: Truth, alpha: float, reach_of: Callable[[Array, float], Array]
) -> NDArray[np.bool_]:
    """Half of α for the variance, half for the components."""
    apart = np.abs(look.difference) - reach_of(look.units, alpha / 2.0) * look.error > truth.delta
    near = np.abs(look.shifts) - reach_of(look.units, alpha / 2.0 / PLAYERS)[:, None] * look.shift_errors
    found: NDArray[np.bool_] = apart | (near > truth.delta_phi).any(axis=2)
    return found
