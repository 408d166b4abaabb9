"""What the loop asks of the watch, and what it says of the answer."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.stages import Signal
from sluicegate.contracts.watch import Alarm, WatchedSignal, WatchEvidence
from sluicegate.rollout import conditions, decay
from sluicegate.rollout.model import Emit, Plan, WorkflowObserved
from sluicegate.rollout.workflows import reconcile_workflow
from tests.rollout.samples import T0, revision, workflow, workflow_spec

SPEC = workflow_spec("1.0.0")
STABLE = revision(SPEC)
ALARM = Alarm(before=0.82, after=0.7, units=180, since=T0, at=T0 + timedelta(hours=1), run="run-9")


def seen(found: WatchEvidence | None = None, **changes: Any) -> WorkflowObserved:
    spec = SPEC.model_copy(update=changes)
    item = workflow(spec, stable_revision=STABLE.metadata.name)
    return WorkflowObserved(workflow=item, revisions=(STABLE,), watch=found)


def answer(count: int = 2000, **reward: Any) -> WatchEvidence:
    look = decay.look(seen().workflow, (STABLE,))
    assert look is not None
    first = WatchedSignal(signal=Signal.REWARD, units=count, baseline=0.82, limit=0.78)
    second = WatchedSignal(
        signal=Signal.FALLBACK_RATE_MAX, component="agent", units=count, baseline=0.01, limit=0.04
    )
    return WatchEvidence(look=look, units=count, signals=(replace(first, **reward), second))


def said(plan: Plan[WorkflowStatus]) -> tuple[str, str, str]:
    found = conditions.find(plan.status.conditions, decay.DECAYING)
    assert found is not None
    return found.status, found.reason, found.message


def told(plan: Plan[WorkflowStatus]) -> list[str]:
    return [
        act.event.message
        for act in plan.actions
        if isinstance(act, Emit) and act.event.reason == "RewardDecayed"
    ]


def after(plan: Plan[WorkflowStatus], found: WatchEvidence | None, **changes: Any) -> WorkflowObserved:
    """The next look, on what this one wrote."""
    observed = seen(found, **changes)
    return replace(observed, workflow=observed.workflow.model_copy(update={"status": plan.status}))


def test_what_is_asked_is_the_stable_version_and_the_settings() -> None:
    look = decay.look(seen().workflow, (STABLE,))
    assert look is not None
    assert look.watched == ("default", "bot", STABLE.metadata.name)
    assert (look.components, look.false_alarm_every, look.tolerance) == (("agent",), 100_000, 0.02)
    assert (look.baseline_units, look.since) == (1000, STABLE.metadata.creation_timestamp)


def test_nothing_is_asked_without_a_stable_version_or_a_wish() -> None:
    assert decay.look(workflow(SPEC), (STABLE,)) is None
    off = SPEC.watch.model_copy(update={"enabled": False})
    assert decay.look(seen(watch=off).workflow, (STABLE,)) is None


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (answer(0, units=0), ("Unknown", "NoData")),
        (answer(2000, units=0, baseline=None), ("Unknown", "NoData")),
        (answer(gap=500), ("Unknown", "NoData")),
        (answer(500, baseline=None, limit=None), ("Unknown", "Learning")),
        (answer(gap=499), ("False", "Steady")),
        (answer(gap=5000, alarm=ALARM), ("True", "RewardFell")),
    ],
    ids=["no unit", "no reward ever", "no reward any more", "counting", "steady", "an alarm stays"],
)
def test_the_condition(found: WatchEvidence, expected: tuple[str, str]) -> None:
    plan = reconcile_workflow(seen(found), T0)
    assert said(plan)[:2] == expected
    assert plan.status.phase == reconcile_workflow(seen(), T0).status.phase, "it says nothing about the wish"


def test_an_alarm_is_told_once_with_its_numbers() -> None:
    found = answer(alarm=ALARM)
    plan = reconcile_workflow(seen(found), T0)
    sentence = (
        "the reward fell from 0.820 to about 0.700, since 2026-03-01T12:00:00Z (180 units; last run run-9)"
    )
    assert said(plan) == ("True", "RewardFell", sentence)
    assert told(plan) == [sentence]
    again = reconcile_workflow(after(plan, replace(found, units=90_000, cursor=7)), T0 + timedelta(hours=5))
    assert told(again) == []
    assert again.status == plan.status, "nothing is written while nothing changes"


def test_a_second_alarm_is_told_beside_the_first() -> None:
    found = answer(alarm=ALARM)
    first = reconcile_workflow(seen(found), T0)
    rose = replace(found.signals[1], alarm=replace(ALARM, before=0.01, after=0.25))
    second = reconcile_workflow(after(first, replace(found, signals=(found.signals[0], rose))), T0)
    [new] = told(second)
    assert new.startswith("agent falls back in about 25.0 % of the units, before in 1.0 %, since ")
    assert said(second)[2] == f"{said(first)[2]}; {new}"
    alone = reconcile_workflow(seen(replace(answer(), signals=(answer().signals[0], rose))), T0)
    assert said(alone)[:2] == ("True", "FallbacksRose")


def test_numbers_that_move_are_not_in_the_text() -> None:
    plan = reconcile_workflow(seen(answer()), T0)
    more = replace(answer(9_999, log_e=3.0, gap=17), cursor=12_000)
    assert reconcile_workflow(after(plan, more), T0 + timedelta(hours=1)).status == plan.status


def test_a_store_that_does_not_answer_changes_nothing() -> None:
    plan = reconcile_workflow(seen(answer(alarm=ALARM)), T0)
    assert reconcile_workflow(after(plan, None), T0 + timedelta(hours=1)).status == plan.status
    assert conditions.find(reconcile_workflow(seen(), T0).status.conditions, decay.DECAYING) is None


def test_another_watch_says_so() -> None:
    """Switched off, or the stable version is another than the one that the answer is about."""
    plan = reconcile_workflow(seen(answer(alarm=ALARM)), T0)
    off = SPEC.watch.model_copy(update={"enabled": False})
    assert said(reconcile_workflow(after(plan, None, watch=off), T0))[:2] == ("Unknown", "NotWatched")
    status = plan.status.model_copy(update={"stable_revision": "bot-2"})
    moved = list(decay.wanted(after(plan, answer(alarm=ALARM)), status))
    assert [(one.truth, one.reason) for one in moved] == [(None, "Learning")]
    assert "bot-2" in moved[0].message
