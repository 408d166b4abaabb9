"""From a strategy to planned stages: every default filled in, the error budget split. Pure."""

from collections.abc import Iterable
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.evidence import EvidenceKey, Question
from sluicegate.contracts.resources import AgentWorkflow, WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.base import Fraction, Metadata, OwnerReference
from sluicegate.contracts.resources.rollout import (
    ObservedOutput,
    PlannedGate,
    PlannedStage,
    RevisionRef,
    RolloutSpec,
    RolloutStatus,
)
from sluicegate.contracts.resources.workflow import (
    Endpoint,
    Gate,
    Runtime,
    Strategy,
    WorkflowSpec,
    stages_passed,
)
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.contracts.verification.sources import compares, counts
from sluicegate.rollout import outputs
from sluicegate.rollout.model import Look

MARGINS: Final = {Stage.CANARY: "0.05", Stage.SHADOW: "0.02", Stage.CONTROLLED: "0.02", Stage.FULL: "0.02"}
"""How much worse still counts as not worse, where a gate does not say (EVIDENCE.md, rule 3)."""

SIGNAL_MARGINS: Final = {Signal.DISAGREEMENT: "0.05", Signal.DRIFT: "0.05"}
"""Margins that do not depend on the stage."""

DELTA_PHI: Final = "0.05"
"""How much a single contribution to the reward may differ from stable's, where RewardShapleyVariance does not say."""

_COPY_WITH_COPY: Final = frozenset({Signal.P95_LATENCY, Signal.DISAGREEMENT})
"""Signals for which the user's own run is no fair measure: a copy runs later, beside other traffic, on caches that the
answer left warm. So it is compared with the second copy of stable wherever the stage has one."""

_GUARDRAILS: Final = (
    ("success", Signal.SUCCESS_RATE),
    ("latency", Signal.P95_LATENCY),
    ("fallbacks", Signal.FALLBACK_RATE_MAX),
    ("violations", Signal.CONTRACT_VIOLATIONS),
)

DEFAULT_GATES: Final = {
    Stage.CANARY: _GUARDRAILS,
    Stage.SHADOW: (*_GUARDRAILS, ("disagreement", Signal.DISAGREEMENT), ("drift", Signal.DRIFT)),
    Stage.CONTROLLED: _GUARDRAILS,
    Stage.FULL: _GUARDRAILS,
}
"""Gates of a stage whose strategy names none; `reward` joins them where the workflow declares a reward, but in Full.
`drift` is there where an output is observed."""

_SHOWN: Final = frozenset({Signal.DRIFT})
"""Default gates that decide nothing: a candidate is often meant to give other outputs (decision 0011)."""

_REWARD_STAGES: Final = frozenset(Stage) - {Stage.FULL}
_NONE: Final = Fraction(numerator=0, denominator=1)
_ALPHA_STEP: Final = Decimal("1e-12")
_ALONE: Final[dict[str, Any]] = {"ablation_share": _NONE, "version_share": _NONE}
"""Without a reward: a contribution is a part of it."""
_UNSEEN: Final[dict[str, Any]] = {"min_runs": 0, "control_share": _NONE, **_ALONE}
"""Runtime Service: the candidate's units are not seen, so that nothing can be asked of them; gates have a source, or
there are none."""
BOUNDARY: Final = 59
"""Units before a p95 can say anything: 0.95 ** 59 < 0.05 (EVIDENCE.md)."""


def plan_stages(spec: WorkflowSpec) -> tuple[PlannedStage, ...]:
    """The stages that a candidate of `spec` passes, in order; Full is always the last."""
    strategy = spec.rollout
    passed = stages_passed(strategy)
    if spec.runtime is Runtime.SERVICE:
        passed = {
            name: stage | _UNSEEN | {"gates": stage.get("gates") or ()} for name, stage in passed.items()
        }
    observed = outputs.observed(spec)
    gates = {
        name: _gates(name, stage.get("gates"), has_reward=spec.reward is not None, observed=observed)
        for name, stage in passed.items()
    }
    alpha = abort_alpha(strategy, gates.values())
    if spec.reward is None:
        passed = {name: stage | _ALONE for name, stage in passed.items()}
    return tuple(_stage(name, stage, gates[name], alpha, strategy) for name, stage in passed.items())


