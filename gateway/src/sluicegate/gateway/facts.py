"""Run documents and evidence, from what an arm did."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sluicegate.contracts.evidence import Ablation, ArmFacts, EvidenceKey, RawObservation
from sluicegate.contracts.routes import RoutePlan
from sluicegate.contracts.runs import (
    Arm,
    Comparison,
    Policy,
    RunOutcome,
    RunRecord,
    StepOutcome,
    StepRecord,
    Violation,
)
from sluicegate.gateway.arms import Assignment, mirror_probability
from sluicegate.gateway.engine.kernel import ArmState
from sluicegate.gateway.engine.program import Program
from sluicegate.gateway.outputs import given
from sluicegate.lineage.entries import without_bodies
from sluicegate.lineage.identity import lineage_digest


@dataclass(slots=True, kw_only=True)
class RunFrame:
    """What the documents of all arms of a run have in common."""

    run_id: str
    plan: RoutePlan
    assignment: Assignment
    started_at: datetime
    input: Any
    input_hash: str
    trace_id: str
    worker: str
    key: str | None = None  # of routing
    warnings: tuple[Violation, ...] = ()  # of the input, which goes on all the same


def record_of(frame: RunFrame, state: ArmState, comparison: Comparison | None = None) -> RunRecord:
    """The document of one arm, with bodies as they were."""
    plan, assignment, program = frame.plan, frame.assignment, state.program
    versions = _versions(state)
    took_part = assignment.observed
    serving = not state.mirrored
    choices, numbers = given(state) if serving else ({}, {})
    return RunRecord(
        run_id=frame.run_id,
        arm=state.arm,
        serving=serving,
        namespace=plan.namespace,
        workflow=plan.workflow,
        revision=program.body.name,
        version=program.body.version,
        components=versions,
        started_at=frame.started_at.isoformat(),
        latency_ms=state.latency_ms,
        outcome=RunOutcome.SUCCEEDED if state.failure is None else RunOutcome.FAILED,
        unit=assignment.unit,
        window_seconds=plan.outcome_window_seconds if serving else None,
        sla=program.sla,
        component_sla=program.component_sla,
        input=frame.input,
        input_hash=frame.input_hash,
        lineage_digest=lineage_digest(
            version=program.body.version,
            revision_digest=program.body.digest,
            components=versions,
            input_hash=frame.input_hash,
        ),
        output=state.output,
        rollout=plan.rollout if took_part else None,
        stage=plan.stage.value if took_part and plan.stage is not None else None,
        attempt=plan.attempt if took_part else 0,
        position=assignment.position,
        probability=assignment.probability if serving else mirror_probability(plan, state.arm),
        error=state.error,
        violations=(*frame.warnings, *state.violations) if serving else state.violations,
        steps=tuple(state.steps),
        reward=state.reward,
        reward_source="Evaluator" if state.reward is not None else None,
        comparison=comparison,
        choices=choices,
        numbers=numbers,
        coalition=state.coalition,
        worker=frame.worker,
        trace_id=frame.trace_id,
    )


def light_record(frame: RunFrame, program: Program, outcome: RunOutcome, latency_ms: float) -> RunRecord:
    """The document of a run in which nothing ran: it says nothing about any arm, and makes no unit."""
    return RunRecord(
        run_id=frame.run_id,
        arm=frame.assignment.serving,
        serving=True,
        namespace=frame.plan.namespace,
        workflow=frame.plan.workflow,
        revision=program.body.name,
        version=program.body.version,
        components={},
        started_at=frame.started_at.isoformat(),
        latency_ms=latency_ms,
        outcome=outcome,
        unit=frame.assignment.unit,
        input=frame.input,
        input_hash=frame.input_hash,
        violations=frame.warnings,
        worker=frame.worker,
        trace_id=frame.trace_id,
    )


def _versions(state: ArmState) -> dict[str, str]:
    """By component, as they ran: in the version game some are stable's."""
    stable = state.fallback_program
    if stable is None or not state.replaced:
        return state.program.versions
    return state.program.versions | {name: stable.versions[name] for name in state.replaced}


def prepared(record: RunRecord, program: Program) -> RunRecord:
    """The document as it may be written: redacted, and without bodies when this run is not in the sample."""
    if program.redactor is not None:
        record = program.redactor(record)
    if keeps_bodies(program, record.run_id):
        return record
    return without_bodies(record, "Sampled")


