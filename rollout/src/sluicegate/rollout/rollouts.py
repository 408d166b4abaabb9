"""One look at a rollout: gates and people give inputs, the table gives the move, the state gives the route."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from sluicegate.contracts.resources import WorkflowRevision
from sluicegate.contracts.resources.rollout import DecisionRecord, RolloutStatus
from sluicegate.contracts.routes import RoutePlan
from sluicegate.contracts.stages import Signal, Stage, State
from sluicegate.rollout import (
    asking,
    drifts,
    drills,
    events,
    fallbacks,
    looks,
    planning,
    reporting,
    routing,
    table,
    transitions,
    verdicts,
)
from sluicegate.rollout.decisions import Reading
from sluicegate.rollout.looks import Requirements, Survey
from sluicegate.rollout.model import Act, Emit, Plan, RolloutObserved, Route, ref_of
from sluicegate.rollout.table import Input

RENEW_SECONDS: Final = 15.0
"""A running rollout is looked at least this often, for its lease."""

PENDING_SECONDS: Final = 5.0
DRAINING_SECONDS: Final = 1.0


def reconcile_rollout(observed: RolloutObserved, now: datetime) -> Plan[RolloutStatus]:
    """What the status has to be and what to do; equal inputs give equal answers.

    One move at the most per look. A look that changes nothing returns the status as it was and no action.
    """
    old = observed.rollout.status or planning.initial_status(observed.rollout)
    seen = looks.survey(observed, old, now)
    reading = looks.read_people(observed, old, seen, now)
    people = looks.with_people(seen, reading, observed, now)
    needs = looks.requirements(seen, reading.status, people, now)
    status = looks.hold(seen, reading.status, needs)
    cause = _cause(observed, status, seen, needs, reading, now)
    status = reporting.with_numbers(observed.rollout, status, seen, now)
    jobs: tuple[Act, ...] = ()
    if cause is not None:
        if seen.planned is not None:
            jobs = tuple(asking.left_behind(observed.rollout, status, seen.planned))
        status = _move(observed, status, seen, cause, reading, now)
        seen = replace(seen, planned=None, findings=())
    status, programming = _program(observed, status, seen, now, moved=cause is not None)
    status = reporting.with_report(observed, status, seen, needs, now)
    status, forgotten = reporting.forget(observed, status)
    status = reporting.settle(observed.rollout, status, now)
    told = (*_tell(observed, old, status, reading), *_tell_new(observed, old, status, seen))
    acts: tuple[Act, ...] = (*forgotten, *programming, *told, *jobs)
    return Plan(
        status=status, actions=acts, requeue_after=_requeue(observed, status, moved=cause is not None)
    )


def _cause(
    observed: RolloutObserved,
    status: RolloutStatus,
    seen: Survey,
    needs: Requirements,
    reading: Reading,
    now: datetime,
) -> Input | None:
    """The first input, by precedence, that the table knows in this state."""
    arisen = looks.inputs(observed, status, seen, needs, now)
    if reading.cause is not None:
        arisen |= {reading.cause}
    stages = tuple(stage.name for stage in observed.rollout.spec.stages)
    return table.first({cause for cause in arisen if _leads(status, cause, stages)})


def _leads(status: RolloutStatus, cause: Input, stages: tuple[Stage, ...]) -> bool:
    if table.move(status.state, cause, stages) is None:
        return False
    # Draining to stable already: an abort has nothing left to change.
    turns_back = status.state is State.DRAINING and cause is Input.ABORT
    return not turns_back or status.outcome in table.CANDIDATE_WINS


def _move(
    observed: RolloutObserved,
    status: RolloutStatus,
    seen: Survey,
    cause: Input,
    reading: Reading,
    now: datetime,
) -> RolloutStatus:
    spec = observed.rollout.spec
    found = table.move(status.state, cause, tuple(stage.name for stage in spec.stages))
    if found is None:
        raise AssertionError(f"{cause} does not lead out of {status.state}")
    by = _because(seen, cause, reading, observed)
    status = transitions.apply(status, found, by=by, evidence=seen.evidence, now=now)
    if found.to not in table.STAGES:
        return status
    return status.model_copy(
        update={"next_evaluation_at": now + timedelta(seconds=spec.evaluation_interval_seconds)}
    )


def _because(seen: Survey, cause: Input, reading: Reading, observed: RolloutObserved) -> str:
    """Why the rollout moves, as one sentence for the history."""
    if cause is reading.cause:
        return f"{reading.by}: {reading.reason}" if reading.reason else reading.by
    failed = verdicts.failed(seen.findings, "Abort")
    if cause is Input.FAIL and failed:
        return verdicts.sentence(failed)
    candidate = observed.rollout.spec.candidate.version
    said = {
        Input.PASS: "Pass: every required gate passed",
        Input.SUPERSEDE: "the workflow wishes another version now",
        Input.EXPIRE: "every gate passed, the approvals did not come by the deadline",
        Input.START: f"Started {candidate}",
        Input.ROLLBACK: f"{candidate} comes back without stages",
    }
    return said.get(cause, str(cause))


def wanted_route(observed: RolloutObserved, status: RolloutStatus, now: datetime) -> RoutePlan | None:
    """The plan that the state asks for; None when this rollout has no say."""
    stable, candidate, workflow = observed.stable, observed.candidate, observed.workflow
    if status.state is State.DONE or workflow is None or stable is None:
        return None
    if status.state in table.STAGES and candidate is not None:
        spec = observed.rollout.spec
        passage = routing.Passage(
            rollout=observed.rollout.metadata.uid or "",
            spec=spec,
            stage=planning.stage_of(spec, Stage(status.state.value)),
            attempt=status.attempt,
            candidate=routing.body_of(candidate, workflow.spec),
        )
        body = routing.body_of(stable, workflow.spec)
        rule_sets = fallbacks.carried(observed.rule_sets, (body, passage.candidate), observed.plan)
        drill = drills.of_plan(workflow.spec, rule_sets)
        return routing.route(stable, body, passage=passage, now=now, rule_sets=rule_sets, drill=drill)
    winner = _winner(status, stable, candidate)
    body = routing.body_of(winner, workflow.spec)
    rule_sets = fallbacks.carried(observed.rule_sets, (body,), observed.plan)
    return routing.route(winner, body, rule_sets=rule_sets, drill=drills.of_plan(workflow.spec, rule_sets))


def _winner(
    status: RolloutStatus, stable: WorkflowRevision, candidate: WorkflowRevision | None
) -> WorkflowRevision:
    """Who answers everybody outside the stages: stable, unless the candidate is fully promoted."""
    return candidate if candidate is not None and status.outcome in table.CANDIDATE_WINS else stable


def _program(
    observed: RolloutObserved, status: RolloutStatus, seen: Survey, now: datetime, *, moved: bool
) -> tuple[RolloutStatus, tuple[Act, ...]]:
    wanted = wanted_route(observed, status, now) if seen.bearings.is_current else None
    if wanted is None:
        return status, ()
    result = routing.program(wanted, observed.plan, known=status.plan_version, moved=moved, now=now)
    status = status.model_copy(update={"plan_version": result.version})
    return status, (Route(result.plan),) if result.plan is not None else ()


def _tell(
    observed: RolloutObserved, old: RolloutStatus, status: RolloutStatus, reading: Reading
) -> tuple[Emit, ...]:
    about, uid = ref_of(observed.rollout), observed.rollout.metadata.uid or ""
    told = [_tell_decision(observed, record) for record in reading.records]
    version = observed.rollout.spec.candidate.version
    place = f"{uid}/{status.attempt}/{status.state}"
    if status.state is not old.state or status.outcome is not old.outcome:
        if status.state in table.STAGES:
            told.append(
                events.emit(
                    about, "StageEntered", f"{version} enters {status.state}: {status.message}", key=place
                )
            )
        elif status.state is State.DRAINING:
            bad = events.is_bad(status.outcome)
            key = f"{place}/{status.outcome}"
            told.append(events.emit(about, "Draining", f"{version}: {status.message}", key=key, bad=bad))
        elif status.state is State.DONE:
            bad = events.is_bad(status.outcome)
            said = f"{version} ended {status.outcome}: {status.message}"
            told.append(events.emit(about, "Completed", said, key=place, bad=bad))
    if status.held and not old.held:
        said = f"{version} is held in {status.state}: {status.hold_reason}"
        told.append(events.emit(about, "StageHeld", said, key=place, bad=True))
    return tuple(told)


def _tell_new(
    observed: RolloutObserved, old: RolloutStatus, status: RolloutStatus, seen: Survey
) -> Iterator[Emit]:
    """Outputs that stable never gave, when the status begins to tell of them."""
    before, after = (
        " ".join(gate.message for gate in one.gates if gate.signal == Signal.DRIFT) for one in (old, status)
    )
    found = () if seen.evidence is None or before == after else seen.evidence.of(Signal.DRIFT)
    place = f"{observed.rollout.metadata.uid or ''}/{status.attempt}/{status.state}"
    for name, said in drifts.first_told(found, before, after):
        yield events.emit(ref_of(observed.rollout), "UnseenValue", said, key=f"{place}/{name}")


def _tell_decision(observed: RolloutObserved, record: DecisionRecord) -> Emit:
    said = f"{record.action} by {record.decided_by}: {record.message}"
    bad = record.result in {"Refused", "Expired"}
    return events.emit(ref_of(observed.rollout), f"Decision{record.result}", said, key=record.uid, bad=bad)


def _requeue(observed: RolloutObserved, status: RolloutStatus, *, moved: bool) -> float | None:
    if moved:
        return 0.0
    if status.state is State.DONE:
        return None
    if status.state is State.PENDING:
        return PENDING_SECONDS
    if status.state is State.DRAINING:
        return DRAINING_SECONDS
    return min(float(observed.rollout.spec.evaluation_interval_seconds), RENEW_SECONDS)