def abort_alpha(strategy: Strategy, gates: Iterable[tuple[Gate, ...]]) -> str:
    """α of abort per required guardrail: the budget split equally over all of them, rounded down.

    The union bound then keeps the promise for the whole rollout (Bonferroni; EVIDENCE.md, rule 3).
    """
    required = sum(1 for stage in gates for gate in stage if gate.required and has_error_rate(gate))
    share = Decimal(strategy.error_budget.abort) / max(required, 1)
    return format(share.quantize(_ALPHA_STEP, rounding=ROUND_DOWN).normalize(), "f")


def _gates(
    name: Stage,
    gates: tuple[Gate, ...] | None,
    *,
    has_reward: bool,
    observed: tuple[ObservedOutput, ...],
) -> tuple[Gate, ...]:
    if gates is None:
        signals = DEFAULT_GATES[name]
        if not outputs.seen_in(observed, name):
            signals = tuple((gate, signal) for gate, signal in signals if signal is not Signal.DRIFT)
        if has_reward and name in _REWARD_STAGES:
            signals = (*signals, ("reward", Signal.REWARD))
        gates = tuple(
            Gate(name=gate, signal=signal, required=signal not in _SHOWN) for gate, signal in signals
        )
    return tuple(_with_margin(gate, name) for gate in gates)


def has_error_rate(gate: Gate) -> bool:
    """Whether it is a test; a value beside a limit is none."""
    return gate.source is None or counts(gate.source)


def has_margin(gate: Gate) -> bool:
    """Whether it compares the candidate with stable by its margin; contributions have a `delta`, limits are limits."""
    if gate.signal is Signal.SHAPLEY_VARIANCE:
        return False
    return gate.source is None or (counts(gate.source) and compares(gate.source))


def _with_margin(gate: Gate, stage: Stage) -> Gate:
    if gate.signal is Signal.SHAPLEY_VARIANCE:
        return gate.model_copy(update={"margin": gate.delta, "delta_phi": gate.delta_phi or DELTA_PHI})
    if gate.margin is not None or not has_margin(gate):
        return gate
    return gate.model_copy(update={"margin": SIGNAL_MARGINS.get(gate.signal, MARGINS[stage])})


def _stage(
    name: Stage, values: dict[str, Any], gates: tuple[Gate, ...], alpha: str, strategy: Strategy
) -> PlannedStage:
    return PlannedStage(
        name=name,
        share=values["share"],
        min_runs=values["min_runs"],
        min_duration_seconds=values["min_duration_seconds"],
        max_duration_seconds=values["max_duration_seconds"],
        control_share=values.get("control_share", _NONE) if name in MIRRORED_STAGES else _NONE,
        ablation_share=values.get("ablation_share", _NONE) if name in MIRRORED_STAGES else _NONE,
        version_share=values.get("version_share", _NONE) if name in MIRRORED_STAGES else _NONE,
        gates=tuple(
            PlannedGate(**gate.model_dump(), abort_alpha=alpha, promote_alpha=strategy.error_budget.promote)
            for gate in gates
        ),
        approvals=values.get("approvals"),
        review_fallbacks=values.get("review_fallbacks", 0),
    )


def ref(revision: WorkflowRevision) -> RevisionRef:
    """Name, digest and version of a revision."""
    return RevisionRef(
        name=revision.metadata.name, digest=revision.spec.digest, version=revision.spec.version
    )


