"""One look at a stage: every gate, every clock, every person, and the inputs that follow from them."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.evidence import EvidenceKey, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.rollout import PlannedStage, RolloutStatus
from sluicegate.contracts.stages import Action, Stage, State, Verdict
from sluicegate.rollout import (
    arrival,
    decisions,
    drills,
    gates,
    improvement,
    judging,
    measuring,
    phrases,
    planning,
    revisions,
    shares,
    table,
    transitions,
    verdicts,
)
from sluicegate.rollout.approvals import Standing, standing
from sluicegate.rollout.model import RolloutObserved
from sluicegate.rollout.table import Input


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearings:
    """Where the rollout stands between its workflow and its revisions.

    is_current: the workflow follows this rollout, so that it may route. is_wanted: its candidate is still
    what the workflow wishes.
    """

    is_current: bool
    is_wanted: bool
    is_ready: bool  # both revisions exist
    shared: str | None  # stable and candidate would reach the same process


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All that one look sees. `evidence` is of this stage and attempt, or None."""

    bearings: Bearings
    planned: PlannedStage | None
    evidence: StageEvidence | None
    findings: tuple[Finding, ...]
    late: bool
    measured: tuple[Measured, ...] = ()
    seconds: int | None = None  # to a decision, estimated
    drill: str | None = None  # why the drills of the business fallback hold the stage


def take_bearings(observed: RolloutObserved) -> Bearings:
    """Compare the rollout with its workflow; an older read of the workflow never unseats it."""
    spec, workflow = observed.rollout.spec, observed.workflow
    gone = workflow is None or workflow.metadata.uid != spec.workflow_uid
    ready = observed.stable is not None and observed.candidate is not None
    shared = None
    if observed.stable is not None and observed.candidate is not None and not spec.rollback:
        problems = planning.endpoint_problems(observed.stable.spec.body, observed.candidate.spec.body)
        shared = str(problems[0]) if problems else None
    if workflow is None or gone:
        return Bearings(is_current=False, is_wanted=False, is_ready=ready, shared=shared)
    followed = workflow.status is not None and workflow.status.rollout == observed.rollout.metadata.name
    return Bearings(is_current=followed, is_wanted=_is_wanted(observed), is_ready=ready, shared=shared)


def _is_wanted(observed: RolloutObserved) -> bool:
    spec, workflow = observed.rollout.spec, observed.workflow
    if workflow is None or workflow.metadata.deletion_timestamp is not None:
        return False
    made, present = spec.workflow_generation, workflow.metadata.generation or 0
    if present < made or (spec.rollback and present == made):
        return True  # what comes back does so against the wish, as long as nobody wishes anew
    wished = revision_digest(workflow.spec)
    # An undo goes back although the wish still names the version that is undone.
    return wished == spec.candidate.digest or (spec.rollback and wished == spec.stable.digest)


def turns_back(observed: RolloutObserved) -> bool:
    """Whether the stage is left for stable whatever the evidence says: a person aborts, or another version is wished."""
    known = {record.uid for record in observed.rollout.status.decisions} if observed.rollout.status else set()
    aborts = any(
        item.spec.action is Action.ABORT
        and item.spec.target.uid == observed.rollout.metadata.uid
        and item.metadata.uid not in known
        for item in observed.decisions
    )
    return aborts or not take_bearings(observed).is_wanted


def survey(observed: RolloutObserved, status: RolloutStatus, now: datetime) -> Survey:
    """Evaluate every gate of the stage."""
    bearings = take_bearings(observed)
    if status.state not in table.STAGES:
        return Survey(bearings=bearings, planned=None, evidence=None, findings=(), late=False)
    spec, stage = observed.rollout.spec, Stage(status.state.value)
    planned = planning.stage_of(spec, stage)
    evidence = own_evidence(observed, status)
    active = transitions.active_seconds(status, now)
    late = active >= planned.max_duration_seconds
    key = EvidenceKey(observed.rollout.metadata.uid or "", stage, status.attempt)
    measured = measuring.after(status.measured, planned, key, observed.measurements)
    view = judging.View(
        spec=spec,
        stage=planned,
        evidence=evidence,
        now=now,
        late=late,
        measured=measured,
        active_seconds=active,
    )
    findings = gates.evaluate(view)
    return Survey(
        bearings=bearings,
        planned=planned,
        evidence=evidence,
        findings=findings,
        late=late,
        measured=measured,
        drill=drills.blocking(observed.workflow),
        seconds=arrival.to_decision(view, findings, _soaked(planned, evidence, status, now)),
    )


