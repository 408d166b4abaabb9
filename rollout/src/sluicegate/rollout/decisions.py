"""People's acts on a rollout: each Decision is read once, in order of precedence, and leaves a record.

Abort comes before every other act of the same look, whenever it was made. One act moves the rollout per look; the
others are refused, so that two promotes of the same second advance one stage.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources import Decision
from sluicegate.contracts.resources.rollout import (
    DecisionRecord,
    PlannedStage,
    RolloutSpec,
    RolloutStatus,
)
from sluicegate.contracts.stages import Action, Outcome, Stage, State, Verdict
from sluicegate.rollout import table, verdicts
from sluicegate.rollout.approvals import Standing, standing
from sluicegate.rollout.model import Trouble
from sluicegate.rollout.table import Input

ORDER: Final = (
    Action.ABORT,
    Action.REJECT,
    Action.UNDO,
    Action.PAUSE,
    Action.RESUME,
    Action.APPROVE,
    Action.REVIEW,
    Action.RETRY,
    Action.OVERRIDE,
    Action.PROMOTE,
)
"""Precedence of acts that arrive in the same look; within one action, the older first."""

PINNED: Final = {
    Action.PROMOTE: ("candidate", "stage", "attempt"),
    Action.OVERRIDE: ("candidate", "stage", "attempt"),
    Action.APPROVE: ("candidate", "stage", "attempt"),
    Action.RETRY: ("candidate", "attempt"),
}
"""What a decision has to say it expects: without it, an act meant for one stage could be used in the next."""

UNPINNED: Final = {Action.ABORT: ("stage", "attempt")}
"""Expectations that do not bind: an abort made a moment before a stage was left still aborts."""

HASTE: Final = timedelta(seconds=1)
"""Two promotes this close are one wish: the second of two hands, or of a double click, passes no further stage."""

REASONED: Final = frozenset({Action.OVERRIDE, Action.REJECT})
"""Acts that need a reason; so does a full promote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The rollout as the people's acts meet it.

    retry_obstacle, undo_obstacle: why the finished rollout can no longer be tried again or taken back.
    superseded: another wish has come, the rollout is on its way out. drill: why drills hold the stage.
    """

    spec: RolloutSpec
    status: RolloutStatus
    planned: PlannedStage | None
    findings: tuple[Finding, ...]
    now: datetime
    sampled: frozenset[str] = frozenset()
    retry_obstacle: str | None = None
    undo_obstacle: str | None = None
    superseded: bool = False
    trouble: Trouble | None = None
    drill: str | None = None
    decisions: tuple[Decision, ...] = ()
    taken: str | None = None  # the act that moves the rollout in this look

    @property
    def people(self) -> Standing:
        """Approvals and reviews, with those counted in this look."""
        if self.planned is None:
            return Standing()
        return standing(self.planned, self.status, self.decisions, sampled=len(self.sampled), now=self.now)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The planned ones."""
        return tuple(stage.name for stage in self.spec.stages)


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer to one act. cause: what it does to the state; change: what it changes beside the state."""

    result: str
    message: str = ""
    cause: Input | None = None
    change: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """All acts of a look: the status with their records and flags, and the input of the one that moves."""

    status: RolloutStatus
    cause: Input | None
    by: str  # "Promote by alice"
    reason: str
    records: tuple[DecisionRecord, ...]


def read(situation: Situation) -> Reading:
    """Rule on every decision that was not read before."""
    used = {record.uid for record in situation.status.decisions}
    fresh = [item for item in situation.decisions if item.metadata.uid and item.metadata.uid not in used]
    cause, by, reason = None, "", ""
    records: list[DecisionRecord] = []
    for decision in sorted(fresh, key=_order):
        ruling = rule(situation, decision)
        record = _record(situation, decision, ruling)
        records.append(record)
        status = situation.status.model_copy(
            update={**(ruling.change or {}), "decisions": (*situation.status.decisions, record)}
        )
        situation = replace(situation, status=status)
        if ruling.cause is not None:
            cause, reason = ruling.cause, decision.spec.reason
            by = f"{decision.spec.action} by {decision.spec.decided_by}"
            situation = replace(situation, taken=by)
    return Reading(situation.status, cause, by, reason, tuple(records))


def _order(decision: Decision) -> tuple[int, str, str]:
    created = decision.metadata.creation_timestamp
    stamp = "" if created is None else created.isoformat()
    return ORDER.index(decision.spec.action), stamp, decision.metadata.name


def _record(situation: Situation, decision: Decision, ruling: Ruling) -> DecisionRecord:
    spec, review = decision.spec, decision.spec.review
    return DecisionRecord.model_validate(
        {
            "uid": decision.metadata.uid,
            "name": decision.metadata.name,
            "action": spec.action,
            "decided_by": spec.decided_by,
            "result": ruling.result,
            "message": ruling.message,
            "at": situation.now,
            "stage": situation.planned.name if situation.planned is not None else None,
            "attempt": situation.status.attempt,
            "verdict": review.verdict if review is not None else None,
            "subject": review.subject if review is not None else None,
        }
    )


def rule(situation: Situation, decision: Decision) -> Ruling:
    """The common checks, then the action's own rule."""
    expires_at = decision.spec.expires_at
    if expires_at is not None and expires_at <= situation.now:
        return Ruling("Expired", f"expired at {expires_at:%Y-%m-%dT%H:%M:%SZ}")
    mismatch = mismatch_of(situation.spec, situation.status, decision)
    if mismatch is not None:
        return _refused(mismatch)
    if decision.spec.action in REASONED and not decision.spec.reason.strip():
        return _refused("a reason is needed")
    if situation.taken is not None:
        return _refused(f"{situation.taken} came first")
    if situation.superseded and decision.spec.action not in {Action.ABORT, Action.REJECT}:
        return _refused("the workflow wishes another version now")
    return RULES[decision.spec.action](situation, decision)