def plan_rollout(
    workflow: AgentWorkflow,
    stable: WorkflowRevision,
    candidate: WorkflowRevision,
    *,
    number: int,
    rollback: bool = False,
) -> WorkflowRollout:
    """The rollout from `stable` to `candidate`: its plan is fixed here, from the strategy as it is now."""
    passage = rollout_spec(
        candidate.spec.body,
        ref(stable),
        ref(candidate),
        plan=candidate.spec.body if rollback else workflow.spec,
    )
    return WorkflowRollout(
        metadata=Metadata(
            name=f"{workflow.metadata.name}-{number}",
            namespace=workflow.metadata.namespace,
            labels={"sluicegate.io/workflow": workflow.metadata.name},
            owner_references=(owner(workflow),),
        ),
        spec=passage.model_copy(
            update={
                "workflow": workflow.metadata.name,
                "workflow_uid": workflow.metadata.uid or "",
                "rollback": rollback,
                "changed_by": candidate.spec.changed_by,
                "workflow_generation": workflow.metadata.generation or 0,
                "observed": outputs.shared(passage.observed, stable.spec.body),
            }
        ),
    )


def rollout_spec(
    body: WorkflowSpec, stable: RevisionRef, candidate: RevisionRef, *, plan: WorkflowSpec | None = None
) -> RolloutSpec:
    """The plan of a passage to `body`, by the strategy of `plan` (the wish as it is now; `body` when absent)."""
    wish = plan or body
    strategy = wish.rollout
    return RolloutSpec(
        workflow="workflow",
        workflow_uid="",
        stable=stable,
        candidate=candidate,
        salt=candidate.digest,
        stages=plan_stages(wish),
        error_budget=strategy.error_budget,
        mirror_budget=strategy.mirror_budget,
        outcome_window_seconds=strategy.outcome_window_seconds,
        evaluation_interval_seconds=strategy.evaluation_interval_seconds,
        latency_boundary_ms=body.contract.sla.max_latency_ms,
        expected_runs_per_hour=wish.expected_runs_per_hour,
        has_reward=body.reward is not None,
        components=tuple(component.name for component in body.components),
        rollback_window_seconds=strategy.rollback_window_seconds,
        observed=outputs.observed(body),
    )


def owner(workflow: AgentWorkflow) -> OwnerReference:
    """Children go with their workflow."""
    return OwnerReference(kind=workflow.kind, name=workflow.metadata.name, uid=workflow.metadata.uid or "")


def stage_of(spec: RolloutSpec, stage: Stage) -> PlannedStage:
    """The planned stage of that name; KeyError when it is skipped."""
    for planned in spec.stages:
        if planned.name is stage:
            return planned
    raise KeyError(stage)


def questions(
    spec: RolloutSpec, stage: Stage, baseline: dict[str, str], boundary_ms: float | None = None
) -> tuple[Question, ...]:
    """What a fold has to compute for the gates of `stage`, in the gates' order.

    baseline: stable's rates by `baseline_key`, used in Full only, where there is no second arm. boundary_ms:
    the latency boundary that the stages before Full came to, when the workflow declares no SLA.
    """
    asked: dict[tuple[Signal, str | None], Question] = {}
    of_outputs: list[Question] = []
    for gate in of_units(stage_of(spec, stage)):
        if gate.signal is Signal.DRIFT:
            of_outputs += outputs.questions(spec.observed, stage, gate)
            continue
        for component in _components(spec, gate.signal):
            asked.setdefault(
                (gate.signal, component), _question(spec, stage, gate, component, baseline, boundary_ms)
            )
    return (*asked.values(), *of_outputs)


def of_units(planned: PlannedStage) -> tuple[PlannedGate, ...]:
    """The gates that look at units, which the others, with a source, do not."""
    return tuple(gate for gate in planned.gates if gate.source is None)


def asks_for_units(planned: PlannedStage) -> bool:
    """Whether any gate looks at units; where none does (runtime Service) they may not even be seen."""
    return bool(of_units(planned))


def _components(spec: RolloutSpec, signal: Signal) -> tuple[str | None, ...]:
    return spec.components if signal is Signal.FALLBACK_RATE_MAX else (None,)


