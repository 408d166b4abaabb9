"""What an SLA promises, as shares that a test can judge, and who judges them.

Each promise becomes "of all units at most this share is bad". A unit is a session where inputs carry one, else a run; its
value is the share of its runs that were bad, so that runs of one session are never taken for independent ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from sluicegate.contracts.resources.workflow import WorkflowSla
from sluicegate.contracts.resources.workflow_component import Sla
from sluicegate.contracts.stages import Verdict

COMPONENT_QUANTILE = Decimal("0.95")
"""Of runs that keep a component's `maxLatencyMs`; a workflow says its own."""


class Measure(StrEnum):
    """What is promised."""

    LATENCY = "latency"
    SUCCESS = "success"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One promise. field: of the SLA. most: the greatest share of bad runs, in [0, 1]. latency_ms: of the latency."""

    measure: Measure
    field: str
    most: Decimal
    latency_ms: int | None = None

    @property
    def text(self) -> str:
        """For people: `p95 at most 500 ms`."""
        if self.measure is Measure.LATENCY:
            return f"p{(1 - self.most) * 100:f}".rstrip("0").rstrip(".") + f" at most {self.latency_ms} ms"
        if self.measure is Measure.SUCCESS:
            return f"success at least {1 - self.most:f}"
        return f"fallbacks at most {self.most:f}"


@dataclass(frozen=True, slots=True)
class Bad:
    """How bad a unit was: a share in [0, 1] between `least` and `most`, which differ where the test itself was at fault.

    A promise is kept only by what is so at most, and broken only by what is so at least.
    """

    least: float
    most: float


Unit = Mapping[Measure, Bad]
"""What one unit says of each promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlaFinding:
    """What is known of one promise. Rates are of bad runs.

    low, high: each is wrong with at most the error that the judge was given for it, whenever it is looked at. decided_at: units
    at which the verdict was reached. more: about how many further units would decide; None: not to be told, or decided.
    """

    promise: Promise
    verdict: Verdict  # Pass, Fail or Inconclusive
    units: int
    rate: float | None
    low: float
    high: float
    decided_at: int | None = None
    more: int | None = None


class SlaJudge(Protocol):
    """Judges units in the order in which they began; may be asked after each of them, as often as one likes."""

    def add(self, unit: Unit) -> None:
        """One more unit."""
        ...

    def is_decided(self) -> bool:
        """Whether every promise has a verdict."""
        ...

    def findings(self) -> tuple[SlaFinding, ...]:
        """One for each promise, in their order."""
        ...


def promises(sla: Sla) -> tuple[Promise, ...]:
    """What an SLA says that a test can judge: not what everything keeps (a success rate of 0)."""
    quantile = Decimal(sla.latency_quantile) if isinstance(sla, WorkflowSla) else COMPONENT_QUANTILE
    told: list[Promise] = []
    if sla.max_latency_ms is not None:
        told.append(
            Promise(
                measure=Measure.LATENCY,
                field="maxLatencyMs",
                most=1 - quantile,
                latency_ms=sla.max_latency_ms,
            )
        )
    if sla.min_success_rate is not None:
        most = 1 - Decimal(sla.min_success_rate)
        told.append(Promise(measure=Measure.SUCCESS, field="minSuccessRate", most=most))
    if sla.max_fallback_rate is not None:
        most = Decimal(sla.max_fallback_rate)
        told.append(Promise(measure=Measure.FALLBACK, field="maxFallbackRate", most=most))
    return tuple(promise for promise in told if promise.most < 1)
