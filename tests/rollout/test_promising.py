"""What the loop says of promises that are broken and kept again: each once, whatever happens between."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from sluicegate.contracts.evidence import ArmFacts, Observation
from sluicegate.contracts.resources.workflow import WorkflowSpec, WorkflowStatus
from sluicegate.contracts.sla import Measure, Promise
from sluicegate.contracts.stages import Verdict
from sluicegate.contracts.watch import Alarm, WatchedPromise, WatchEvidence
from sluicegate.observability.watch import Watch
from sluicegate.rollout import conditions, decay, promising
from sluicegate.rollout.model import Emit, Plan, WorkflowObserved
from sluicegate.rollout.workflows import reconcile_workflow
from tests.rollout.samples import T0, revision, workflow, workflow_spec

SLA = {"maxLatencyMs": 500, "minSuccessRate": "0.97"}
LATENCY = Promise(measure=Measure.LATENCY, field="maxLatencyMs", most=Decimal("0.05"), latency_ms=500)
BROKEN, KEPT, OPEN = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE


def spec(**sla: Any) -> WorkflowSpec:
    body = workflow_spec("1.0.0").to_json()
    body["contract"] = (body.get("contract") or {}) | {"sla": sla}
    return WorkflowSpec.model_validate(body)


SPEC = spec(**SLA)
STABLE = revision(SPEC)


def at(hours: float) -> datetime:
    return T0 + timedelta(hours=hours)


def alarm(hours: float, after: float = 0.24) -> Alarm:
    return Alarm(before=0.05, after=after, units=80, since=at(hours), at=at(hours + 0.1), run="run-9")


def seen(
    found: WatchEvidence | None = None, before: Plan[WorkflowStatus] | None = None, **changes: Any
) -> WorkflowObserved:
    """before: what the look before wrote."""
    item = workflow(SPEC.model_copy(update=changes), stable_revision=STABLE.metadata.name)
    if before is not None:
        item = item.model_copy(update={"status": before.status})
    return WorkflowObserved(workflow=item, revisions=(STABLE,), watch=found)


def answer(*standings: tuple[Verdict, Alarm | None, Alarm | None], units: int = 900) -> WatchEvidence:
    """Of latency, then of success: where it stands, its last breach, and since when it was kept last."""
    look = decay.look(seen().workflow, (STABLE,))
    assert look is not None
    found = tuple(
        WatchedPromise(promise=promise, standing=standing, units=units, breach=breach, kept=kept)
        for promise, (standing, breach, kept) in zip(look.promises, standings, strict=False)
    )
    return WatchEvidence(look=look, units=units, promises=found)


NOTHING = (OPEN, None, None)
FINE = (KEPT, None, alarm(0, 0.01))
BREACH = (BROKEN, alarm(1), None)
OVER = (KEPT, alarm(1), alarm(2, 0.02))


def said(plan: Plan[WorkflowStatus]) -> tuple[str, str]:
    found = conditions.find(plan.status.conditions, promising.BREACHED)
    assert found is not None
    return found.status, found.reason


def told(plan: Plan[WorkflowStatus]) -> list[str]:
    reasons = (promising.BREACHED, "SlaKept")
    return [a.event.reason for a in plan.actions if isinstance(a, Emit) and a.event.reason in reasons]


def test_what_is_asked_are_the_promises_of_the_version_that_serves() -> None:
    look = decay.look(seen().workflow, (STABLE,))
    assert look is not None
    assert look.promises[0] == LATENCY
    assert [one.text for one in look.promises] == ["p95 at most 500 ms", "success at least 0.97"]


def test_that_something_never_happens_is_not_watched() -> None:
    never = spec(maxLatencyMs=500, minSuccessRate="1", maxFallbackRate="0")
    assert promising.promises_of(never) == (LATENCY,)


@pytest.mark.parametrize(
    ("sentence", "found", "expected"),
    [
        ("no unit yet", answer(NOTHING, NOTHING, units=0), ("Unknown", "NoData")),
        ("neither is shown", answer(NOTHING, NOTHING), ("Unknown", "Undecided")),
        ("one of two is kept", answer(FINE, NOTHING), ("Unknown", "Undecided")),
        ("all are kept", answer(FINE, FINE), ("False", "PromisesKept")),
        ("one is broken", answer(FINE, BREACH), ("True", "PromiseBroken")),
        ("a breach is over", answer(OVER, FINE), ("False", "PromisesKept")),
    ],
)
def test_the_condition(sentence: str, found: WatchEvidence, expected: tuple[str, str]) -> None:
    plan = reconcile_workflow(seen(found), T0)
    assert said(plan) == expected, sentence
    assert plan.status.phase == reconcile_workflow(seen(), T0).status.phase, "it says nothing about the wish"


def test_without_a_promise_there_is_no_condition() -> None:
    assert (
        conditions.find(reconcile_workflow(seen(answer()), T0).status.conditions, promising.BREACHED) is None
    )
    assert conditions.find(reconcile_workflow(seen(), T0).status.conditions, promising.BREACHED) is None


STORIES: dict[str, tuple[list[WatchEvidence | None], list[list[str]]]] = {
    "a breach and its end are told once each": (
        [
            answer(FINE, FINE),
            answer(BREACH, FINE),
            answer(BREACH, FINE),
            answer(OVER, FINE),
            answer(OVER, FINE),
        ],
        [[], ["SlaBreached"], [], ["SlaKept"], []],
    ),
    "a store that does not answer changes nothing": (
        [answer(BREACH), None, answer(BREACH), None, answer(OVER), None, answer(OVER)],
        [["SlaBreached"], [], [], [], ["SlaKept"], [], []],
    ),
    "two promises broken by the same units are two breaches": (
        [answer(BREACH, FINE), answer(BREACH, BREACH), answer(OVER, BREACH), answer(OVER, OVER)],
        [["SlaBreached"], ["SlaBreached"], ["SlaKept"], ["SlaKept"]],
    ),
    "both at once": ([answer(BREACH, BREACH), answer(OVER, OVER)], [["SlaBreached"] * 2, ["SlaKept"] * 2]),
    "the next breach is another one": (
        [
            answer(BREACH),
            answer(OVER),
            answer((BROKEN, alarm(3), alarm(2))),
            answer((KEPT, alarm(3), alarm(4))),
        ],
        [["SlaBreached"], ["SlaKept"], ["SlaBreached"], ["SlaKept"]],
    ),
    "a breach that began and ended while nobody looked": (
        [answer(FINE), answer(OVER), answer(OVER)],
        [[], ["SlaBreached", "SlaKept"], []],
    ),
    "an end and the next breach while nobody looked": (
        [answer(BREACH), answer((BROKEN, alarm(3), alarm(2)))],
        [["SlaBreached"], ["SlaBreached"]],
    ),
    "what was always kept is no news": ([answer(NOTHING), answer(FINE), answer(FINE)], [[], [], []]),
}


@pytest.mark.parametrize("story", STORIES)
def test_events(story: str) -> None:
    looks, expected = STORIES[story]
    plan: Plan[WorkflowStatus] | None = None
    found = []
    for hours, look in enumerate(looks):
        plan = reconcile_workflow(seen(look, plan), at(hours))
        found.append(told(plan))
        again = reconcile_workflow(seen(look, plan), at(hours + 0.5))
        assert told(again) == [], "a restart tells nothing again"
        assert again.status == plan.status, "and writes nothing"
    assert found == expected


def test_a_change_of_the_watch_neither_ends_a_breach_nor_tells_it_again() -> None:
    look = decay.look(seen().workflow, (STABLE,))
    assert look is not None
    watch = Watch(look)

    def serve(first: int, units: int) -> None:
        slow = ArmFacts(success=1.0, latencies_ms=(900.0,))
        for number in range(first, first + units):
            watch.add(
                Observation(
                    sequence=number, key=look.watched.key, unit=f"u{number}", runs=(f"run-{number}",),
                    at=at(number / 3600), stable=slow,
                )
            )  # fmt: skip

    serve(1, 80)
    plan = reconcile_workflow(seen(watch.evidence()), T0)
    assert told(plan) == ["SlaBreached"]
    watch = Watch.anew(watch.to_bytes(), replace(look, tolerance=look.tolerance + 0.01, baseline=2))
    for first in (81, 82, 400):
        plan = reconcile_workflow(seen(watch.evidence(), plan), at(1))
        assert said(plan) == ("True", "PromiseBroken")
        assert told(plan) == []
        serve(first, 80)


def test_the_event_has_both_numbers_since_when_and_a_run() -> None:
    plan = reconcile_workflow(seen(answer(BREACH, FINE)), T0)
    [event] = [a.event for a in plan.actions if isinstance(a, Emit) and a.event.reason == promising.BREACHED]
    assert event.severity == "Warning"
    assert event.message == (
        "p95 at most 500 ms is broken: about 24.0 % were slower, allowed 5.0 %, since 2026-03-01T13:00:00Z (80 units, last run run-9)"
    )


def moved(plan: Plan[WorkflowStatus], found: WatchEvidence | None) -> WorkflowStatus:
    """A look at which another version is stable, with what it says of the promises."""
    observed = seen(found, plan)
    status = plan.status.model_copy(update={"stable_revision": "bot-2"})
    wished = tuple(promising.wanted(observed, status))
    return status.model_copy(
        update={"conditions": conditions.settle(status.conditions, wished, generation=1, now=T0)}
    )


def of_other(found: WatchEvidence) -> WatchEvidence:
    return replace(found, look=replace(found.look, watched=found.look.watched._replace(revision="bot-2")))


def test_a_breach_of_the_version_before_ends_when_the_next_one_is_shown_to_keep_the_promise() -> None:
    breached = reconcile_workflow(seen(answer(BREACH, FINE)), T0)
    status = moved(breached, answer(BREACH, FINE))
    now = conditions.find(status.conditions, promising.BREACHED)
    assert now is not None
    assert (now.status, now.reason) == ("Unknown", "NoData")
    assert "nothing of bot-2 is known yet; p95 at most 500 ms is broken" in now.message
    for standing, expected in ((NOTHING, []), (FINE, ["SlaKept"]), (FINE, [])):
        item = workflow(SPEC, stable_revision="bot-2").model_copy(update={"status": status})
        observed = WorkflowObserved(workflow=item, watch=of_other(answer(standing, FINE)))
        assert [one.event.reason for one in promising.news(observed, status)] == expected
        [wished] = promising.wanted(observed, status)
        status = status.model_copy(
            update={"conditions": conditions.settle(status.conditions, (wished,), generation=1, now=T0)}
        )
    assert wished.truth is False


def test_a_watch_that_was_switched_off_says_so() -> None:
    plan = reconcile_workflow(seen(answer(BREACH, FINE)), T0)
    off = SPEC.watch.model_copy(update={"enabled": False})
    assert said(reconcile_workflow(seen(None, plan, watch=off), T0)) == ("Unknown", "NotWatched")
