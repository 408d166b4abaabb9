"""What people may do, when, and what is told when they may not."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.resources import Decision, WorkflowRollout
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.stages import Action, Outcome, Signal, Stage, State
from sluicegate.rollout.model import RolloutObserved
from sluicegate.rollout.rollouts import reconcile_rollout
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
    rollout,
    with_signal,
    workflow,
    workflow_spec,
)

NOW = later(5)


def look(item: WorkflowRollout, *acts: Decision, **fields: Any) -> RolloutStatus:
    """A look in which nothing but the acts can move the stage: no unit was seen."""
    return reconcile_rollout(observed(item, fields.pop("evidence", None), *acts, **fields), NOW).status


def last(status: RolloutStatus) -> tuple[str, str]:
    return status.decisions[-1].result, status.decisions[-1].message


def approved_stages(**approvals: Any) -> list[dict[str, Any]]:
    stages = [dict(stage) for stage in SHORT["stages"]]
    stages[0]["approvals"] = {"required": 1} | approvals
    return stages


def with_approvals(**approvals: Any) -> WorkflowRollout:
    spec = workflow_spec("2.0.0", stages=approved_stages(**approvals))
    return in_stage(Stage.CANARY, remember(spec))


def done(outcome: Outcome, **status: Any) -> WorkflowRollout:
    return rollout(
        observed_generation=1,
        state=State.DONE,
        stage=Stage.FULL,
        outcome=outcome,
        started_at=T0,
        ended_at=T0,
        **status,
    )


CANARY = in_stage(Stage.CANARY)
HELD = in_stage(Stage.CANARY, held=True, hold_reason="inconclusive at the deadline")
PAUSED = in_stage(Stage.CANARY, paused=True, paused_since=T0)

REFUSED: dict[str, tuple[WorkflowRollout, Decision, str]] = {
    "promote for another candidate": (
        CANARY,
        decision(Action.PROMOTE, CANARY, expected={"candidate": f"sha256:{'0' * 64}", "stage": "Canary", "attempt": 1}),
        "made for candidate",
    ),
    "promote for another stage": (
        CANARY,
        decision(Action.PROMOTE, CANARY, expected={"candidate": CANARY.spec.candidate.digest, "stage": "Shadow", "attempt": 1}),
        "made for stage Shadow, now it is Canary",
    ),
    "promote for another attempt": (
        CANARY,
        decision(Action.PROMOTE, CANARY, expected={"candidate": CANARY.spec.candidate.digest, "stage": "Canary", "attempt": 2}),
        "made for attempt 2, now it is 1",
    ),
    "promote without saying for which stage": (
        CANARY,
        decision(Action.PROMOTE, CANARY, expected={"candidate": CANARY.spec.candidate.digest, "attempt": 1}),
        "expected.stage is missing",
    ),
    "promote before the first stage": (
        rollout(observed_generation=1),
        decision(Action.PROMOTE, rollout(observed_generation=1)),
        "nothing to promote in Pending",
    ),
    "promote of a held stage": (HELD, decision(Action.PROMOTE, HELD), "use override with a reason"),
    "promote of a paused stage": (PAUSED, decision(Action.PROMOTE, PAUSED), "resume first"),
    "full promote without a reason": (
        CANARY,
        decision(Action.PROMOTE, CANARY, full=True, reason=" "),
        "needs a reason",
    ),
    "override of a stage that is not held": (CANARY, decision(Action.OVERRIDE, CANARY), "use promote"),
    "override without a reason": (HELD, decision(Action.OVERRIDE, HELD, reason=""), "a reason is needed"),
    "reject without a reason": (CANARY, decision(Action.REJECT, CANARY, reason=""), "a reason is needed"),
    "retry of a stage that goes on": (CANARY, decision(Action.RETRY, CANARY), "not held"),
    "resume of a stage that is not paused": (CANARY, decision(Action.RESUME, CANARY), "not paused"),
    "resume of a held stage": (HELD, decision(Action.RESUME, HELD), "override, retry or abort"),
    "a second pause": (PAUSED, decision(Action.PAUSE, PAUSED), "already paused"),
    "approval that nobody asked for": (CANARY, decision(Action.APPROVE, CANARY), "asks for no approval"),
    "review that nobody asked for": (
        CANARY,
        decision(Action.REVIEW, CANARY, review={"run_id": "r", "component": "agent", "verdict": "Acceptable"}),
        "asks for no review",
    ),
    "approval that came too late": (
        done(Outcome.EXPIRED),
        decision(Action.APPROVE, done(Outcome.EXPIRED)),
        "nothing to approve in Done",
    ),
    "promote of a finished rollout": (
        done(Outcome.ABORTED),
        decision(Action.PROMOTE, done(Outcome.ABORTED)),
        "nothing to promote in Done",
    ),
    "abort of a finished promotion": (
        done(Outcome.PROMOTED),
        decision(Action.ABORT, done(Outcome.PROMOTED)),
        "undo takes a promotion back",
    ),
    "undo of an abort": (
        done(Outcome.ABORTED),
        decision(Action.UNDO, done(Outcome.ABORTED)),
        "nothing to undo",
    ),
}  # fmt: skip


@pytest.mark.parametrize("sentence", REFUSED)
def test_refused(sentence: str) -> None:
    item, act, message = REFUSED[sentence]
    before = item.status
    assert before is not None
    alone = workflow(workflow_spec("2.0.0", **SHORT), stable_revision=STABLE.metadata.name)
    status = look(item, act, **({"wish": alone} if before.state is State.PENDING else {}))
    result, said = last(status)
    assert result == "Refused"
    assert message in said
    assert (status.state, status.attempt, status.paused, status.held) == (
        before.state, before.attempt, before.paused, before.held
    )  # fmt: skip


APPLIED: dict[str, tuple[WorkflowRollout, dict[str, Any], tuple[State, Outcome | None]]] = {
    "promote skips the rest of the wait": (CANARY, {"action": Action.PROMOTE}, (State.SHADOW, None)),
    "full promote passes all stages": (
        CANARY,
        {"action": Action.PROMOTE, "full": True},
        (State.DRAINING, Outcome.FAST_PROMOTED),
    ),
    "override leaves a held stage": (HELD, {"action": Action.OVERRIDE}, (State.SHADOW, None)),
    "retry of a held stage": (HELD, {"action": Action.RETRY}, (State.PENDING, None)),
    "reject": (CANARY, {"action": Action.REJECT}, (State.DRAINING, Outcome.REJECTED)),
    "undo before promotion": (
        in_stage(Stage.FULL),
        {"action": Action.UNDO},
        (State.DRAINING, Outcome.ROLLED_BACK),
    ),
    "abort": (CANARY, {"action": Action.ABORT}, (State.DRAINING, Outcome.ABORTED)),
    "abort made for an earlier stage still aborts": (
        in_stage(Stage.CONTROLLED),
        {"action": Action.ABORT, "expected": {"stage": "Shadow", "attempt": 1}},
        (State.DRAINING, Outcome.ABORTED),
    ),
    "abort of what is aborted already changes nothing": (
        done(Outcome.ABORTED),
        {"action": Action.ABORT},
        (State.DONE, Outcome.ABORTED),
    ),
    "retry of an aborted rollout": (done(Outcome.ABORTED), {"action": Action.RETRY}, (State.PENDING, None)),
    "retry of an expired rollout": (done(Outcome.EXPIRED), {"action": Action.RETRY}, (State.PENDING, None)),
}


@pytest.mark.parametrize("sentence", APPLIED)
def test_applied(sentence: str) -> None:
    item, spec, (state, outcome) = APPLIED[sentence]
    action = spec["action"]
    rest = {key: value for key, value in spec.items() if key != "action"}
    fields: dict[str, Any] = {}
    if item.status is not None and item.status.state is State.DONE:
        fields["wish"] = workflow(workflow_spec("2.0.0", **SHORT), stable_revision=STABLE.metadata.name)
    status = look(item, decision(action, item, **rest), **fields)
    assert last(status)[0] == "Applied"
    assert (status.state, status.outcome) == (state, outcome)
    if state is State.PENDING:
        assert status.attempt == 2
        assert status.baseline == {}


def test_promote_never_passes_a_fail() -> None:
    item = in_stage(Stage.CANARY)
    bad = with_signal(good_evidence(item, NOW), Signal.SUCCESS_RATE, harm_log_e=99.0)
    status = look(item, decision(Action.PROMOTE, item), evidence=bad)
    assert last(status)[0] == "Refused"
    assert "Fail of gate success: " in last(status)[1]
    assert status.outcome is Outcome.ABORTED


def test_two_promotes_in_one_look_advance_one_stage() -> None:
    status = look(
        CANARY, decision(Action.PROMOTE, CANARY, by="alice"), decision(Action.PROMOTE, CANARY, by="bob")
    )
    assert status.state is State.SHADOW
    assert [record.result for record in status.decisions] == ["Applied", "Refused"]


def test_the_second_promote_is_refused_in_the_next_look_too() -> None:
    first, second = decision(Action.PROMOTE, CANARY, by="alice"), decision(Action.PROMOTE, CANARY, by="bob")
    moved = CANARY.model_copy(update={"status": look(CANARY, first)})
    status = look(moved, first, second)
    assert status.state is State.SHADOW
    assert last(status) == ("Refused", "made for stage Canary, now it is Shadow")


@pytest.mark.parametrize(
    ("seconds", "state"), [(0, State.SHADOW), (0.9, State.SHADOW), (1, State.CONTROLLED)]
)
def test_a_promote_of_the_same_second_passes_no_second_stage(seconds: float, state: State) -> None:
    """Made by somebody who saw Shadow already, because the first promote was used in between."""
    first = decision(Action.PROMOTE, CANARY, by="alice")
    moved = CANARY.model_copy(update={"status": look(CANARY, first)})
    (used,) = moved.status.decisions if moved.status else ()
    second = decision(Action.PROMOTE, moved, by="bob")
    metadata = second.metadata.model_copy(update={"creation_timestamp": used.at + timedelta(seconds=seconds)})
    status = look(moved, first, second.model_copy(update={"metadata": metadata}))
    assert status.state is state
    assert (last(status)[0] == "Refused") == (state is State.SHADOW)


def test_a_decision_is_used_once() -> None:
    act = decision(Action.PAUSE, CANARY)
    paused = CANARY.model_copy(update={"status": look(CANARY, act)})
    resumed = look(paused, act, decision(Action.RESUME, paused))
    again = look(paused.model_copy(update={"status": resumed}), act)
    assert not again.paused
    assert len(again.decisions) == 2


def test_a_decision_about_another_object_is_not_read() -> None:
    act = decision(Action.ABORT, CANARY, target={"name": "bot-1", "uid": "ro-0"})
    assert look(CANARY, act).decisions == ()


def test_an_expired_decision_is_told_so() -> None:
    status = look(CANARY, decision(Action.ABORT, CANARY, expires_at=T0))
    assert last(status)[0] == "Expired"
    assert status.state is State.CANARY


def test_the_author_may_not_approve_unless_the_strategy_allows_it() -> None:
    item = with_approvals()
    assert "may not approve" in last(look(item, decision(Action.APPROVE, item, by="author")))[1]
    item = with_approvals(allowAuthor=True)
    assert last(look(item, decision(Action.APPROVE, item, by="author"))) == ("Counted", "1 of 1 approvals")


def test_one_person_counts_once() -> None:
    item = with_approvals(required=2)
    acts = [decision(Action.APPROVE, item, name="a1"), decision(Action.APPROVE, item, name="a2")]
    status = look(item, *acts)
    assert [record.result for record in status.decisions] == ["Counted", "Refused"]


def test_an_approval_is_void_in_another_attempt_and_after_its_time() -> None:
    item = with_approvals(expiresAfterSeconds=60)
    counted = item.model_copy(update={"status": look(item, decision(Action.APPROVE, item))})
    held = counted.model_copy(update={"status": counted.status.model_copy(update={"held": True})})  # type: ignore[union-attr]
    override = decision(Action.OVERRIDE, held)
    assert (
        reconcile_rollout(observed(held, None, override), NOW + timedelta(seconds=59)).status.state
        is State.SHADOW
    )
    late = reconcile_rollout(observed(held, None, override), NOW + timedelta(seconds=61)).status
    assert last(late) == ("Refused", "Canary still waits: 0 of 1 approvals")
    second = held.model_copy(update={"status": held.status.model_copy(update={"attempt": 2})})  # type: ignore[union-attr]
    assert last(look(second, decision(Action.OVERRIDE, second)))[0] == "Refused"


def test_promote_and_override_do_not_replace_approvals() -> None:
    item = with_approvals()
    assert last(look(item, decision(Action.PROMOTE, item))) == (
        "Refused",
        "Canary still waits: 0 of 1 approvals",
    )


def test_an_approval_of_the_same_look_counts_before_the_promote() -> None:
    item = with_approvals()
    status = look(item, decision(Action.PROMOTE, item), decision(Action.APPROVE, item, by="bob"))
    assert status.state is State.SHADOW


def test_full_promote_never_skips_the_approvals_of_a_later_stage() -> None:
    stages = [dict(stage) for stage in SHORT["stages"]]
    stages[2]["approvals"] = {"required": 2}
    item = in_stage(Stage.CANARY, remember(workflow_spec("2.0.0", stages=stages)))
    assert "Controlled needs 2 approvals" in last(look(item, decision(Action.PROMOTE, item, full=True)))[1]


def reviewing() -> WorkflowRollout:
    stages = [dict(stage) for stage in SHORT["stages"]]
    stages[2]["reviewFallbacks"] = 2
    return in_stage(Stage.CONTROLLED, remember(workflow_spec("2.0.0", stages=stages)))


def review(item: WorkflowRollout, run: str, verdict: str = "Acceptable") -> Decision:
    judged = {"run_id": run, "component": "agent", "verdict": verdict}
    return decision(Action.REVIEW, item, name=f"review-{run}-{verdict.lower()}", review=judged)


def at(item: WorkflowRollout, sampled: int, *acts: Decision) -> RolloutStatus:
    fallbacks = frozenset(f"r{number}/agent" for number in range(1, sampled + 1))
    seen: RolloutObserved = observed(item, good_evidence(item, later(100)), *acts)
    return reconcile_rollout(replace(seen, sampled_fallbacks=fallbacks), later(100)).status


def test_controlled_waits_for_its_reviews() -> None:
    item = reviewing()
    assert at(item, 5).state is State.CONTROLLED
    assert at(item, 5, review(item, "r1")).state is State.CONTROLLED
    assert at(item, 5, review(item, "r1"), review(item, "r2")).state is State.FULL
    assert at(item, 1, review(item, "r1")).state is State.FULL, "all that were sampled are judged"
    assert at(item, 0).state is State.FULL, "nothing fell back"


def test_a_fallback_is_judged_once_and_one_unacceptable_holds() -> None:
    item = reviewing()
    status = at(item, 5, review(item, "r1"), review(item, "r1", "Unacceptable"))
    assert [record.result for record in status.decisions] == ["Counted", "Refused"]
    held = at(item, 5, review(item, "r1"), review(item, "r2", "Unacceptable"))
    assert (held.state, held.held) == (State.CONTROLLED, True)
    assert held.hold_reason is not None
    assert "run r2 unacceptable" in held.hold_reason


def test_only_what_was_sampled_can_be_judged() -> None:
    item = reviewing()
    status = at(item, 1, review(item, "r1"), review(item, "r2", "Unacceptable"))
    assert [(record.result, record.subject) for record in status.decisions] == [
        ("Counted", "r1/agent"),
        ("Refused", "r2/agent"),
    ]
    assert not status.held


OBSTACLES = {
    "the workflow wishes another version": (
        {"wish": workflow(workflow_spec("3.0.0"))},
        "wishes another version",
    ),
    "stable has moved on": (
        {"wish": workflow(workflow_spec("2.0.0", **SHORT), stable_revision="bot-new")},
        "stable is bot-new now",
    ),
    "another rollout is running": (
        {
            "wish": workflow(
                workflow_spec("2.0.0", **SHORT), stable_revision=STABLE.metadata.name, rollout="bot-2"
            )
        },
        "bot-2 is running",
    ),
}


@pytest.mark.parametrize("sentence", OBSTACLES)
def test_retry_after_the_end_needs_a_workflow_that_still_fits(sentence: str) -> None:
    fields, message = OBSTACLES[sentence]
    wish = fields["wish"]
    if wish.status is None:
        wish = workflow(wish.spec, stable_revision=STABLE.metadata.name)
    item = done(Outcome.ABORTED)
    assert message in last(look(item, decision(Action.RETRY, item), wish=wish))[1]


def test_a_promotion_that_the_workflow_has_not_taken_over_yet_is_not_tried_again() -> None:
    item = done(Outcome.PROMOTED)
    wish = workflow(
        workflow_spec("2.0.0", **SHORT), stable_revision=STABLE.metadata.name, rollout=item.metadata.name
    )
    status = look(item, decision(Action.RETRY, item), wish=wish)
    assert "is becoming stable" in last(status)[1]
    assert status.state is State.DONE


def test_undo_within_the_window_is_recorded_for_the_workflow() -> None:
    item = done(Outcome.PROMOTED)
    wish = workflow(workflow_spec("2.0.0", **SHORT), stable_revision=item.spec.candidate.name)
    status = look(item, decision(Action.UNDO, item), wish=wish)
    assert last(status)[0] == "Applied"
    assert status.state is State.DONE
    late = reconcile_rollout(
        observed(item, None, decision(Action.UNDO, item), wish=wish), T0 + timedelta(days=2)
    )
    assert "rollback window" in last(late.status)[1]