def keeps_bodies(program: Program, run_id: str) -> bool:
    """Whether the bodies of a run are in the sample; the same for all of its arms and later entries."""
    if program.sample_numerator >= program.sample_denominator:
        return True
    # The tail of a UUID version 7 is random: 48 bits of it are the run's place.
    return int(run_id[-12:], 16) * program.sample_denominator < program.sample_numerator << 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """What ArmFacts say of an answer beside the user's; see there."""

    disagrees: float | None = None
    similarity: float | None = None
    texts: tuple[float | None, ...] = ()


def arm_facts(state: ArmState, answer: Disagreement = Disagreement()) -> ArmFacts:
    """One run of one arm as evidence. A violation of policy Map is none: its author declared what it becomes."""
    fallbacks: dict[str, float] = {}
    violations = [*state.violations]
    for step in state.steps:
        _count_fallback(step, fallbacks)
        violations += step.violations
    kinds = [violation.kind for violation in violations if violation.policy is not Policy.MAP]
    choices, numbers = given(state)
    return ArmFacts(
        success=1.0 if state.failure is None else 0.0,
        latencies_ms=(state.latency_ms,),
        fallbacks=fallbacks,
        violations=tuple(dict.fromkeys(kinds)),
        violated=1.0 if kinds else 0.0,
        reward=state.reward,
        disagrees=answer.disagrees,
        similarity=answer.similarity,
        texts=answer.texts,
        choices=choices,
        numbers=numbers,
    )


def _count_fallback(step: StepRecord, fallbacks: dict[str, float]) -> None:
    """A component that was due: 1 if it fell back in any of its steps. Skipped steps and stubs say nothing."""
    if step.outcome is StepOutcome.SKIPPED or (step.stubbed and not step.attempts):
        return
    fell = step.fallback is not None and not step.fallback.forced
    fallbacks[step.component] = max(fallbacks.get(step.component, 0.0), 1.0 if fell else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablations:
    """What the runs with a coalition earned: of the fallback game, and of the version game."""

    fallback: Ablation | None = None
    version: Ablation | None = None


def ablations_of(states: Iterable[ArmState]) -> Ablations:
    """A failed run earned nothing."""
    by_arm = {state.arm: state for state in states}
    ablated, stable, mixed = map(by_arm.get, (Arm.ABLATED, Arm.ABLATED_STABLE, Arm.MIXED))
    return Ablations(fallback=_ablation(ablated, stable), version=_ablation(mixed))


def _ablation(state: ArmState | None, stable: ArmState | None = None) -> Ablation | None:
    if state is None or state.coalition is None:
        return None
    return Ablation(
        coalition=state.coalition, reward=_earned(state), stable=None if stable is None else _earned(stable)
    )


def _earned(state: ArmState) -> float | None:
    return state.reward if state.failure is None else 0.0


def disagreement(served: ArmState, other: ArmState, comparison: Comparison | None) -> Disagreement:
    """Of a mirrored answer. One that failed where the user got an answer disagrees."""
    if served.failure is not None:
        return Disagreement()
    if other.failure is not None or comparison is None:
        return Disagreement(disagrees=1.0, texts=(None,))
    is_better = other.reward is not None and served.reward is not None and other.reward > served.reward
    return judged(comparison, is_better=is_better)


def judged(comparison: Comparison, *, is_better: bool) -> Disagreement:
    """Facts decide here; how alike texts must be is known where evidence is folded. A better reward excuses both."""
    differs = not comparison.agrees and not is_better
    is_open = comparison.agrees and not is_better
    return Disagreement(
        disagrees=float(differs),
        similarity=comparison.similarity,
        texts=(comparison.texts if is_open else None,),
    )


def observation_of(
    frame: RunFrame,
    at: datetime,
    facts: dict[Arm, ArmFacts],
    *,
    expects_reward: bool,
    dropped: int = 0,
    ablations: Ablations = Ablations(),
) -> RawObservation | None:
    """One run's part in its unit; None outside a rollout."""
    plan = frame.plan
    if plan.rollout is None or plan.stage is None:
        return None
    return RawObservation(
        key=EvidenceKey(plan.rollout, plan.stage, plan.attempt),
        unit=frame.assignment.unit,
        run_id=frame.run_id,
        at=at,
        stable=facts.get(Arm.STABLE),
        candidate=facts.get(Arm.CANDIDATE),
        control=facts.get(Arm.CONTROL),
        ablation=ablations.fallback,
        mixed=ablations.version,
        dropped=dropped,
        session=frame.assignment.session,
        expects_reward=expects_reward,
        window_seconds=plan.outcome_window_seconds,
    )