def own_evidence(observed: RolloutObserved, status: RolloutStatus) -> StageEvidence | None:
    """The evidence, when it is of this rollout, stage and attempt; of anything else it is none."""
    evidence = observed.evidence
    key = (observed.rollout.metadata.uid, status.state.value, status.attempt)
    if evidence is None or (evidence.key.rollout, str(evidence.key.stage), evidence.key.attempt) != key:
        return None
    return evidence


def read_people(
    observed: RolloutObserved, status: RolloutStatus, seen: Survey, now: datetime
) -> decisions.Reading:
    """Rule on the new decisions of people."""
    situation = decisions.Situation(
        spec=observed.rollout.spec,
        status=status,
        planned=seen.planned,
        findings=seen.findings,
        now=now,
        sampled=observed.sampled_fallbacks,
        retry_obstacle=_retry_obstacle(observed, status, seen.bearings),
        undo_obstacle=_undo_obstacle(observed),
        superseded=not seen.bearings.is_wanted and status.state not in {State.DONE, State.DRAINING},
        trouble=observed.trouble,
        drill=seen.drill,
        decisions=tuple(
            item for item in observed.decisions if item.spec.target.uid == observed.rollout.metadata.uid
        ),
    )
    return decisions.read(situation)


def _retry_obstacle(observed: RolloutObserved, status: RolloutStatus, bearings: Bearings) -> str | None:
    workflow, spec = observed.workflow, observed.rollout.spec
    if workflow is None or workflow.status is None:
        return "the workflow is gone"
    if spec.rollback:
        return "a rollback is not tried again: apply the version that should be stable"
    if not bearings.is_wanted:
        return "the workflow wishes another version now"
    if status.outcome in table.CANDIDATE_WINS and bearings.is_current:
        return f"{spec.candidate.version} is becoming stable: there is nothing to try again"
    if workflow.status.stable_revision != spec.stable.name:
        return (
            f"stable is {workflow.status.stable_revision} now, this rollout started from {spec.stable.name}"
        )
    if workflow.status.rollout not in {None, observed.rollout.metadata.name}:
        return f"{workflow.status.rollout} is running"
    return None


def _undo_obstacle(observed: RolloutObserved) -> str | None:
    workflow, spec = observed.workflow, observed.rollout.spec
    if workflow is None or workflow.status is None:
        return "the workflow is gone"
    if workflow.status.stable_revision not in {spec.candidate.name, spec.stable.name}:
        return f"stable is {workflow.status.stable_revision} now"
    if workflow.status.stable_revision == spec.stable.name and workflow.status.rollout is None:
        return f"{spec.stable.name} is stable already"
    if workflow.status.rollout not in {None, observed.rollout.metadata.name}:
        return f"{workflow.status.rollout} is running: abort it first"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a stage still lacks before it is passed; the sentences are for people."""

    lacking: tuple[str, ...]
    gates_pass: bool
    people: Standing

    @property
    def met(self) -> bool:
        """Everything holds."""
        return self.gates_pass and not self.lacking


def requirements(seen: Survey, status: RolloutStatus, people: Standing, now: datetime) -> Requirements:
    """Runs AND time AND every required gate AND people."""
    planned, lacking = seen.planned, []
    gates_pass = verdicts.combine(seen.findings) is Verdict.PASS
    if planned is None:
        return Requirements(lacking=(), gates_pass=False, people=people)
    units = 0 if seen.evidence is None else seen.evidence.units
    if units < planned.min_runs:
        lacking.append(f"{units} of {planned.min_runs} units")
    soaked = _soaked(planned, seen.evidence, status, now)
    if soaked < planned.min_duration_seconds:
        lacking.append(f"{phrases.duration(soaked)} of {phrases.duration(planned.min_duration_seconds)}")
    if people.missing:
        lacking.append(people.missing)
    if seen.drill:
        lacking.append(seen.drill)
    return Requirements(lacking=tuple(lacking), gates_pass=gates_pass, people=people)


def _soaked(
    planned: PlannedStage, evidence: StageEvidence | None, status: RolloutStatus, now: datetime
) -> float:
    """Where no gate asks for units, the candidate is taken as seen from the start of the stage."""
    if not planning.asks_for_units(planned):
        return transitions.active_seconds(status, now)
    return transitions.soaked_seconds(status, evidence, now)


def hold(seen: Survey, status: RolloutStatus, needs: Requirements) -> RolloutStatus:
    """Set the sticky hold where a person is needed; it is only lifted by a move."""
    if seen.planned is None or status.held:
        return status
    failed = verdicts.failed(seen.findings, "Hold")
    if failed:
        return status.model_copy(update={"held": True, "hold_reason": verdicts.sentence(failed)})
    alarm = shares.mismatch(seen.findings) or improvement.unconfirmed(seen.findings)
    if alarm is not None:
        return status.model_copy(update={"held": True, "hold_reason": f"{alarm.reason}: {alarm.message}"})
    if not seen.late or needs.met or _only_approvals_lack(needs):
        return status
    said = [item.message for item in seen.findings if item.required and item.verdict is not Verdict.PASS]
    lacking = [*said[:1], *needs.lacking] or ["no gate is fed, and nobody promoted"]
    reason = f"inconclusive at the deadline: {'; '.join(lacking)}"
    return status.model_copy(update={"held": True, "hold_reason": reason})


def _only_approvals_lack(needs: Requirements) -> bool:
    people = needs.people
    return needs.gates_pass and len(needs.lacking) == 1 and not people.approved and people.reviews_done


def inputs(
    observed: RolloutObserved, status: RolloutStatus, seen: Survey, needs: Requirements, now: datetime
) -> frozenset[Input]:
    """Everything that arose in this look, but for the people's acts."""
    found = set()
    if not seen.bearings.is_wanted or _is_passed_over(observed, status):
        found.add(Input.SUPERSEDE)
    if status.state is State.PENDING:
        found |= _pending(observed, status, seen.bearings)
    elif status.state is State.DRAINING and is_drained(observed, status, seen.bearings, now):
        found.add(Input.DRAINED)
    elif status.state in table.STAGES:
        every = timedelta(seconds=observed.rollout.spec.evaluation_interval_seconds)
        due = transitions.is_due(status.next_evaluation_at, now, every)
        stalled = observed.trouble is not None and observed.trouble.stalls
        found |= _staged(status, seen, needs, due=due, stalled=stalled)
    return frozenset(found)


