"""Whose drill it is, and what people may do while it holds a rollout."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.drills import DrillCounts
from sluicegate.contracts.resources import Decision
from sluicegate.contracts.resources.base import Condition
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.resources.workflow import WorkflowSpec, WorkflowStatus
from sluicegate.contracts.routes import RuleSetBody, Share
from sluicegate.contracts.stages import Action, Stage, State
from sluicegate.rollout import conditions, drills
from sluicegate.rollout.model import WorkflowObserved
from sluicegate.rollout.rollouts import reconcile_rollout
from sluicegate.rollout.wishes import Step
from sluicegate.rollout.workflow_report import with_report
from tests.rollout.samples import (
    SHORT,
    STABLE,
    T0,
    decision,
    good_evidence,
    in_stage,
    later,
    observed,
    remember,
    workflow,
    workflow_spec,
)

OWN = {"schedule": "0 * * * *", "durationSeconds": 600, "overdueAfterSeconds": 7200}
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def body(drill: dict[str, Any] | None) -> RuleSetBody:
    spec: dict[str, Any] = {} if drill is None else {"drill": drill}
    return RuleSetBody(name="care", version="1", digest="sha256:" + "0" * 64, spec=spec)


@pytest.mark.parametrize(
    ("sentence", "own", "of_rules", "hour"),
    [
        ("its own", {"schedule": "0 1 * * *"}, None, "0 1 * * *"),
        (
            "its own, whatever the rule set says",
            {"schedule": "0 1 * * *"},
            {"schedule": "0 2 * * *"},
            "0 1 * * *",
        ),
        ("that of the rule set", None, {"schedule": "0 2 * * *"}, "0 2 * * *"),
        ("none", None, None, None),
    ],
)
def test_a_workflow_follows(
    sentence: str, own: dict[str, Any] | None, of_rules: dict[str, Any] | None, hour: str | None
) -> None:
    fallback = {"ruleSet": "care"} | ({} if own is None else {"drill": own})
    made = WorkflowSpec.model_validate(workflow_spec("1").to_json() | {"businessFallback": fallback})
    others = (replace(body({"schedule": "0 3 * * *"}), name="other"),)
    found = drills.of_plan(made, (*others, body(of_rules)))
    assert (None if found is None else found.schedule.cron) == hour, sentence
    assert found is None or (found.share, found.mirrored) == (Share(1, 100), True)


def of(status: WorkflowStatus | None = None, **drill: Any) -> WorkflowObserved:
    fallback = {"ruleSet": "care", "drill": OWN | drill}
    spec = WorkflowSpec.model_validate(
        workflow_spec("2.0.0", **SHORT).to_json() | {"businessFallback": fallback}
    )
    item = workflow(spec)
    return WorkflowObserved(workflow=item.model_copy(update={"status": status}))


def looked(status: WorkflowStatus, counts: tuple[int, int], now: datetime) -> WorkflowStatus:
    """One look, in which the store knows (runs, answered) of whatever drill is asked for."""
    seen, (runs, answered) = of(status), counts
    asked = drills.look(seen, now)
    if asked is not None:
        counted = DrillCounts(look=asked, runs=runs, answered=min(answered, runs), failed_run="r")
        seen = replace(seen, drill=counted)
    after = drills.reported(seen, status, now)
    return with_report(seen, after, Step(status=after), "", now)


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=25)
)
def test_whatever_happens_the_report_only_moves_forward_and_passes_only_when_all_were_answered(
    looks: list[tuple[int, int, int]],
) -> None:
    status, now = WorkflowStatus(), NOON
    for seconds, runs, answered in looks:
        now += timedelta(seconds=seconds)
        before, status = status, looked(status, (runs, answered), now)
        report, passing = status.last_drill, conditions.find(status.conditions, drills.PASSING)
        assert passing is not None
        assert before.last_drill is None or (
            report is not None and report.started_at >= before.last_drill.started_at
        )
        assert status.next_drill_at is not None
        assert now < status.next_drill_at <= now + timedelta(hours=1)
        if report is not None:
            assert report.started_at <= now
            assert report.runs > 0
            assert report.passed is (report.ended_at is not None and report.runs == report.answered)
            assert report.ended_at is None or now >= report.ended_at + drills.GRACE
        if passing.status == "True":
            assert status.last_passed_drill_at is not None
            assert now - status.last_passed_drill_at <= timedelta(seconds=7200)
            assert report is None or report.answered == report.runs
        # The same look again says nothing new, unless it begins another drill.
        if drills.look(of(status), now) is None:
            assert looked(status, (runs, answered), now) == status


@given(st.integers(0, 7200))
def test_the_next_look_is_never_far_while_a_drill_goes_on_and_never_at_once(seconds: int) -> None:
    now = NOON + timedelta(seconds=seconds)
    wait = drills.seconds_to_look(of(WorkflowStatus()), looked(WorkflowStatus(), (0, 0), now), now)
    assert wait is not None
    assert 1.0 <= wait <= 3600.0
    minutes = seconds % 3600 / 60
    if minutes < 11:
        assert wait <= 60.0


def holding(*acts: Decision, blocks: bool = True, held: bool = False) -> RolloutStatus:
    """A canary whose gates pass, behind a drill that failed."""
    failed = Condition(
        type=drills.PASSING, status="False", reason="DrillFailed", message="m", last_transition_time=T0
    )
    wish = of(blocksPromotion=blocks).workflow
    item = in_stage(Stage.CANARY, remember(wish.spec), held=held)
    status = WorkflowStatus(rollout="bot-1", stable_revision=STABLE.metadata.name, conditions=(failed,))
    seen = observed(
        item, good_evidence(item, later(600)), *acts, wish=wish.model_copy(update={"status": status})
    )
    return reconcile_rollout(seen, later(600)).status


def test_a_stage_is_not_passed_behind_a_failed_drill_that_blocks() -> None:
    status = holding()
    reconciling = conditions.find(status.conditions, "Reconciling")
    assert reconciling is not None
    assert (status.state, status.held, reconciling.reason) == (State.CANARY, False, "AwaitingDrill")
    assert holding(blocks=False).state is State.SHADOW


@pytest.mark.parametrize(
    ("action", "held", "state", "result"),
    [
        (Action.PROMOTE, False, State.CANARY, "Refused"),
        (Action.OVERRIDE, True, State.SHADOW, "Applied"),  # with a reason, which is written down
        (Action.ABORT, False, State.DRAINING, "Applied"),
    ],
)
def test_people_wait_for_the_drill_too_unless_they_override_a_hold(
    action: Action, held: bool, state: State, result: str
) -> None:
    item = in_stage(Stage.CANARY, remember(of(blocksPromotion=True).workflow.spec))
    status = holding(decision(action, item), held=held)
    record = status.decisions[-1]
    assert (status.state, record.result) == (state, result)
    assert ("DrillFailed: m" in record.message) is (result == "Refused")


def test_at_the_deadline_the_drill_is_the_reason_of_the_hold() -> None:
    wish = of(blocksPromotion=True).workflow
    failed = Condition(
        type=drills.PASSING, status="False", reason="DrillOverdue", message="m", last_transition_time=T0
    )
    status = WorkflowStatus(rollout="bot-1", stable_revision=STABLE.metadata.name, conditions=(failed,))
    item = in_stage(Stage.CANARY, remember(wish.spec))
    seen = observed(item, good_evidence(item, later(3600)), wish=wish.model_copy(update={"status": status}))
    after = reconcile_rollout(seen, later(3601)).status
    assert (after.state, after.held) == (State.CANARY, True)
    assert "DrillOverdue: m" in (after.hold_reason or "")
