"""What the loop asks of outputs, and what it says of the answer."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.resources.workflow import WorkflowSpec, WorkflowStatus
from sluicegate.contracts.stages import Signal
from sluicegate.contracts.watch import (
    Alarm,
    MovedOutput,
    WatchedField,
    WatchedOutput,
    WatchedSignal,
    WatchEvidence,
)
from sluicegate.rollout import conditions, decay, drifting, phrases
from sluicegate.rollout.model import Emit, Plan, WorkflowObserved
from sluicegate.rollout.workflows import reconcile_workflow
from tests.rollout.samples import T0, revision, workflow, workflow_spec


def spec_with(output: dict[str, Any] | None = None) -> WorkflowSpec:
    body = workflow_spec("1.0.0").to_json()
    if output is not None:
        body["components"][0]["contract"] = {"output": {"type": "object", "properties": output}}
    return WorkflowSpec.model_validate(body)


INTENTS = {"intent": {"enum": ["ask", "buy"]}}
SPEC = spec_with(INTENTS)
STABLE = revision(SPEC)
ALARM = Alarm(before=0.2, after=0.41, units=180, since=T0, at=T0 + timedelta(hours=1), run="run-9")
FIELD = WatchedOutput("agent", "intent", numeric=False)


def seen(found: WatchEvidence | None = None, **changes: Any) -> WorkflowObserved:
    spec = SPEC.model_copy(update=changes)
    item = workflow(spec, stable_revision=STABLE.metadata.name)
    return WorkflowObserved(workflow=item, revisions=(STABLE,), watch=found)


def answer(**output: Any) -> WatchEvidence:
    look = decay.look(seen().workflow, (STABLE,))
    assert look is not None
    reward = WatchedSignal(signal=Signal.REWARD, units=2000, baseline=0.82, limit=0.78)
    base: dict[str, Any] = {"units": 2000, "baseline": (("ask", 0.8), ("buy", 0.2))}
    return WatchEvidence(
        look=look, units=2000, signals=(reward,), outputs=(WatchedField(field=FIELD, **base | output),)
    )


def look_name() -> str:
    return f"{STABLE.metadata.name}@1"


def said(plan: Plan[WorkflowStatus]) -> tuple[str, str, str]:
    found = conditions.find(plan.status.conditions, drifting.DRIFTING)
    assert found is not None
    return found.status, found.reason, found.message


def told(plan: Plan[WorkflowStatus]) -> list[tuple[str, str]]:
    reasons = {"OutputsDrifted", "UnseenOutput"}
    events = [act.event for act in plan.actions if isinstance(act, Emit)]
    return [(event.reason, event.message) for event in events if event.reason in reasons]


def after(plan: Plan[WorkflowStatus], found: WatchEvidence | None, **changes: Any) -> WorkflowObserved:
    """The next look, on what this one wrote."""
    observed = seen(found, **changes)
    return replace(observed, workflow=observed.workflow.model_copy(update={"status": plan.status}))


def test_the_outputs_of_the_stable_version_are_asked_for() -> None:
    look = decay.look(seen().workflow, (STABLE,))
    assert look is not None
    assert (look.outputs, look.drift_tolerance) == ((FIELD,), 0.05)
    assert look.name == look_name()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (answer(units=0, baseline=()), ("Unknown", "NoData")),
        (answer(units=400, baseline=()), ("Unknown", "Learning")),
        (answer(), ("False", "Steady")),
        (answer(unseen=(("sell", "run-3"),)), ("False", "Steady")),
        (answer(moved=MovedOutput("buy", ALARM)), ("True", "OutputMoved")),
    ],
    ids=["nothing given", "counting", "steady", "a new value is no move", "moved"],
)
def test_what_is_found_becomes_a_condition(found: WatchEvidence, expected: tuple[str, str]) -> None:
    assert said(reconcile_workflow(seen(found), T0))[:2] == expected


def test_a_move_is_told_once_with_both_shares_and_the_name_of_the_baseline() -> None:
    found = answer(moved=MovedOutput("buy", ALARM))
    first = reconcile_workflow(seen(found), T0)
    ((reason, message),) = told(first)
    assert reason == "OutputsDrifted"
    before, now = phrases.percent(0.2), phrases.percent(0.41)
    assert message.startswith(f"agent.intent: buy from {before} in {look_name()} to about {now}, since ")
    assert message in said(first)[2]
    assert told(reconcile_workflow(after(first, found), T0)) == []


def test_each_new_value_is_told_once_with_its_run() -> None:
    one = answer(unseen=(("sell", "run-3"),))
    first = reconcile_workflow(seen(one), T0)
    expected = f"agent.intent gave 'sell', which no unit of {look_name()} did (run run-3)"
    assert told(first) == [("UnseenOutput", expected)]
    two = answer(unseen=(("sell", "run-3"), ("refund", "run-7")))
    second = reconcile_workflow(after(first, two), T0)
    ((_, message),) = told(second)
    assert "'refund'" in message
    assert told(reconcile_workflow(after(second, two), T0)) == []


def test_without_an_answer_it_stays_and_without_a_wish_it_says_so() -> None:
    found = answer(moved=MovedOutput("buy", ALARM))
    first = reconcile_workflow(seen(found), T0)
    assert said(reconcile_workflow(after(first, None), T0)) == said(first)
    off = SPEC.watch.model_copy(update={"enabled": False})
    assert said(reconcile_workflow(after(first, None, watch=off), T0))[:2] == ("Unknown", "NotWatched")


def test_a_workflow_without_observed_outputs_has_no_such_condition() -> None:
    plan = reconcile_workflow(seen(replace(answer(), outputs=())), T0)
    assert conditions.find(plan.status.conditions, drifting.DRIFTING) is None
    assert drifting.outputs(spec_with()) == ()
