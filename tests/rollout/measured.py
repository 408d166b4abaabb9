"""Gates with a source and their measurements, for tests."""

from datetime import datetime
from typing import Any

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.rollout import PlannedGate, WorkflowRollout
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Stage
from sluicegate.rollout import measuring
from sluicegate.rollout.measurements import Measurement, Outcome, Reading
from tests.rollout.samples import T0

KEY = EvidenceKey("ro-1", Stage.CANARY, 1)
COUNTS: dict[str, Any] = {
    "prometheus": {
        "url": "http://prometheus:9090",
        "bad": 'sum(errors_total{version="{{version}}"}) or vector(0)',
        "total": 'sum(requests_total{version="{{version}}"})',
    }
}
VALUE: dict[str, Any] = {
    "prometheus": {"url": "http://prometheus:9090", "value": 'p95{version="{{version}}"}'},
    "limit": {"max": "500"},
}
JOB: dict[str, Any] = {"job": {"image": "load:1", "args": ["--version={{version}}"]}}
JOB_COUNTS: dict[str, Any] = {"job": JOB["job"] | {"result": "Counts"}}


def gate(source: dict[str, Any], **fields: Any) -> PlannedGate:
    """As planned in Canary, with α = 0.05 both ways."""
    return PlannedGate.model_validate(
        {"name": "outside", "source": source, "abortAlpha": "0.05", "promoteAlpha": "0.05"} | fields
    )


def values(candidate: float, stable: float | None = None, **roles: float) -> dict[tuple[str, str], Reading]:
    """Readings of a gate on a value."""
    found = {("candidate", "value"): candidate} | ({} if stable is None else {("stable", "value"): stable})
    found |= {("candidate", role): value for role, value in roles.items()}
    return {key: Reading(Outcome.VALUE, value) for key, value in found.items()}


def counts(*numbers: float) -> dict[tuple[str, str], Reading]:
    """Readings of the candidate's bad and total, and of stable's when there are four numbers."""
    names = [(arm, role) for arm in ("candidate", "stable") for role in ("bad", "total")]
    return {name: Reading(Outcome.VALUE, float(one)) for name, one in zip(names, numbers, strict=False)}


def missing(outcome: Outcome, message: str = "why") -> dict[tuple[str, str], Reading]:
    """One reading that is no number."""
    return {("candidate", "value"): Reading(outcome, message=message)}


def measurement(number: int, readings: dict[tuple[str, str], Reading], at: datetime = T0) -> Measurement:
    """Of the gate above."""
    listed = tuple((arm, role, one) for (arm, role), one in readings.items())
    return Measurement(key=KEY, gate="outside", number=number, at=at, readings=listed)


def folded(
    planned: PlannedGate,
    *readings: dict[tuple[str, str], Reading],
    at: datetime = T0,
    held: Measured | None = None,
) -> Measured:
    """One measurement after the other, all at one time."""
    found = held or Measured(gate="outside")
    for one in readings:
        found = measuring.add(planned, found, measurement(found.number + 1, one, at))
    return found


def service_spec(version: str = "2.0.0", **stages: Any) -> WorkflowSpec:
    """Runtime Service, with gates by stage."""
    listed = [
        {"name": name, "minDurationSeconds": 60, "maxDurationSeconds": 3600, "gates": gates}
        for name, gates in stages.items()
    ]
    return WorkflowSpec.model_validate(
        {
            "version": version,
            "runtime": "Service",
            "service": {
                "route": {"name": "shop"},
                "backend": {"name": f"agent-v{version[0]}", "port": 8080},
            },
            "rollout": {"skipStages": ["Shadow"], "stages": listed},
        }
    )


def measured_of(rollout: WorkflowRollout) -> Measured:
    """The only one."""
    assert rollout.status is not None
    (found,) = rollout.status.measured
    return found