def _is_passed_over(observed: RolloutObserved, status: RolloutStatus) -> bool:
    """Tried again at the same time as a newer rollout started, or stable moved on before its turn came."""
    workflow = observed.workflow
    if status.state is not State.PENDING or workflow is None or workflow.status is None:
        return False
    followed = workflow.status.rollout
    if followed is None:
        return status.attempt > 1 and workflow.status.stable_revision != observed.rollout.spec.stable.name
    return revisions.number_in(followed) > revisions.number_of(observed.rollout)


def _pending(observed: RolloutObserved, status: RolloutStatus, bearings: Bearings) -> set[Input]:
    stalled = observed.trouble is not None and observed.trouble.stalls
    ready = (
        bearings.is_current
        and bearings.is_ready
        and bearings.shared is None
        and not status.paused
        and not (stalled and not observed.rollout.spec.rollback)
    )
    if not ready:
        return set()
    return {Input.ROLLBACK if observed.rollout.spec.rollback else Input.START}


def _staged(
    status: RolloutStatus, seen: Survey, needs: Requirements, *, due: bool, stalled: bool
) -> set[Input]:
    found = set()
    if verdicts.failed(seen.findings, "Abort"):
        found.add(Input.FAIL)
    if status.held or status.paused or stalled:
        return found
    if needs.met and due:
        found.add(Input.PASS)
    if seen.late and _only_approvals_lack(needs):
        found.add(Input.EXPIRE)
    return found


DRAIN_LIMIT = timedelta(seconds=120)
"""Twice the candidate's lease: after it a gateway that does not answer serves stable by itself."""


def is_drained(observed: RolloutObserved, status: RolloutStatus, bearings: Bearings, now: datetime) -> bool:
    """Every live gateway follows the last plan, or had long enough to fall back by its lease.

    Traffic that nothing takes back by itself is waited for without limit, unless the workflow is to go.
    """
    if not bearings.is_current:
        return True  # it never routed, or another has taken over
    going = observed.workflow is not None and observed.workflow.metadata.deletion_timestamp is not None
    lasting = observed.trouble is not None and observed.trouble.lasting and not going
    if lasting:
        return False
    if status.draining_since is not None and now - status.draining_since >= DRAIN_LIMIT:
        return True
    plan = observed.plan
    if plan is None or plan.version < status.plan_version or plan.candidate is not None:
        return False
    return observed.live_gateways == 0 or observed.programmed >= plan.version


def with_people(
    seen: Survey, reading: decisions.Reading, observed: RolloutObserved, now: datetime
) -> Standing:
    """Approvals and reviews after this look's decisions."""
    if seen.planned is None:
        return Standing()
    return standing(
        seen.planned, reading.status, observed.decisions, sampled=len(observed.sampled_fallbacks), now=now
    )
