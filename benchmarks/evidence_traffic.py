"""Simulated traffic of the evidence benchmark: eight kinds of trouble, healthy and bad, a minute at a time.

Badness is in [0, 1], 0 is good. Every judge sees the same runs: the gates every unit, a metric store's judges one value a
minute and arm.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sluicegate.contracts.stages import Signal
from sluicegate.rollout.planning import BOUNDARY

Array = NDArray[np.float64]
Generator = np.random.Generator

PER_MINUTE, STABLE_PER_UNIT = 10, 4
HALF_DAY, TWO_DAYS = 720, 2880
SLA_MS, TAIL_SLA_MS = 2000.0, 4000.0
SESSION_RUNS: Final = 10
"""Runs of a session, one a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Of many rollouts (rows). bad, reference: badness of the candidate's units and of the stable ones beside each.

    closed, runs: candidate's units and runs by the end of each minute. candidate, stable: what the metric store holds of
    the runs of each minute, (rows, minutes, runs), from baselines of equal size; None: nothing that shows the trouble.
    """

    bad: Array
    reference: Array
    closed: NDArray[np.int64]
    runs: NDArray[np.int64]
    candidate: Array | None
    stable: Array | None

    @property
    def differences(self) -> Array:
        """What the product's test sees."""
        difference: Array = self.bad - self.reference.mean(axis=2)
        return difference


@dataclass(frozen=True, slots=True)
class Scenario:
    """draw(generator, rows, bad). p95: the metric is a 95th percentile, else a mean."""

    name: str
    signal: Signal
    draw: Callable[[Generator, int, bool], Traffic]
    p95: bool = False
    paired: bool = False

    @property
    def floor(self) -> int:
        """Units below which the gate gives no verdict."""
        return BOUNDARY if self.p95 else 0


def _regular(values: Array, reference: Array, seen: Array, stable: Array | None = None) -> Traffic:
    """Ten runs a minute, each a unit. values: badness; seen, stable: what the metric store holds."""
    rows, minutes, count = values.shape
    closed = np.arange(1, minutes + 1) * count
    return Traffic(
        bad=values.reshape(rows, -1),
        reference=reference.reshape(rows, minutes * count, -1),
        closed=closed,
        runs=closed,
        candidate=seen,
        stable=reference.reshape(rows, minutes, count, -1)[..., 0] if stable is None else stable,
    )


_SHAPE: Final = (HALF_DAY, PER_MINUTE)
_WIDE: Final = (*_SHAPE, STABLE_PER_UNIT)


def _happens(generator: Generator, chance: float | Array, shape: tuple[int, ...]) -> Array:
    happened: Array = (generator.random(shape) < chance).astype(np.float64)
    return happened


def sparse_errors(generator: Generator, rows: int, bad: bool) -> Traffic:
    """Errors of 1 %, or 3 %."""
    errors = _happens(generator, 0.03 if bad else 0.01, (rows, *_SHAPE))
    return _regular(errors, _happens(generator, 0.01, (rows, *_WIDE)), errors)


def _slower(latency: Array, stable: Array, boundary: float) -> Traffic:
    return _regular(
        (latency > boundary).astype(np.float64),
        (stable > boundary).astype(np.float64),
        latency,
        stable[..., 0],
    )


def tenth_slow(generator: Generator, rows: int, bad: bool) -> Traffic:
    """Lognormal latency around 1 s; when bad every tenth run takes four times as long."""
    latency = 1000.0 * np.exp(0.4 * generator.standard_normal((rows, *_SHAPE)))
    stable = 1000.0 * np.exp(0.4 * generator.standard_normal((rows, *_WIDE)))
    if bad:
        latency *= np.where(generator.random(latency.shape) < 0.1, 4.0, 1.0)
    return _slower(latency, stable, SLA_MS)


def heavy_tails(generator: Generator, rows: int, bad: bool) -> Traffic:
    """Latency with a Pareto tail of index 1.5 (infinite variance); when bad every run takes half as long again."""
    latency = 500.0 * (1.0 + generator.pareto(1.5, (rows, *_SHAPE))) * (1.5 if bad else 1.0)
    stable = 500.0 * (1.0 + generator.pareto(1.5, (rows, *_WIDE)))
    return _slower(latency, stable, TAIL_SLA_MS)


def drifting(generator: Generator, rows: int, minutes: int, memory: float) -> Array:
    """AR(1) with variance 1."""
    noise = generator.standard_normal((rows, minutes))
    noise[:, 1:] *= np.sqrt(1.0 - memory**2)
    for minute in range(1, minutes):
        noise[:, minute] += memory * noise[:, minute - 1]
    return noise