def mismatch_of(spec: RolloutSpec, status: RolloutStatus, decision: Decision) -> str | None:
    """Why the decision was made for something else than what is now; None when it fits."""
    action, expected = decision.spec.action, decision.spec.expected
    actual = {"candidate": spec.candidate.digest, "stage": status.stage, "attempt": status.attempt}
    for name, value in actual.items():
        wanted = getattr(expected, name)
        if wanted is None:
            if value is not None and name in PINNED.get(action, ()):
                return f"expected.{name} is missing: a {action} must say for which {name} it is meant"
        elif wanted != value and name not in UNPINNED.get(action, ()):
            return f"made for {name} {wanted}, now it is {value}"
    return None


def _refused(message: str) -> Ruling:
    return Ruling("Refused", message)


def _moves(situation: Situation, cause: Input) -> bool:
    return table.move(situation.status.state, cause, situation.stages) is not None


def _in_stage(situation: Situation) -> bool:
    return situation.planned is not None


def _abort(situation: Situation, _decision: Decision) -> Ruling:
    status = situation.status
    if status.state is State.DONE and status.outcome in table.CANDIDATE_WINS:
        return _refused(f"nothing to abort: it has ended {status.outcome}; undo takes a promotion back")
    if status.state is State.DONE:
        return Ruling("Applied", f"all traffic is on stable already: {status.outcome}")
    if status.state is State.DRAINING and status.outcome not in table.CANDIDATE_WINS:
        return Ruling("Applied", f"already on the way to stable: {status.outcome}")
    return Ruling("Applied", "all traffic goes back to stable", Input.ABORT)


def _reject(situation: Situation, _decision: Decision) -> Ruling:
    if not _moves(situation, Input.REJECT):
        return _refused(f"nothing to reject in {situation.status.state}")
    return Ruling("Applied", "the candidate is rejected", Input.REJECT)


