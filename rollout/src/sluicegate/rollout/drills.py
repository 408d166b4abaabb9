"""Drills of the business fallback: when they are, how the last one went, what is said of it, what waits for it. Pure.

A drill is one window of a schedule: the workflow's own, else that of its rule set. Its report is made of the runs that
gateways rehearsed in it; a window without one is no drill, so that a silent workflow has drills that are overdue, not failed.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from sluicegate.contracts import schedules
from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.base import Condition
from sluicegate.contracts.resources.escalation import Drill
from sluicegate.contracts.resources.fallback import DrillReport
from sluicegate.contracts.resources.workflow import Runtime, WorkflowSpec, WorkflowStatus
from sluicegate.contracts.routes import DrillBody, RuleSetBody
from sluicegate.contracts.schedules import Schedule, Window
from sluicegate.rollout import conditions, events, phrases, routing
from sluicegate.rollout.conditions import Wanted, is_false, is_true
from sluicegate.rollout.model import Emit, WorkflowObserved, ref_of

PASSING: Final = "DrillsPassing"
FAILED: Final = "DrillFailed"
OVERDUE: Final = "DrillOverdue"
GRACE: Final = timedelta(seconds=60)
"""After the end of a drill: for runs that began in it and are not stored yet."""
LOOK_SECONDS: Final = 60.0
"""Between two looks at a drill that goes on."""
MOST_SECONDS: Final = 3600.0
_NOTHING: Final[dict[str, Any]] = {
    "last_drill": None,
    "last_passed_drill_at": None,
    "next_drill_at": None,
}


def wished(workflow: WorkflowSpec, bodies: Iterable[RuleSetBody]) -> Drill | None:
    """The workflow's own drill, else that of its rule set, which blocks nothing. bodies: of the plan."""
    fallback = workflow.business_fallback
    if fallback is None or workflow.runtime is Runtime.SERVICE:
        return None
    if fallback.drill is not None:
        return fallback.drill
    said = next((one.spec.get("drill") for one in bodies if one.name == fallback.rule_set), None)
    return None if said is None else Drill.model_validate(said)


def of_plan(workflow: WorkflowSpec, bodies: Iterable[RuleSetBody]) -> DrillBody | None:
    """As the gateway reads it."""
    drill = wished(workflow, bodies)
    if drill is None:
        return None
    share = routing.share_of(drill.share)
    return DrillBody(schedule=drill.to_schedule(), share=share, mirrored=drill.mirrored)


def look(observed: WorkflowObserved, now: datetime) -> DrillLook | None:
    """What to ask of the stored runs; None: nothing, now."""
    drill, workflow = _of(observed), observed.workflow
    if drill is None or _unreadable(drill):
        return None
    report = None if workflow.status is None else workflow.status.last_drill
    window = _window(drill.to_schedule(), report, now)
    if window is None:
        return None
    return DrillLook(namespace=workflow.metadata.namespace, workflow=workflow.metadata.name, window=window)


def reported(observed: WorkflowObserved, status: WorkflowStatus, now: datetime) -> WorkflowStatus:
    """The status with what is known of drills."""
    drill, found = _of(observed), observed.drill
    if drill is None or _unreadable(drill):
        return status.model_copy(update=_NOTHING if drill is None else {"next_drill_at": None})
    report = status.last_drill if found is None else _report(found, status.last_drill, now)
    has_passed = report is not None and report.passed
    return status.model_copy(
        update={
            "last_drill": report,
            "last_passed_drill_at": report.ended_at if report and has_passed else status.last_passed_drill_at,
            "next_drill_at": drill.to_schedule().following(now),
        }
    )


def wanted(observed: WorkflowObserved, status: WorkflowStatus, now: datetime) -> Iterator[Wanted]:
    """DrillsPassing, of a workflow that has drills. status: after `reported`."""
    drill = _of(observed)
    if drill is None:
        return
    wrong = _unreadable(drill)
    yield is_false(PASSING, "ScheduleUnreadable", wrong) if wrong else _verdict(drill, status, now)


def without(known: tuple[Condition, ...], observed: WorkflowObserved) -> tuple[Condition, ...]:
    """What was said of drills that are no more goes."""
    return known if _of(observed) is not None else tuple(one for one in known if one.type != PASSING)


def alarms(observed: WorkflowObserved, status: WorkflowStatus) -> Iterator[Emit]:
    """One event for each drill that failed, and when drills become overdue. status: after this look."""
    found = conditions.find(status.conditions, PASSING)
    if found is None or found.status != "False" or found.reason not in {FAILED, OVERDUE}:
        return
    old = observed.workflow.status
    before = None if old is None else conditions.find(old.conditions, PASSING)
    if found.reason == FAILED and not _fails(status.last_drill):
        return  # an earlier one, while the next goes on
    about = _place(status, found.reason)
    if old is None or before is None or (before.reason, _place(old, before.reason)) != (found.reason, about):
        key = f"{observed.workflow.metadata.uid}/{about}"
        yield events.emit(ref_of(observed.workflow), found.reason, found.message, key=key, bad=True)


def is_news(observed: WorkflowObserved, status: WorkflowStatus) -> bool:
    """Whether a look changed what is known of drills, so that the rule set has to tell it too."""
    old = observed.workflow.status or WorkflowStatus()
    return any(getattr(old, name) != getattr(status, name) for name in _NOTHING)