def _question(
    spec: RolloutSpec,
    stage: Stage,
    gate: PlannedGate,
    component: str | None,
    baseline: dict[str, str],
    boundary_ms: float | None,
) -> Question:
    if gate.signal is Signal.SHAPLEY_VARIANCE:
        return Question(signal=gate.signal, margin=float(gate.delta or 0), level=float(gate.promote_alpha))
    boundary = boundary_ms if spec.latency_boundary_ms is None else float(spec.latency_boundary_ms)
    known = baseline.get(baseline_key(gate.signal, component)) if stage is Stage.FULL else None
    has_control = stage_of(spec, stage).control_share.numerator > 0
    return Question(
        signal=gate.signal,
        margin=float(gate.margin or MARGINS[stage]),
        component=component,
        boundary_ms=boundary if gate.signal is Signal.P95_LATENCY else None,
        baseline=None if known is None else float(known),
        against_control=has_control and gate.signal in _COPY_WITH_COPY,
    )


def baseline_key(signal: Signal, component: str | None = None) -> str:
    """Key of `status.baseline`."""
    return signal.value if component is None else f"{signal.value}/{component}"


def look(rollout: WorkflowRollout) -> Look | None:
    """Which evidence the rollout's next look needs; None outside the stages, and in a stage that asks for none."""
    status, uid = rollout.status, rollout.metadata.uid
    if status is None or uid is None or status.state.value not in set(Stage):
        return None
    stage = Stage(status.state.value)
    if not asks_for_units(stage_of(rollout.spec, stage)):
        return None
    boundary = None if status.latency_boundary_ms is None else float(status.latency_boundary_ms)
    return Look(
        key=EvidenceKey(uid, stage, status.attempt),
        questions=questions(rollout.spec, stage, dict(status.baseline), boundary),
    )


def initial_status(rollout: WorkflowRollout) -> RolloutStatus:
    """Before the first look."""
    return RolloutStatus(observed_generation=rollout.metadata.generation or 0)


def endpoint_problems(stable: WorkflowSpec, candidate: WorkflowSpec) -> tuple[Problem, ...]:
    """Components that have a new version but would be answered by the same process.

    Comparing such arms would compare stable with itself, and the new version would be out before any gate. The
    same address, model, prompt, parameters and headers are the same process.
    """
    if candidate.runtime is Runtime.SERVICE or stable.runtime is Runtime.SERVICE:
        return _service_problems(stable, candidate)
    before = {component.name: component for component in stable.components}
    problems = []
    for index, component in enumerate(candidate.components):
        old = before.get(component.name)
        if old is None or old.version == component.version:
            continue
        if _identity(old.endpoint) == _identity(component.endpoint):
            problems.append(
                Problem(
                    path=f"spec.components[{index}].endpoint",
                    message=f"version {component.version} of {component.name} would reach the same process as "
                    f"version {old.version}",
                    value=component.endpoint.url or str(component.endpoint.service_ref),
                    allowed="another url, model or prompt than the stable version's",
                    hint="serve the new version beside the old one under its own address",
                )
            )
    return tuple(problems)


def _service_problems(stable: WorkflowSpec, candidate: WorkflowSpec) -> tuple[Problem, ...]:
    """Two revisions that one HTTPRoute could not tell apart, or could not both lead to."""
    if stable.runtime is not candidate.runtime:
        return (
            Problem(
                path="spec.runtime",
                message="cannot change: no gateway could split traffic between the two",
                value=candidate.runtime,
                allowed=stable.runtime,
                hint="make another workflow",
            ),
        )
    before, after = stable.service, candidate.service
    if (
        before is None
        or after is None
        or before.backend != after.backend
        or stable.version == candidate.version
    ):
        return ()
    return (
        Problem(
            path="spec.service.backend",
            message=f"version {candidate.version} would be answered by the same Service as version {stable.version}",
            value=f"{after.backend.name}:{after.backend.port}",
            allowed="another Service or port than the stable version's",
            hint="serve the new version beside the old one under its own Service",
        ),
    )


def _identity(endpoint: Endpoint) -> Endpoint:
    return endpoint.model_copy(update={"credential_ref": None})