def _undo(situation: Situation, _decision: Decision) -> Ruling:
    status = situation.status
    if _moves(situation, Input.UNDO):
        return Ruling("Applied", "the candidate is taken back", Input.UNDO)
    if status.state is not State.DONE or status.outcome not in {Outcome.PROMOTED, Outcome.FAST_PROMOTED}:
        return _refused(f"nothing to undo in {status.state} {status.outcome or ''}".rstrip())
    window = timedelta(seconds=situation.spec.rollback_window_seconds)
    if status.ended_at is None or situation.now - status.ended_at > window:
        return _refused(f"the rollback window of {window} is over: apply the earlier version instead")
    if situation.undo_obstacle is not None:
        return _refused(situation.undo_obstacle)
    return Ruling("Applied", f"{situation.spec.stable.version} comes back without stages")


def _pause(situation: Situation, _decision: Decision) -> Ruling:
    if situation.status.state not in {State.PENDING, *table.STAGES}:
        return _refused(f"nothing to pause in {situation.status.state}")
    if situation.status.paused:
        return _refused("already paused")
    change = {"paused": True, "paused_since": situation.now}
    return Ruling("Applied", "the candidate's share stays, nothing advances", change=dict(change))


def _resume(situation: Situation, _decision: Decision) -> Ruling:
    status = situation.status
    if not status.paused:
        return _refused("not paused" if not status.held else "held, not paused: override, retry or abort")
    return Ruling("Applied", "resumed", change=resumed(status, situation.now))


def resumed(status: RolloutStatus, now: datetime) -> dict[str, object]:
    """The pause flags after a pause that ends now."""
    since = status.paused_since or now
    seconds = max(0, round((now - since).total_seconds()))
    return {"paused": False, "paused_since": None, "paused_seconds": status.paused_seconds + seconds}


def _approve(situation: Situation, decision: Decision) -> Ruling:
    planned, by = situation.planned, decision.spec.decided_by
    if planned is None:
        return _refused(f"nothing to approve in {situation.status.state}")
    if planned.approvals is None:
        return _refused(f"{planned.name} asks for no approval")
    if by == situation.spec.changed_by and not planned.approvals.allow_author:
        return _refused(f"{by} made the change and may not approve it")
    if by in situation.people.people:
        return _refused(f"{by} has approved already; one person counts once")
    return Ruling("Counted", f"{len(situation.people.people) + 1} of {planned.approvals.required} approvals")


def _review(situation: Situation, decision: Decision) -> Ruling:
    planned, review = situation.planned, decision.spec.review
    if review is None:
        return _refused("spec.review is missing")
    if planned is None:
        return _refused(f"nothing to review in {situation.status.state}")
    if planned.review_fallbacks == 0:
        return _refused(f"{planned.name} asks for no review")
    if review.subject not in situation.sampled:
        return _refused(f"no fallback of {review.component} in run {review.run_id} was sampled for review")
    if any(
        record.subject == review.subject
        and record.result == "Counted"
        and record.attempt == situation.status.attempt
        for record in situation.status.decisions
    ):
        return _refused(f"the fallback of {review.component} in run {review.run_id} was judged already")
    if review.verdict == "Acceptable":
        return Ruling("Counted", "acceptable")
    message = f"{decision.spec.decided_by} found the fallback of {review.component} in run {review.run_id} unacceptable"
    return Ruling("Counted", "unacceptable", change={"held": True, "hold_reason": message})


def _retry(situation: Situation, _decision: Decision) -> Ruling:
    status = situation.status
    if not _moves(situation, Input.RETRY):
        return _refused(f"nothing to retry in {status.state}")
    stalled = situation.trouble is not None and situation.trouble.stalls
    if status.state is not State.DONE and not (status.held or stalled or _is_inconclusive(situation)):
        return _refused(f"{status.state} is not held: there is nothing to try again")
    if status.state is State.DONE and situation.retry_obstacle is not None:
        return _refused(situation.retry_obstacle)
    return Ruling("Applied", f"attempt {status.attempt + 1} starts at the first stage", Input.RETRY)


