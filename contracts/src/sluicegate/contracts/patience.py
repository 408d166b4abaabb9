"""How long the gateway waits and how often it tries: said once, for who runs a workflow and for who checks it."""

from typing import Final

from sluicegate.contracts.resources.workflow import Component, WorkflowSpec

DEFAULT_DEADLINE_MS: Final = 30_000
"""What a run may take when neither its caller nor the workflow's SLA says."""
MAX_DEADLINE_MS: Final = 600_000
"""What a run may take at most, whatever its caller says."""
SLA_PATIENCE: Final = 4
"""A run may take this many times the latency that the workflow promises."""
MAX_STAND_INS: Final = 4
"""Components that may stand in for one another in one step."""


def deadline_ms(spec: WorkflowSpec) -> int:
    """Of a run whose caller gives none."""
    promised = spec.contract.sla.max_latency_ms
    return DEFAULT_DEADLINE_MS if promised is None else min(MAX_DEADLINE_MS, promised * SLA_PATIENCE)


def attempt_ms(component: Component) -> int | None:
    """Of one attempt; None: what is left of the run's deadline."""
    return component.timeout_ms if component.timeout_ms is not None else component.sla.max_latency_ms


def attempts(component: Component) -> int:
    """Of one call at most, the first included: what is not idempotent is tried once."""
    return component.retry.max_attempts if component.idempotent else 1
