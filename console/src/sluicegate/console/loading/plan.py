"""What a load test is told, and who arrives when: open arrivals, drawn with a seed before anything is sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sluicegate.contracts.adapters import system

MOST_RUNS: Final = 1_000_000
MOST_RATE: Final = 500.0
"""Sessions a second. Each run opens its connection, and a machine has not more ports than that for a minute."""


class Arrivals(StrEnum):
    """How sessions arrive."""

    POISSON = "poisson"  # independent of each other, as users are
    CONSTANT = "constant"  # evenly spaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What one session sends, one after the other."""

    inputs: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A session. number: from 0, in order; at: seconds since the start; is_warm_up: it is sent and not counted."""

    number: int
    at: float
    script: Script
    is_warm_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """How much, how long. rate: sessions a second. duration, warm_up, think_time, timeout, grace: seconds; timeout is of one run,
    grace is how long runs in flight are waited for after a stop. most_runs: measured sessions, None: as many as fit.
    """

    rate: float
    duration: float | None
    most_runs: int | None
    warm_up: float
    think_time: float
    timeout: float
    arrivals: Arrivals
    seed: int
    max_in_flight: int
    grace: float = 5.0

    @property
    def expected(self) -> int:
        """Measured sessions that will arrive, about."""
        fit = round(self.rate * self.duration) if self.duration is not None else MOST_RUNS
        return min(fit, self.most_runs or MOST_RUNS)


def arrivals(plan: LoadPlan, scripts: Sequence[Script]) -> Iterator[Arrival]:
    """Sessions in order of time; the same for the same plan and scripts.

    Scripts are drawn with replacement: given the past, each session is then a draw from all that were given, which is what the
    tests of the judge assume.
    """
    draws = system.seeded("sla", plan.seed)
    at, counted = 0.0, 0
    for number in range(MOST_RUNS):
        if plan.arrivals is Arrivals.CONSTANT:
            at = number / plan.rate
        elif number:
            at += draws.expovariate(plan.rate)
        is_warm_up = at < plan.warm_up
        if plan.duration is not None and at >= plan.warm_up + plan.duration:
            return
        if not is_warm_up:
            if counted == plan.most_runs:
                return
            counted += 1
        yield Arrival(number=number, at=at, script=draws.choice(scripts), is_warm_up=is_warm_up)