def seconds_to_look(observed: WorkflowObserved, status: WorkflowStatus, now: datetime) -> float | None:
    """Until something of drills has to be looked at; None: there are none."""
    drill = _of(observed)
    if drill is None or _unreadable(drill):
        return None
    waits = [MOST_SECONDS]
    window = _window(drill.to_schedule(), status.last_drill, now)
    if window is not None and now < window.closes + GRACE:
        waits.append(min(LOOK_SECONDS, _seconds(window.closes + GRACE - now)))
    if status.next_drill_at is not None:
        waits.append(_seconds(status.next_drill_at - now))
    since = _since(status)
    if since is not None and now <= since + timedelta(seconds=drill.overdue_after_seconds):
        waits.append(_seconds(since + timedelta(seconds=drill.overdue_after_seconds) - now))
    return min(waits)


def blocking(workflow: AgentWorkflow | None) -> str | None:
    """Why no rollout of the workflow may advance now."""
    fallback = None if workflow is None else workflow.spec.business_fallback
    if workflow is None or workflow.status is None or fallback is None or fallback.drill is None:
        return None
    found = conditions.find(workflow.status.conditions, PASSING)
    if not fallback.drill.blocks_promotion or found is None or found.status != "False":
        return None
    return f"{found.reason}: {found.message}"


def _of(observed: WorkflowObserved) -> Drill | None:
    plan = observed.plan
    fresh = (one.body for one in observed.rule_sets if one.body is not None)
    return wished(observed.workflow.spec, (*fresh, *(() if plan is None else plan.rule_sets)))


def _unreadable(drill: Drill) -> str:
    """What is wrong with the schedule, as it is known here; empty when nothing is."""
    return "; ".join(map(str, schedules.problems(drill.to_schedule(), "drill")))


def _window(schedule: Schedule, report: DrillReport | None, now: datetime) -> Window | None:
    """The drill that is not reported to its end, else one that ended a moment ago, else the newest; none that has a report."""
    if report is not None and report.ended_at is None:
        return schedule.window(report.started_at)
    ended, newest = schedule.newest(now - GRACE), schedule.newest(now)
    if ended is not None and now < ended.closes + GRACE and _is_new(ended, report):
        return ended
    return newest if newest is not None and _is_new(newest, report) else None


def _is_new(window: Window, report: DrillReport | None) -> bool:
    return report is None or report.started_at < window.opens


def _report(found: DrillCounts, before: DrillReport | None, now: datetime) -> DrillReport | None:
    """Written when the first run came, when the first one failed, and at the end; not with every run."""
    window, is_over = found.look.window, now >= found.look.window.closes + GRACE
    same = before if before is not None and before.started_at == window.opens else None
    if same is None and not found.runs:
        return before
    if same is not None and not is_over and _fails(same) == (found.answered < found.runs):
        return before
    # A store that lost runs makes no report forget what was seen.
    known = found if same is None or found.runs >= same.runs else same
    return DrillReport(
        started_at=window.opens,
        ended_at=window.closes if is_over else None,
        runs=known.runs,
        answered=known.answered,
        invalid=known.invalid,
        passed=is_over and known.answered == known.runs,
        failed_run=known.failed_run,
    )


def _fails(report: DrillReport | None) -> bool:
    return report is not None and report.answered < report.runs


def _verdict(drill: Drill, status: WorkflowStatus, now: datetime) -> Wanted:
    report, before, since = status.last_drill, conditions.find(status.conditions, PASSING), _since(status)
    if report is not None and _fails(report):
        return is_false(PASSING, FAILED, _failure(report))
    if since is not None and now - since > timedelta(seconds=drill.overdue_after_seconds):
        return is_false(PASSING, OVERDUE, _lateness(drill, status, since))
    if report is not None and report.passed:
        said = f"the drill of {_text(report.started_at)}: the rules answered all of {report.runs} runs"
        return is_true(PASSING, "DrillPassed", said)
    if before is not None and before.status != "Unknown" and before.reason != "ScheduleUnreadable":
        return Wanted(PASSING, before.status == "True", before.reason, before.message)
    begins = "never" if status.next_drill_at is None else f"at {_text(status.next_drill_at)}"
    return Wanted(PASSING, None, "DrillPending", f"no drill has passed yet; the next begins {begins}")


def _since(status: WorkflowStatus) -> datetime | None:
    """From when on a drill is waited for: the last that passed, else since there are drills; None: it is overdue, or failed."""
    if status.last_passed_drill_at is not None:
        return status.last_passed_drill_at
    found = conditions.find(status.conditions, PASSING)
    return found.last_transition_time if found is not None and found.status == "Unknown" else None


def _failure(report: DrillReport) -> str:
    failed = report.runs - report.answered
    kept = "" if not report.invalid else f", {report.invalid} of them one that breaks a contract"
    return (
        f"the drill of {_text(report.started_at)}: the rules had no valid answer to {failed} of {report.runs} runs{kept} "
        f"(run {report.failed_run})"
    )


def _lateness(drill: Drill, status: WorkflowStatus, since: datetime) -> str:
    most = phrases.duration(drill.overdue_after_seconds)
    what = "no drill has passed" if status.last_passed_drill_at is None else "the last drill passed"
    when = f"since {_text(since)}" if status.last_passed_drill_at is None else f"at {_text(since)}"
    return f"{what} {when}; one is due every {most}"


def _place(status: WorkflowStatus, reason: str) -> str:
    """Which drill failed, or since when one is waited for."""
    report = status.last_drill
    at = status.last_passed_drill_at
    if reason == FAILED and report is not None and _fails(report):
        at = report.started_at
    return "" if at is None else at.isoformat()


def _seconds(span: timedelta) -> float:
    return max(span.total_seconds(), 1.0)


def _text(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
