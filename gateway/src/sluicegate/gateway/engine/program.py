"""A revision made ready to run: everything that does not depend on the run is computed once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluicegate.contracts import patience
from sluicegate.contracts.compiled import CompiledComponent, CompiledStep, CompiledWorkflow, compile_workflow
from sluicegate.contracts.enforcing import Side
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.observed import ObservedField, observed_fields
from sluicegate.contracts.resources.workflow import (
    CircuitBreaker,
    Component,
    Endpoint,
    MirrorStub,
    OnFailure,
    SideEffects,
    Sla,
    WorkflowSla,
    WorkflowSpec,
)
from sluicegate.contracts.routes import RevisionBody
from sluicegate.contracts.runs import Failure
from sluicegate.gateway.business import Escalation, escalation_of
from sluicegate.gateway.protocols.base import ComponentProtocol
from sluicegate.gateway.protocols.places import Place
from sluicegate.gateway.protocols.table import PROTOCOLS
from sluicegate.gateway.resilience.destinations import origin
from sluicegate.lineage.redaction import Redactor


@dataclass(frozen=True, slots=True, kw_only=True)
class Stub:
    """What a mirrored run gets instead of a live component: another endpoint, else a value."""

    value: Any = None
    protocol: ComponentProtocol | None = None
    destination: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramComponent:
    """One component. timeout: seconds of one attempt, None: what is left. attempts: 1 unless idempotent."""

    name: str
    version: str
    protocol: ComponentProtocol
    destination: str
    live: bool
    timeout: float | None
    attempts: int
    retry_on: frozenset[Failure]
    backoff_base: float  # seconds
    backoff_max: float
    budget_ratio: float
    breaker: CircuitBreaker | None
    on_failure: OnFailure
    stub: Stub | None
    input: Side
    output: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramStep:
    """One step."""

    name: str
    component: ProgramComponent
    compiled: CompiledStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One revision of one workflow. deadline: seconds of a run whose caller gives none."""

    body: RevisionBody
    namespace: str
    workflow: str
    compiled: CompiledWorkflow
    components: dict[str, ProgramComponent]
    versions: dict[str, str]
    request_steps: tuple[ProgramStep, ...]
    after_steps: tuple[ProgramStep, ...]
    deadline: float
    redactor: Redactor | None
    sample_numerator: int
    sample_denominator: int
    has_reward: bool
    sla: dict[str, float]  # what is promised, by name
    component_sla: dict[str, dict[str, float]]
    headers: tuple[tuple[bytes, bytes], ...]  # of every answer
    observed: tuple[ObservedField, ...]
    escalation: Escalation | None


def compile_program(
    namespace: str, workflow: str, body: RevisionBody, credentials: Path | None = None
) -> Program:
    """credentials: folder of the files that hold what `secretKeyRef` names. Raises Refused, or pydantic's ValidationError for a body that is no workflow at all."""
    spec = WorkflowSpec.model_validate(body.spec)
    compiled, place = compile_workflow(spec), Place(namespace=namespace, credentials=credentials)
    components = {name: _component(item, place) for name, item in compiled.components.items()}
    sample = spec.lineage.sample_bodies
    return Program(
        body=body,
        namespace=namespace,
        workflow=workflow,
        compiled=compiled,
        components=components,
        versions={item.name: item.version for item in spec.components},
        request_steps=_steps(compiled.steps, components),
        after_steps=_steps(compiled.after_answer, components),
        deadline=patience.deadline_ms(spec) / 1000.0,
        redactor=Redactor(spec.lineage.redact) if spec.lineage.redact else None,
        sample_numerator=sample.numerator,
        sample_denominator=sample.denominator,
        has_reward=compiled.reward is not None,
        sla=_sla(spec.contract.sla),
        component_sla={item.name: bounds for item in spec.components if (bounds := _sla(item.sla))},
        headers=(
            (b"content-type", b"application/json"),
            (b"sluicegate-revision", body.name.encode()),
            (b"sluicegate-version", body.version.encode()),
        ),
        observed=observed_fields(spec),
        escalation=escalation_of(spec, f"{namespace}/{workflow}/{body.name}"),
    )


def _steps(
    steps: tuple[CompiledStep, ...], components: dict[str, ProgramComponent]
) -> tuple[ProgramStep, ...]:
    return tuple(
        ProgramStep(name=step.name, component=components[step.component.name], compiled=step)
        for step in steps
    )


def _sla(sla: Sla) -> dict[str, float]:
    bounds = {
        "maxLatencyMs": sla.max_latency_ms,
        "latencyQuantile": sla.latency_quantile if isinstance(sla, WorkflowSla) else None,
        "minSuccessRate": sla.min_success_rate,
        "maxFallbackRate": sla.max_fallback_rate,
    }
    return {name: float(value) for name, value in bounds.items() if value is not None}


def _component(item: CompiledComponent, place: Place) -> ProgramComponent:
    spec = item.spec
    milliseconds = patience.attempt_ms(spec)
    protocol = _protocol(spec, spec.endpoint, place)
    return ProgramComponent(
        name=spec.name,
        version=spec.version,
        protocol=protocol,
        destination=origin(protocol.url),
        live=spec.side_effects is SideEffects.LIVE,
        timeout=None if milliseconds is None else milliseconds / 1000.0,
        attempts=patience.attempts(spec),
        retry_on=frozenset(spec.retry.retry_on),
        backoff_base=spec.retry.backoff.base_ms / 1000.0,
        backoff_max=spec.retry.backoff.max_ms / 1000.0,
        budget_ratio=float(spec.retry.budget_ratio),
        breaker=spec.circuit_breaker,
        on_failure=spec.on_failure,
        stub=None if spec.mirror_stub is None else _stub(spec, spec.mirror_stub, place),
        input=item.input,
        output=item.output,
    )


def _stub(component: Component, stub: MirrorStub, place: Place) -> Stub:
    if stub.endpoint is None:
        return Stub(value=stub.value)
    protocol = _protocol(component, stub.endpoint, place)
    return Stub(protocol=protocol, destination=origin(protocol.url))


def _protocol(component: Component, endpoint: Endpoint, place: Place) -> ComponentProtocol:
    make = PROTOCOLS.get(endpoint.protocol)
    problem = None
    if make is None:
        problem = Problem(
            path=f"component {component.name}",
            message=f"protocol {endpoint.protocol.value} is not spoken by this gateway",
            allowed=", ".join(item.value for item in PROTOCOLS),
        )
    elif not place.address(endpoint):
        problem = Problem(path=f"component {component.name}", message="its endpoint has no address")
    if make is None or problem is not None:
        raise Refused((problem,) if problem else ())
    return make(component, endpoint, place)
