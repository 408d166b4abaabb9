"""One look at a workflow: which revision is stable, whether a rollout has to start, who answers meanwhile.

A running rollout does its own work; the workflow follows one rollout at a time (`status.rollout`), and only the
followed one may route. A rollout that is no longer wished ends by itself; then the next one starts clean.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.resources import AgentWorkflow, WorkflowRevision, WorkflowRollout
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.stages import Action, Outcome, State
from sluicegate.rollout import (
    decay,
    drills,
    events,
    fallbacks,
    planning,
    revisions,
    routing,
    table,
    workflow_report,
)
from sluicegate.rollout.model import (
    FINALIZER,
    Act,
    Apply,
    Hold,
    Plan,
    Release,
    Route,
    Unroute,
    WorkflowObserved,
    ref_of,
)
from sluicegate.rollout.wishes import Case, Step

MOST_LATCHED: Final = 20
LOST_AFTER: Final = timedelta(seconds=60)
"""A followed rollout that is not found for so long is gone; sooner it may be a read older than its creation."""

RUNNING_SECONDS: Final = 15.0
UNSETTLED_SECONDS: Final = 5.0


def reconcile_workflow(observed: WorkflowObserved, now: datetime) -> Plan[WorkflowStatus]:
    """What the status has to be and what to do; equal inputs give equal answers, and nothing new gives no action."""
    workflow = observed.workflow
    if workflow.metadata.deletion_timestamp is not None:
        return _leave(observed, now)
    old = workflow.status or WorkflowStatus(observed_generation=workflow.metadata.generation or 0)
    status, told = _settle_finished(observed, old, now)
    problems = workflow_report.contract_problems(workflow)
    case = Case(
        observed=observed,
        status=status,
        digest=revision_digest(workflow.spec),
        problems=problems,
        now=now,
    )
    step = next(step for rule in RULES if (step := rule(case)) is not None)
    status, routed = _route(observed, step, now)
    status = drills.reported(observed, status, now)
    status = workflow_report.with_report(observed, status, step, problems, now)
    told = (*told, *decay.alarms(observed, status), *drills.alarms(observed, status))
    acts = (*_finalizer(workflow), *step.acts, *told, *revisions.prune(observed, status), *routed)
    waits = (_requeue(status, step), drills.seconds_to_look(observed, status, now))
    after = min((seconds for seconds in waits if seconds is not None), default=None)
    return Plan(status=status, actions=acts, requeue_after=after)


def _settle_finished(
    observed: WorkflowObserved, status: WorkflowStatus, now: datetime
) -> tuple[WorkflowStatus, tuple[Act, ...]]:
    """Take over what the followed rollout came to."""
    if status.rollout is None:
        return status, ()
    rollout = revisions.rollout_named(observed.rollouts, status.rollout)
    if rollout is None:
        lost = status.last_change is None or now - status.last_change > LOST_AFTER
        return (_unfollow(status, now), ()) if lost else (status, ())
    if rollout.status is None or rollout.status.state is not State.DONE:
        return status, ()
    outcome, spec = rollout.status.outcome, rollout.spec
    status = _unfollow(status, now)
    if outcome in table.LATCHING:
        return _latched(status, spec.candidate.digest), ()
    if outcome not in table.CANDIDATE_WINS:
        return status, ()
    status = status.model_copy(update={"stable_revision": spec.candidate.name})
    status = _unlatched(status, spec.candidate.digest)
    if outcome is Outcome.FAST_ROLLED_BACK:
        status = _latched(status, spec.stable.digest)
    said = f"{spec.candidate.version} is stable: {outcome}"
    key = f"{observed.workflow.metadata.uid}/{rollout.metadata.name}/{rollout.status.attempt}"
    return status, (events.emit(ref_of(observed.workflow), "StableChanged", said, key=key),)


def _unfollow(status: WorkflowStatus, now: datetime) -> WorkflowStatus:
    return status.model_copy(update={"rollout": None, "candidate_revision": None, "last_change": now})


def _latched(status: WorkflowStatus, digest: str) -> WorkflowStatus:
    kept = tuple(item for item in status.latched_digests if item != digest)
    return status.model_copy(update={"latched_digests": (*kept, digest)[-MOST_LATCHED:]})


def _unlatched(status: WorkflowStatus, digest: str) -> WorkflowStatus:
    kept = tuple(item for item in status.latched_digests if item != digest)
    return status.model_copy(update={"latched_digests": kept})


def _running(case: Case) -> Step | None:
    """The followed rollout is at work; nothing else starts."""
    if case.status.rollout is None:
        return None
    rollout = revisions.rollout_named(case.observed.rollouts, case.status.rollout)
    return Step(status=case.status, running=rollout)


def _adopt(case: Case) -> Step | None:
    """A rollout that waits for its turn and is wished: made a moment ago, or tried again."""
    for rollout in revisions.newest_first(case.observed.rollouts):
        if _fits(case, rollout):
            return _follow(case, rollout)
    return None


def _fits(case: Case, rollout: WorkflowRollout) -> bool:
    spec = rollout.spec
    if (
        revisions.is_done(rollout)
        or spec.workflow_uid != case.workflow.metadata.uid
        or spec.stable.name != case.status.stable_revision
    ):
        return False
    return spec.candidate.digest == case.digest or (spec.rollback and spec.stable.digest == case.digest)


def _follow(case: Case, rollout: WorkflowRollout, *acts: Act) -> Step:
    status = _unlatched(case.status, rollout.spec.candidate.digest).model_copy(
        update={
            "rollout": rollout.metadata.name,
            "candidate_revision": rollout.spec.candidate.name,
            "last_change": case.now,
        }
    )
    return Step(status=status, acts=acts, running=rollout)


def _undo(case: Case) -> Step | None:
    """A person took the last promotion back."""
    promoted = revisions.promotion_of(case.observed.rollouts, case.status.stable_revision)
    if promoted is None or promoted.status is None or case.stable is None:
        return None
    asked = any(
        record.action is Action.UNDO
        and record.result == "Applied"
        and record.attempt == promoted.status.attempt
        for record in promoted.status.decisions
    )
    earlier = revisions.named(case.observed.revisions, promoted.spec.stable.name)
    if not asked or earlier is None or revisions.was_rolled_back(case.observed.rollouts, promoted):
        return None
    return _start(case, case.stable, earlier, rollback=True)


def _invalid(case: Case) -> Step | None:
    """The wish breaks its contract: stable goes on."""
    if not case.problems:
        return None
    return Step(status=case.status, stable=case.stable, obstacle=("ContractInvalid", case.problems))


def _reused(case: Case) -> Step | None:
    """One version name, two bodies."""
    version = case.workflow.spec.version
    other = revisions.reuse_of(case.observed.revisions, version, case.digest)
    if other is None:
        return None
    said = f"version {version} is already the name of {other.metadata.name}; give the new body a new version"
    return Step(status=case.status, stable=case.stable, obstacle=("VersionReused", said))


def _first(case: Case) -> Step | None:
    """Nothing is stable yet: the first verified revision becomes stable without stages, and says so."""
    if case.status.stable_revision is not None:
        return None
    revision = revisions.of_digest(case.observed.revisions, case.digest) or _new_revision(case)
    status = case.status.model_copy(
        update={"stable_revision": revision.metadata.name, "last_change": case.now}
    )
    said = f"{revision.spec.version} is the first revision: stable without stages"
    key = f"{case.workflow.metadata.uid}/{revision.metadata.name}"
    told = events.emit(ref_of(case.workflow), "FirstRevision", said, key=key)
    return Step(status=status, acts=(Apply(revision), told), stable=revision)


def _lost(case: Case) -> Step | None:
    """The stable revision is not there: an older read, or deleted by hand; the stored plan goes on."""
    if case.stable is not None:
        return None
    said = f"revision {case.status.stable_revision} is not found"
    return Step(status=case.status, obstacle=("StableMissing", said))


def _settled(case: Case) -> Step | None:
    """The wish is stable."""
    if case.stable is None or case.stable.spec.digest != case.digest:
        return None
    return Step(status=case.status, stable=case.stable)


def _held_back(case: Case) -> Step | None:
    """Aborted, rejected, expired or taken back before: not tried again until a retry or a new digest."""
    if case.digest not in case.status.latched_digests:
        return None
    last = revisions.last_of(case.observed.rollouts, case.digest)
    version = case.workflow.spec.version
    serving = "stable" if case.stable is None else case.stable.spec.version
    retry = "" if last is None else f"retry {last.metadata.name}, "
    if last is None or last.status is None or last.status.outcome is None:
        reason, why = "Latched", "it did not pass before"
    elif last.status.outcome in table.CANDIDATE_WINS:
        reason, why = "RolledBack", f"it was taken back after {last.metadata.name}"
    else:
        reason, why = last.status.outcome.value, f"{last.metadata.name}: {last.status.message}"
    said = f"{serving} answers everybody; {version} is not tried again ({why}): {retry}apply {serving} or another version"
    return Step(status=case.status, stable=case.stable, obstacle=(reason, said))


def _moved(case: Case) -> Step | None:
    """No gateway could split traffic between two runtimes."""
    if case.stable is None or case.stable.spec.body.runtime is case.workflow.spec.runtime:
        return None
    problems = planning.endpoint_problems(case.stable.spec.body, case.workflow.spec)
    return Step(status=case.status, stable=case.stable, obstacle=("RuntimeChanged", str(problems[0])))


def _shared(case: Case) -> Step | None:
    """Both arms would be answered by the same process."""
    if case.stable is None:
        return None
    problems = planning.endpoint_problems(case.stable.spec.body, case.workflow.spec)
    if not problems:
        return None
    return Step(status=case.status, stable=case.stable, obstacle=("SharedEndpoint", str(problems[0])))


def _passage(case: Case) -> Step | None:
    """A new digest: its revision, and the rollout towards it."""
    if case.stable is None:
        return None
    candidate = revisions.of_digest(case.observed.revisions, case.digest) or _new_revision(case)
    return _start(case, case.stable, candidate, rollback=_may_return(case))


def _may_return(case: Case) -> bool:
    """The wish is the stable before the present one, within the rollback window."""
    last = revisions.promotion_of(case.observed.rollouts, case.status.stable_revision)
    if last is None or last.status is None or last.status.ended_at is None:
        return False
    window = timedelta(seconds=case.workflow.spec.rollout.rollback_window_seconds)
    return last.spec.stable.digest == case.digest and case.now - last.status.ended_at <= window


def _start(case: Case, stable: WorkflowRevision, candidate: WorkflowRevision, *, rollback: bool) -> Step:
    number = revisions.next_rollout(case.observed.rollouts)
    rollout = planning.plan_rollout(case.workflow, stable, candidate, number=number, rollback=rollback)
    known = revisions.named(case.observed.revisions, candidate.metadata.name) is not None
    made: tuple[Act, ...] = () if known else (Apply(candidate),)
    how = "comes back without stages" if rollback else "starts its way to the users"
    said = f"{rollout.metadata.name}: {candidate.spec.version} {how} from {stable.spec.version}"
    key = f"{case.workflow.metadata.uid}/{rollout.metadata.name}"
    told = events.emit(ref_of(case.workflow), "RolloutCreated", said, key=key)
    return _follow(case, rollout, *made, Apply(rollout), told)


def _new_revision(case: Case) -> WorkflowRevision:
    return revisions.new_revision(case.workflow, case.digest, case.observed.revisions)


RULES: Final[tuple[Callable[[Case], Step | None], ...]] = (
    _running,
    _undo,
    _adopt,
    _invalid,
    _reused,
    _first,
    _lost,
    _settled,
    _held_back,
    _moved,
    _shared,
    _passage,
)
"""In order; the first rule that speaks decides. The last but `_lost` and `_first` always speak when stable is known."""


def _route(observed: WorkflowObserved, step: Step, now: datetime) -> tuple[WorkflowStatus, tuple[Act, ...]]:
    """Stable answers everybody, unless a rollout is at work: then the rollout routes."""
    status = step.status
    if step.stable is None or status.rollout is not None:
        version = observed.plan.version if observed.plan is not None else status.plan_version
        return status.model_copy(update={"plan_version": max(version, status.plan_version)}), ()
    stable = routing.body_of(step.stable, observed.workflow.spec)
    rule_sets = fallbacks.carried(observed.rule_sets, (stable,), observed.plan)
    drill = drills.of_plan(observed.workflow.spec, rule_sets)
    wanted = routing.route(step.stable, stable, rule_sets=rule_sets, drill=drill)
    result = routing.program(wanted, observed.plan, known=status.plan_version, moved=False, now=now)
    status = status.model_copy(update={"plan_version": result.version})
    return status, (Route(result.plan),) if result.plan is not None else ()


def _finalizer(workflow: AgentWorkflow) -> tuple[Act, ...]:
    if FINALIZER in workflow.metadata.finalizers:
        return ()
    return (Hold(ref_of(workflow), workflow.metadata.uid or ""),)


def _leave(observed: WorkflowObserved, now: datetime) -> Plan[WorkflowStatus]:
    """Being deleted: the running rollout goes back to stable first (it sees the deletion), then all goes."""
    workflow = observed.workflow
    status = workflow.status or WorkflowStatus(observed_generation=workflow.metadata.generation or 0)
    followed = revisions.rollout_named(observed.rollouts, status.rollout)
    busy = followed is not None and not revisions.is_done(followed)
    status = workflow_report.with_deletion(observed, status, busy=busy, now=now)
    if busy:
        return Plan(status=status, requeue_after=1.0)
    if FINALIZER not in workflow.metadata.finalizers:
        return Plan(status=status)
    gone = Unroute(workflow.metadata.namespace, workflow.metadata.name)
    return Plan(status=status, actions=(gone, Release(ref_of(workflow), workflow.metadata.uid or "")))


def _requeue(status: WorkflowStatus, step: Step) -> float | None:
    if step.running is not None or status.rollout is not None:
        return RUNNING_SECONDS
    return None if status.phase == "Healthy" or step.obstacle is not None else UNSETTLED_SECONDS
