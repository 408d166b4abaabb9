"""What the gates' tests see, a unit a minute for 48 hours: every gate in every design. For the small and the full version.

A design draws candidate - stable badness; `worse` is how much the candidate's mean is above stable's.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from sluicegate.contracts.stages import Signal
from tests.observability import simulation as sim

LOOKS = 2880
ALPHA = 0.05
Draw = Callable[[np.random.Generator, int, float], sim.Array]


@dataclass(frozen=True, slots=True)
class Gate:
    """rate: mean badness of stable; spread: of rewards, which are Beta, not all or nothing; floor: units before a verdict."""

    rate: float
    margin: float
    continuous: bool = False
    floor: int = 0


GATES = {
    Signal.SUCCESS_RATE: Gate(0.05, 0.02),
    Signal.P95_LATENCY: Gate(0.05, 0.02, floor=59),
    Signal.FALLBACK_RATE_MAX: Gate(0.02, 0.02),
    Signal.CONTRACT_VIOLATIONS: Gate(0.001, 0.02),
    Signal.DISAGREEMENT: Gate(0.10, 0.05),
    Signal.REWARD: Gate(0.20, 0.02, continuous=True),
}


def _draw(
    generator: np.random.Generator, gate: Gate, mean: sim.Array | float, shape: tuple[int, ...]
) -> sim.Array:
    """Badness with this mean; a reward is Beta with the strength of ten runs."""
    if gate.continuous:
        return generator.beta(10.0 * np.asarray(mean), 10.0 * (1.0 - np.asarray(mean)), shape)
    return (generator.random(shape) < mean).astype(np.float64)


def paired(generator: np.random.Generator, gate: Gate, rows: int, worse: float) -> sim.Array:
    """Both arms saw the request, which decides half of the runs for both."""
    shape = (rows, LOOKS)
    if not gate.continuous:
        return sim.paired_differences(generator, shape, (gate.rate + worse, gate.rate), 0.5)
    return _draw(generator, gate, gate.rate + worse, shape) - _draw(generator, gate, gate.rate, shape)


def split(generator: np.random.Generator, gate: Gate, rows: int, worse: float, *, beside: int) -> sim.Array:
    """Each candidate unit beside the mean of so many stable ones."""
    stable = _draw(generator, gate, gate.rate, (rows, LOOKS, beside)).mean(axis=2)
    difference: sim.Array = _draw(generator, gate, gate.rate + worse, (rows, LOOKS)) - stable
    return difference


def sessions(
    generator: np.random.Generator, gate: Gate, rows: int, worse: float, *, beside: int = 4
) -> sim.Array:
    """Sessions of 1 to 30 runs that stay in their arm, with an intra-class correlation of 0.1, under a load common
    to both arms with a memory of twenty minutes. The unit is the session's mean."""
    load = drifting(generator, rows, 0.95)
    rate = np.minimum(gate.rate * np.exp(0.5 * load - 0.125), 0.5)[:, :, None]
    stable = session_means(generator, np.broadcast_to(rate, (rows, LOOKS, beside))).mean(axis=2)
    difference: sim.Array = session_means(generator, rate + worse)[:, :, 0] - stable
    return difference


def drifting(generator: np.random.Generator, rows: int, memory: float) -> sim.Array:
    """AR(1) by the minute with variance 1."""
    noise = generator.standard_normal((rows, LOOKS))
    noise[:, 1:] *= np.sqrt(1.0 - memory**2)
    for minute in range(1, LOOKS):
        noise[:, minute] += memory * noise[:, minute - 1]
    return noise


def session_means(generator: np.random.Generator, rate: sim.Array) -> sim.Array:
    """Share of bad runs in each session."""
    runs = np.minimum(generator.geometric(0.2, rate.shape), 30)
    chance = generator.beta(9.0 * rate, 9.0 * (1.0 - rate))
    return generator.binomial(runs, chance) / runs


def runs_as_units(generator: np.random.Generator, rows: int, length: int, rate: float = 0.2) -> sim.Array:
    """What the product does not do: the runs of sessions of `length` runs, one session after the other, each a unit.
    The chance of a session is Beta(rate, 1 - rate): intra-class correlation 1/2."""
    count = LOOKS // length
    arms = [np.repeat(generator.beta(rate, 1.0 - rate, (rows, count)), length, axis=1) for _ in range(2)]
    bad = [(generator.random(arm.shape) < arm).astype(np.float64) for arm in arms]
    return bad[0] - bad[1]


DESIGNS: dict[str, Callable[[np.random.Generator, Gate, int, float], sim.Array]] = {
    "paired": paired,
    "split, 20 %": partial(split, beside=4),
    "split, 1 %": partial(split, beside=20),
    "sessions under a drifting load, 20 %": sessions,
}


def designs_of(signal: Signal) -> tuple[str, ...]:
    """Disagreement is asked of copies only."""
    return ("paired",) if signal is Signal.DISAGREEMENT else tuple(DESIGNS)


def wrong(generator: np.random.Generator, signal: Signal, design: str, rows: int) -> tuple[int, int]:
    """How many of `rows` equal candidates are aborted, and how many that are worse by the margin are promoted."""
    gate, draw = GATES[signal], DESIGNS[design]
    harm = sim.log_e(draw(generator, gate, rows, 0.0), -1.0, 0.0)
    safe = sim.log_e(-draw(generator, gate, rows, gate.margin), -1.0, -gate.margin)
    start = max(gate.floor - 1, 0)
    aborted, promoted = ((path[:, start:].max(axis=1) >= -np.log(ALPHA)).sum() for path in (harm, safe))
    return int(aborted), int(promoted)
