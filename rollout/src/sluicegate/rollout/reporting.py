"""The status of a rollout as people and tools read it, and when it is worth writing."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.contracts.resources.base import Fraction, StatusPhase
from sluicegate.contracts.resources.rollout import DecisionRecord, GateStatus, RolloutStatus
from sluicegate.contracts.stages import Outcome, Signal, State, Verdict
from sluicegate.rollout import conditions, phrases, summaries, table, transitions, verdicts
from sluicegate.rollout.conditions import Wanted, is_true
from sluicegate.rollout.looks import Requirements, Survey
from sluicegate.rollout.model import Delete, Ref, RolloutObserved

MOST_DECISIONS: Final = 50

_NOTHING: Final = Fraction(numerator=0, denominator=1)
_EVERYTHING: Final = Fraction(numerator=1, denominator=1)
NUMBERS: Final[dict[str, object]] = {
    "gates": (),
    "measured": (),
    "samples": 0,
    "needed": None,
    "evidence_digest": None,
    "summary": None,
    "estimated_seconds_to_decision": None,
    "next_evaluation_at": None,
    "numbers_at": None,
    "conditions": (),
}
"""What moves while nothing happens, and what it is without it."""


def with_numbers(
    rollout: WorkflowRollout, status: RolloutStatus, seen: Survey, now: datetime
) -> RolloutStatus:
    """The numbers of this look, for a stage."""
    planned = seen.planned
    if planned is None:
        return status
    found = tuple(verdicts.to_status(finding) for finding in seen.findings)
    units = 0 if seen.evidence is None else seen.evidence.units
    digest = None
    if seen.evidence is not None:
        digest = transitions.evidence_digest(seen.evidence, _without_sentences(found))
    asked = (item.need or 0 for item in seen.findings if item.required and item.signal is not Signal.EXTERNAL)
    needed = max([planned.min_runs, *asked])
    interval = timedelta(seconds=rollout.spec.evaluation_interval_seconds)
    return status.model_copy(
        update={
            "gates": found,
            "measured": seen.measured,
            "samples": units,
            "needed": needed,
            "evidence_digest": digest,
            "estimated_seconds_to_decision": seen.seconds,
            "next_evaluation_at": now + interval
            if transitions.is_due(status.next_evaluation_at, now, interval)
            else status.next_evaluation_at,
            "numbers_at": now,
        }
    )


def with_report(
    observed: RolloutObserved, status: RolloutStatus, seen: Survey, needs: Requirements, now: datetime
) -> RolloutStatus:
    """Phase, share, message and conditions that follow from the state."""
    generation = observed.rollout.metadata.generation or 0
    programmed = status.programmed_version if status.state is State.DONE else observed.programmed
    status = status.model_copy(
        update={
            "observed_generation": generation,
            "phase": _phase(status),
            "share": _share(observed.rollout, status),
            "programmed_version": programmed,
        }
    )
    wanted = tuple(_conditions(observed, status, seen, needs))
    settled = conditions.settle(status.conditions, wanted, generation=generation, now=now)
    return status.model_copy(update={"conditions": settled, "summary": summaries.of_rollout(status)})


def _phase(status: RolloutStatus) -> StatusPhase:
    if status.state is State.DONE:
        healthy = status.outcome in table.CANDIDATE_WINS or status.outcome is Outcome.SUPERSEDED
        return "Healthy" if healthy else "Degraded"
    if status.paused or status.held:
        return "Paused"
    return "Pending" if status.state is State.PENDING else "Progressing"


def _share(rollout: WorkflowRollout, status: RolloutStatus) -> Fraction:
    if status.state in table.STAGES:
        return next(stage.share for stage in rollout.spec.stages if stage.name.value == status.state.value)
    return _EVERYTHING if status.outcome in table.CANDIDATE_WINS else _NOTHING


def _conditions(
    observed: RolloutObserved, status: RolloutStatus, seen: Survey, needs: Requirements
) -> Iterator[Wanted]:
    done = status.state is State.DONE
    won = status.outcome in table.CANDIDATE_WINS
    reason = str(status.outcome) if done and status.outcome is not None else status.state.value
    stuck = _obstacle(observed, status, seen)
    settled = done and (won or status.outcome is Outcome.SUPERSEDED)
    ready = settled if done or stuck is not None else None
    yield Wanted("Ready", ready, reason, status.message)
    waits = _waits(status, seen, needs) or (reason, f"in {status.state}")
    yield Wanted("Reconciling", not done and stuck is None, *waits)
    yield Wanted("Stalled", stuck is not None or _ended_badly(status), *(stuck or (reason, status.message)))
    yield _traffic(observed, status)
    if seen.planned is not None and seen.planned.gates:
        yield from _evidence(seen, needs)
    yield from _people(seen, needs)
    yield Wanted("Paused", status.paused, "PausedByPerson" if status.paused else "NotPaused")
    aborted = status.outcome is Outcome.ABORTED
    yield Wanted("Aborted", aborted, reason if aborted else "NotAborted", status.message if aborted else "")
    yield Wanted("Completed", done, reason, status.message if done else "")


def _people(seen: Survey, needs: Requirements) -> Iterator[Wanted]:
    people, asked = needs.people, seen.planned is not None
    waits = {
        "AwaitingApproval": (asked and not people.approved, "ApprovalsMissing"),
        "AwaitingReview": (asked and not people.reviews_done, "ReviewsMissing"),
    }
    for name, (waiting, reason) in waits.items():
        yield Wanted(name, waiting, reason if waiting else "NotWaiting", people.missing if waiting else "")


def _waits(status: RolloutStatus, seen: Survey, needs: Requirements) -> tuple[str, str] | None:
    """The people who are all that is missing."""
    if status.paused:
        return "PausedByPerson", f"paused in {status.state}; resume goes on"
    if seen.planned is None:
        return None
    unfed = not seen.planned.gates
    if unfed and not needs.lacking:
        return "AwaitingPromotion", f"{status.state} had its time, and no gate is fed: promote or abort"
    if seen.drill is not None and (needs.gates_pass or unfed) and needs.lacking == (seen.drill,):
        return "AwaitingDrill", f"{status.state} waits for a drill of the business fallback: {seen.drill}"
    if (needs.gates_pass or unfed) and needs.lacking == (needs.people.missing,):
        reason = "AwaitingReview" if needs.people.approved else "AwaitingApproval"
        return reason, f"{status.state} waits for people: {needs.people.missing}"
    return None


def _obstacle(observed: RolloutObserved, status: RolloutStatus, seen: Survey) -> tuple[str, str] | None:
    trouble = observed.trouble
    if trouble is not None and trouble.stalls and status.state is not State.DONE:
        return trouble.reason, trouble.message
    if status.held:
        return "Held", f"{status.hold_reason}; override, retry or abort"
    if status.state is State.PENDING and seen.bearings.shared is not None:
        return "SharedEndpoint", seen.bearings.shared
    return None


def _ended_badly(status: RolloutStatus) -> bool:
    return status.state is State.DONE and status.outcome in table.LATCHING


def _traffic(observed: RolloutObserved, status: RolloutStatus) -> Wanted:
    if status.state is State.DONE:
        return is_true("TrafficProgrammed", "Programmed", f"plan {status.plan_version} was followed")
    return conditions.traffic(observed, status.plan_version)


def _evidence(seen: Survey, needs: Requirements) -> Iterator[Wanted]:
    verdict = verdicts.combine(seen.findings)
    open_gates = [item for item in seen.findings if item.required and item.verdict is not Verdict.PASS]
    lacking = "; ".join([*(f"{item.gate}: {item.reason}" for item in open_gates), *needs.lacking])
    enough = verdict in {Verdict.PASS, Verdict.FAIL}
    when = f"; about {phrases.duration(seen.seconds)} at the present rates" if seen.seconds else ""
    yield Wanted("EvidenceSufficient", enough, "Sufficient" if enough else "NeedsMore", lacking + when)
    truth = {Verdict.PASS: True, Verdict.FAIL: False}.get(verdict)
    yield Wanted("AnalysisPassed", truth, verdict.value, open_gates[0].message if open_gates else lacking)


def settle(rollout: WorkflowRollout, status: RolloutStatus, now: datetime) -> RolloutStatus:
    """`status`, or the stored one when nothing but numbers moved and they were written less than an evaluation interval ago.

    Sentences do not count: they are made from the numbers, or from the time that passed ("seen 12 min ago").
    """
    old = rollout.status
    if old is None or _outline(old) != _outline(status):
        return status
    if _numbers(old) == _numbers(status):
        return old
    every = timedelta(seconds=rollout.spec.evaluation_interval_seconds)
    return status if old.numbers_at is None or abs(now - old.numbers_at) >= every else old


def _outline(status: RolloutStatus) -> tuple[object, ...]:
    verdict_of = tuple((gate.name, gate.component, gate.verdict, gate.reason) for gate in status.gates)
    return status.model_copy(update=NUMBERS), conditions.outline(status.conditions), verdict_of


def _numbers(status: RolloutStatus) -> tuple[object, ...]:
    return (
        _without_sentences(status.gates),
        status.measured,
        status.samples,
        status.needed,
        status.evidence_digest,
    )


def _without_sentences(gates: tuple[GateStatus, ...]) -> tuple[dict[str, Any], ...]:
    return tuple({**gate.to_json(), "message": ""} for gate in gates)


def forget(observed: RolloutObserved, status: RolloutStatus) -> tuple[RolloutStatus, tuple[Delete, ...]]:
    """Keep the records of decisions bounded.

    A record goes only after its Decision object has gone, else the decision would be read again; so the
    objects of the oldest records are deleted first. Records of the present stage and attempt always stay.
    """
    excess = len(status.decisions) - MOST_DECISIONS
    if excess <= 0:
        return status, ()
    present = {item.metadata.uid: item for item in observed.decisions}
    old = [record for record in status.decisions if not _counts_now(record, status)][:excess]
    gone = {record.uid for record in old if record.uid not in present}
    deletes = tuple(
        Delete(Ref(kind="Decision", namespace=present[record.uid].metadata.namespace, name=record.name))
        for record in old
        if record.uid in present
    )
    kept = tuple(record for record in status.decisions if record.uid not in gone)
    return status.model_copy(update={"decisions": kept}), deletes


def _counts_now(record: DecisionRecord, status: RolloutStatus) -> bool:
    return record.stage is status.stage and record.attempt == status.attempt and record.result == "Counted"