def _is_inconclusive(situation: Situation) -> bool:
    return verdicts.combine(situation.findings) in {Verdict.INCONCLUSIVE, Verdict.ERROR}


def _override(situation: Situation, _decision: Decision) -> Ruling:
    if not _in_stage(situation):
        return _refused(f"nothing to override in {situation.status.state}")
    failed = verdicts.failed(situation.findings, "Abort")
    if failed:
        return _refused(f"it is about to abort: {verdicts.sentence(failed)}")
    if not (situation.status.held or _is_inconclusive(situation)):
        return _refused("the stage is not held: use promote")
    return _past_people(situation) or Ruling(
        "Applied", f"{situation.status.state} is left without a pass", Input.OVERRIDE
    )


def _past_people(situation: Situation) -> Ruling | None:
    """No act of one person replaces the agreement of others."""
    if situation.status.paused:
        return _refused("paused: resume first")
    if situation.trouble is not None:
        return _refused(f"traffic is not as the stage asks: {situation.trouble.message}")
    missing = situation.people.missing
    return _refused(f"{situation.status.state} still waits: {missing}") if missing else None


def _past_drills(situation: Situation) -> Ruling | None:
    if situation.drill is None:
        return None
    return _refused(
        f"{situation.drill}; a drill that passes, or drill.blocksPromotion: false in the workflow, ends that"
    )


def _too_soon(situation: Situation, decision: Decision) -> Ruling | None:
    """Whoever decides has had no time to see the stage. Times of creation are whole seconds, rounded down."""
    created, moves = decision.metadata.creation_timestamp, {Action.PROMOTE, Action.OVERRIDE}
    for record in situation.status.decisions:
        if record.action not in moves or record.result != "Applied" or created is None:
            continue
        if record.attempt == situation.status.attempt and abs(created - record.at) < HASTE:
            stage = situation.status.state
            return _refused(
                f"{record.action} by {record.decided_by} began {stage} a moment ago: look, then decide again"
            )
    return None


def _promote(situation: Situation, decision: Decision) -> Ruling:
    status = situation.status
    if not _in_stage(situation):
        return _refused(f"nothing to promote in {status.state}")
    failed = verdicts.failed(situation.findings)
    if failed:
        return _refused(verdicts.sentence(failed))
    if status.held or _is_inconclusive(situation):
        return _refused(
            f"held: {status.hold_reason or 'the stage is inconclusive'}; use override with a reason"
        )
    blocked = _past_people(situation) or _past_drills(situation) or _too_soon(situation, decision)
    if blocked is not None:
        return blocked
    if decision.spec.full:
        return _promote_full(situation, decision)
    return Ruling("Applied", f"{status.state} is left before its time", Input.PROMOTE)


def _promote_full(situation: Situation, decision: Decision) -> Ruling:
    if not decision.spec.reason.strip():
        return _refused("a full promote needs a reason")
    order = list(Stage)
    here = order.index(Stage(situation.status.state.value))
    for planned in situation.spec.stages:
        if order.index(planned.name) > here and planned.approvals is not None:
            return _refused(
                f"{planned.name} needs {planned.approvals.required} approvals: promote stage by stage"
            )
    return Ruling("Applied", "past all stages", Input.PROMOTE_FULL)


RULES: Final[dict[Action, Callable[[Situation, Decision], Ruling]]] = {
    Action.ABORT: _abort,
    Action.REJECT: _reject,
    Action.UNDO: _undo,
    Action.PAUSE: _pause,
    Action.RESUME: _resume,
    Action.APPROVE: _approve,
    Action.REVIEW: _review,
    Action.RETRY: _retry,
    Action.OVERRIDE: _override,
    Action.PROMOTE: _promote,
}