def autocorrelated_load(generator: Generator, rows: int, bad: bool) -> Traffic:
    """Errors of 5 % on average that follow a load with a memory of an hour, in both arms; when bad 5 points more."""
    load = drifting(generator, rows, HALF_DAY, 0.98)
    chance = np.minimum(0.05 * np.exp(0.5 * load - 0.125), 0.5)[:, :, None]
    errors = _happens(generator, chance + (0.05 if bad else 0.0), (rows, *_SHAPE))
    return _regular(errors, _happens(generator, chance[..., None], (rows, *_WIDE)), errors)


def low_traffic(generator: Generator, rows: int, bad: bool) -> Traffic:
    """A candidate's run every five minutes at a share of 5 %, for 48 hours; errors of 5 %, or 20 %."""
    units = TWO_DAYS // 5
    errors = _happens(generator, 0.20 if bad else 0.05, (rows, units))
    stable = _happens(generator, 0.05, (rows, units, 19))
    points = np.full((2, rows, units, 5, 1), np.nan)
    points[0, :, :, 4, 0], points[1, :, :, 4, 0] = errors, stable[..., 0]
    closed = np.arange(1, TWO_DAYS + 1) // 5
    return Traffic(
        bad=errors,
        reference=stable,
        closed=closed,
        runs=closed,
        candidate=points[0].reshape(rows, TWO_DAYS, 1),
        stable=points[1].reshape(rows, TWO_DAYS, 1),
    )


def reward_drop(generator: Generator, rows: int, bad: bool) -> Traffic:
    """Rewards around 0.80, or 0.75."""
    mean = 0.75 if bad else 0.80
    lost = 1.0 - generator.beta(10.0 * mean, 10.0 * (1.0 - mean), (rows, *_SHAPE))
    return _regular(lost, 1.0 - generator.beta(8.0, 2.0, (rows, *_WIDE)), lost)


def output_drift(generator: Generator, rows: int, bad: bool) -> Traffic:
    """Copies in Shadow: two of stable disagree in 5 %, the candidate in 15 %; half is decided by the request.

    Success, latency and reward are as before, so that a metric store has nothing that differs.
    """
    shape = (rows, HALF_DAY * PER_MINUTE)
    own, control = generator.random(shape), generator.random(shape)
    control = np.where(generator.random(shape) < 0.5, own, control)
    differs = (own < (0.15 if bad else 0.05)).astype(np.float64)
    closed = np.arange(1, HALF_DAY + 1) * PER_MINUTE
    return Traffic(
        bad=differs,
        reference=(control < 0.05).astype(np.float64)[:, :, None],
        closed=closed,
        runs=closed,
        candidate=None,
        stable=None,
    )


def _sessions(generator: Generator, shape: tuple[int, ...], mean: float) -> Array:
    """Failures of each run of sessions; the chance of a session is Beta with intra-class correlation 0.1."""
    chance = generator.beta(9.0 * mean, 9.0 * (1.0 - mean), shape)
    return _happens(generator, chance[..., None], (*shape, SESSION_RUNS))


def _by_minute(failures: Array) -> Array:
    """(rows, sessions, runs) to (rows, minutes, runs): one session begins each minute."""
    rows, minutes, count = failures.shape
    seen = np.full((rows, minutes, count), np.nan)
    for age in range(count):
        seen[:, age:, age] = failures[:, : minutes - age, age]
    return seen


def session_clusters(generator: Generator, rows: int, bad: bool) -> Traffic:
    """Sessions of ten runs that stay in their arm, whose failures cluster; 5 %, or 15 %."""
    candidate = _sessions(generator, (rows, HALF_DAY), 0.15 if bad else 0.05)
    stable = _sessions(generator, (rows, HALF_DAY, STABLE_PER_UNIT), 0.05)
    minutes = np.arange(1, HALF_DAY + 1)
    closed = np.maximum(minutes - SESSION_RUNS + 1, 0)
    whole = HALF_DAY - SESSION_RUNS + 1
    return Traffic(
        bad=candidate.mean(axis=2)[:, :whole],
        reference=stable.mean(axis=3)[:, :whole],
        closed=closed,
        runs=np.minimum(minutes, SESSION_RUNS).cumsum(),
        candidate=_by_minute(candidate),
        stable=_by_minute(stable[:, :, 0]),
    )


SCENARIOS: Final = (
    Scenario("sparse errors, 1 % → 3 %", Signal.SUCCESS_RATE, sparse_errors),
    Scenario("10 % of the runs slow", Signal.P95_LATENCY, tenth_slow, p95=True),
    Scenario("heavy tails, 1.5 times slower", Signal.P95_LATENCY, heavy_tails, p95=True),
    Scenario("autocorrelated load, 5 % → 10 %", Signal.SUCCESS_RATE, autocorrelated_load),
    Scenario("low traffic, 5 % → 20 %", Signal.SUCCESS_RATE, low_traffic),
    Scenario("reward .80 → .75", Signal.REWARD, reward_drop),
    Scenario("output drift, same reward", Signal.DISAGREEMENT, output_drift, paired=True),
    Scenario("session clusters, 5 % → 15 %", Signal.SUCCESS_RATE, session_clusters),
)
