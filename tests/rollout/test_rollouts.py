"""Looks at a rollout: what a stage needs, clocks, old evidence, steady state."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.routes import TrafficMode
from sluicegate.contracts.stages import Action, Outcome, Signal, Stage, State
from sluicegate.rollout import conditions, table
from sluicegate.rollout.model import Delete, Emit, Plan, RolloutObserved, Route
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

NEXT = {
    Stage.CANARY: State.SHADOW,
    Stage.SHADOW: State.CONTROLLED,
    Stage.CONTROLLED: State.FULL,
    Stage.FULL: State.DRAINING,
}


def after(item: WorkflowRollout, status: RolloutStatus) -> WorkflowRollout:
    return item.model_copy(update={"status": status})


def routes(plan: Plan[RolloutStatus]) -> list[Route]:
    return [act for act in plan.actions if isinstance(act, Route)]


def at_rest(seen: RolloutObserved, now: Any) -> RolloutObserved:
    """What is seen once the plan of `seen` was carried out and every gateway follows it."""
    plan = reconcile_rollout(seen, now)
    made = routes(plan)
    stored = made[-1].plan if made else seen.plan
    return replace(
        seen,
        rollout=after(seen.rollout, plan.status),
        plan=stored,
        programmed=stored.version if stored is not None else 0,
    )


@pytest.mark.parametrize("stage", list(Stage))
def test_everything_holds_and_the_next_stage_begins(stage: Stage) -> None:
    item = in_stage(stage)
    now = later(100)
    plan = reconcile_rollout(observed(item, good_evidence(item, now)), now)
    assert plan.status.state is NEXT[stage]
    assert plan.status.history[-1].stage is stage
    assert plan.status.history[-1].left_by.startswith("Pass")
    assert plan.status.history[-1].evidence_digest is not None
    assert plan.requeue_after == 0.0
    if stage is Stage.FULL:
        assert plan.status.outcome is Outcome.PROMOTED


LACKING: dict[str, tuple[Stage, dict[str, Any], float]] = {
    "too few units": (Stage.CANARY, {"units": 99}, 100),
    "too little time since the candidate was first seen": (Stage.CONTROLLED, {"first_at": later(50)}, 100),
    "never seen": (Stage.CONTROLLED, {"first_at": None}, 100),
    "less than the evaluation interval after entry": (Stage.CANARY, {}, 5),
}


@pytest.mark.parametrize("sentence", LACKING)
def test_one_missing_condition_keeps_the_stage(sentence: str) -> None:
    stage, change, seconds = LACKING[sentence]
    now = later(seconds)
    item = in_stage(stage, next_evaluation_at=later(10))
    evidence = replace(good_evidence(item, now), **change)
    assert reconcile_rollout(observed(item, evidence), now).status.state.value == stage.value


FOREIGN = {
    "another rollout": EvidenceKey("ro-0", Stage.SHADOW, 2),
    "another stage": EvidenceKey("ro-1", Stage.CANARY, 2),
    "another attempt": EvidenceKey("ro-1", Stage.SHADOW, 1),
}


@pytest.mark.parametrize("sentence", FOREIGN)
@pytest.mark.parametrize("harm", [-3.0, 99.0])
def test_evidence_of_anything_else_is_never_used(sentence: str, harm: float) -> None:
    item = in_stage(Stage.SHADOW, attempt=2)
    evidence = replace(good_evidence(item, later(90)), key=FOREIGN[sentence])
    evidence = with_signal(evidence, Signal.SUCCESS_RATE, harm_log_e=harm)
    status = reconcile_rollout(observed(item, evidence), later(100)).status
    assert (status.state, status.samples) == (State.SHADOW, 0)
    assert {gate.reason for gate in status.gates} == {"NoData"}


@pytest.mark.parametrize("stage", list(Stage))
def test_a_breach_goes_back_to_stable_from_every_stage(stage: Stage) -> None:
    item = in_stage(stage)
    bad = with_signal(good_evidence(item, later(20)), Signal.SUCCESS_RATE, harm_log_e=99.0)
    plan = reconcile_rollout(observed(item, bad), later(20))
    assert (plan.status.state, plan.status.outcome) == (State.DRAINING, Outcome.ABORTED)
    (made,) = routes(plan)
    assert made.plan.mode is TrafficMode.STABLE_ONLY
    assert made.plan.stable.version == "1.0.0"
    assert made.plan.version == plan.status.plan_version
    assert "gate success" in plan.status.message


def test_the_reason_names_every_gate_that_failed() -> None:
    item = in_stage(Stage.CANARY)
    bad = good_evidence(item, later(20))
    for name in (Signal.SUCCESS_RATE, Signal.P95_LATENCY):
        bad = with_signal(bad, name, harm_log_e=99.0)
    message = reconcile_rollout(observed(item, bad), later(20)).status.message
    assert message.startswith("Fail of gate success: candidate succeeded in")
    assert message.endswith("; gate latency failed as well")


@pytest.mark.parametrize("flag", ["paused", "held"])
def test_a_breach_aborts_even_when_paused_or_held(flag: str) -> None:
    item = in_stage(Stage.CONTROLLED, paused=flag == "paused", held=flag == "held")
    bad = with_signal(good_evidence(item, later(20)), Signal.SUCCESS_RATE, harm_log_e=99.0)
    assert reconcile_rollout(observed(item, bad), later(20)).status.outcome is Outcome.ABORTED


@pytest.mark.parametrize("flag", ["paused", "held"])
def test_nothing_advances_while_paused_or_held(flag: str) -> None:
    item = in_stage(Stage.CANARY, paused=flag == "paused", held=flag == "held")
    status = reconcile_rollout(observed(item, good_evidence(item, later(100))), later(100)).status
    assert status.state is State.CANARY


def test_on_fail_hold_waits_for_a_person() -> None:
    stages = [
        {
            "name": "Canary",
            "minRuns": 100,
            "gates": [{"name": "success", "signal": "WorkflowSuccessRate", "onFail": "Hold"}],
        }
    ]
    item = in_stage(Stage.CANARY, remember(workflow_spec("2.0.0", stages=stages)))
    bad = with_signal(good_evidence(item, later(20)), Signal.SUCCESS_RATE, harm_log_e=99.0)
    status = reconcile_rollout(observed(item, bad), later(20)).status
    assert (status.state, status.held) == (State.CANARY, True)
    stalled = conditions.find(status.conditions, "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", "Held")
    again = after(item, status)
    better = good_evidence(item, later(30))
    assert reconcile_rollout(observed(again, better), later(40)).status.held, "held is sticky"


def test_the_deadline_without_a_pass_holds_and_stays_held() -> None:
    item = in_stage(Stage.CANARY)
    status = reconcile_rollout(observed(item, None), later(3600)).status
    assert (status.state, status.held) == (State.CANARY, True)
    assert status.hold_reason is not None
    assert "0 of 100 units" in status.hold_reason
    assert {gate.verdict for gate in status.gates} == {"Inconclusive"}
    again = after(item, status)
    passed = reconcile_rollout(observed(again, good_evidence(item, later(3700))), later(3700)).status
    assert (passed.state, passed.held) == (State.CANARY, True)


def test_the_deadline_counts_active_time_only() -> None:
    item = in_stage(Stage.CANARY, paused=True, paused_since=later(10), paused_seconds=0)
    for hours in (1, 24, 48):
        now = T0 + timedelta(hours=hours)
        assert not reconcile_rollout(observed(item, None), now).status.held
    resumed = observed(item, None, decision(Action.RESUME, item))
    status = reconcile_rollout(resumed, T0 + timedelta(hours=48)).status
    assert (status.paused, status.held) == (False, False)
    assert status.paused_seconds == 48 * 3600 - 10
    later_on = T0 + timedelta(hours=48, seconds=3600 - 11)
    assert not reconcile_rollout(observed(after(item, status), None), later_on).status.held
    assert reconcile_rollout(observed(after(item, status), None), later_on + timedelta(seconds=2)).status.held


def approving(allow_author: bool = False) -> WorkflowRollout:
    stages = [*SHORT["stages"]]
    stages[0] = stages[0] | {"approvals": {"required": 2, "allowAuthor": allow_author}}
    return in_stage(Stage.CANARY, remember(workflow_spec("2.0.0", stages=stages)))


def test_two_distinct_people_let_the_stage_pass() -> None:
    item, now = approving(), later(100)
    evidence = good_evidence(item, now)
    one = observed(item, evidence, decision(Action.APPROVE, item, by="alice"))
    status = reconcile_rollout(one, now).status
    waits = conditions.find(status.conditions, "AwaitingApproval")
    assert status.state is State.CANARY
    assert waits is not None
    assert (waits.status, waits.message) == ("True", "1 of 2 approvals")
    two = observed(after(item, status), evidence, decision(Action.APPROVE, item, by="bob"))
    assert reconcile_rollout(two, later(120)).status.state is State.SHADOW


def test_gates_pass_and_the_people_never_answer() -> None:
    item = approving()
    status = reconcile_rollout(observed(item, good_evidence(item, later(3590))), later(3600)).status
    assert (status.state, status.outcome) == (State.DRAINING, Outcome.EXPIRED)


@pytest.mark.parametrize("stage", list(Stage))
def test_a_newer_wish_supersedes_in_every_stage_and_its_evidence_is_left_behind(stage: Stage) -> None:
    item = in_stage(stage)
    wish = workflow(workflow_spec("3.0.0", **SHORT), rollout="bot-1", stable_revision="bot-x")
    plan = reconcile_rollout(observed(item, good_evidence(item, later(100)), wish=wish), later(100))
    assert (plan.status.state, plan.status.outcome) == (State.DRAINING, Outcome.SUPERSEDED)
    assert routes(plan)[0].plan.candidate is None


def test_an_older_read_of_the_workflow_supersedes_nothing() -> None:
    item = in_stage(Stage.CANARY)
    old = workflow(workflow_spec("1.0.0", **SHORT), rollout="bot-1", stable_revision="x")
    old = old.model_copy(update={"metadata": old.metadata.model_copy(update={"generation": 1})})
    assert reconcile_rollout(observed(item, None, wish=old), later(5)).status.state is State.CANARY


def test_it_does_not_start_before_the_workflow_follows_it() -> None:
    item = rollout(observed_generation=1)
    alone = workflow(workflow_spec("2.0.0", **SHORT), stable_revision="x")
    plan = reconcile_rollout(observed(item, wish=alone), later(1))
    assert (plan.status.state, routes(plan)) == (State.PENDING, [])
    assert reconcile_rollout(observed(item), later(1)).status.state is State.CANARY


PASSED_OVER = {
    "a newer rollout is followed": ({"rollout": "bot-2"}, 1, State.DRAINING),
    "an older one is followed: it waits for its turn": ({"rollout": "bot-0"}, 1, State.PENDING),
    "stable moved on before its second attempt": ({"stable_revision": "bot-other"}, 2, State.DRAINING),
    "stable as read may be older than a first attempt": ({"stable_revision": "bot-other"}, 1, State.PENDING),
}


@pytest.mark.parametrize("sentence", PASSED_OVER)
def test_pending(sentence: str) -> None:
    known, attempt, state = PASSED_OVER[sentence]
    item = rollout(observed_generation=1, attempt=attempt)
    wish = workflow(workflow_spec("2.0.0", **SHORT), **({"stable_revision": STABLE.metadata.name} | known))
    assert reconcile_rollout(observed(item, wish=wish), later(1)).status.state is state


def test_the_first_status_has_an_integer_generation_and_conditions() -> None:
    plan = reconcile_rollout(observed(rollout()), later(0))
    assert plan.status.observed_generation == 1
    assert conditions.find(plan.status.conditions, "Ready") is not None


@pytest.mark.parametrize("stage", list(Stage))
def test_a_look_without_news_writes_nothing(stage: Stage) -> None:
    item = in_stage(stage)
    evidence = replace(good_evidence(item, later(1)), units=10)
    seen = at_rest(observed(item, evidence), later(5))
    seen = at_rest(seen, later(6))
    again = reconcile_rollout(seen, later(16))
    assert again.status == seen.rollout.status
    assert again.actions == ()
    much_later = reconcile_rollout(seen, later(500))  # only the lease has to be renewed
    assert much_later.status == seen.rollout.status


def test_moving_numbers_are_written_once_in_an_evaluation_interval() -> None:
    item = in_stage(Stage.CANARY)
    first = replace(good_evidence(item, later(1)), units=10)
    seen = at_rest(observed(item, first), later(0))
    seen = at_rest(seen, later(1))
    base = seen.rollout.status
    assert base is not None
    moved = replace(seen, evidence=replace(first, units=20, cursor=501))
    assert reconcile_rollout(moved, later(9)).status == base
    assert reconcile_rollout(moved, later(11)).status.samples == 20


def test_nothing_is_written_while_only_time_passes() -> None:
    item = in_stage(Stage.CANARY)
    stale = replace(good_evidence(item, later(1)), last_at=later(1))
    seen = at_rest(at_rest(observed(item, stale), later(1000)), later(1001))
    base = seen.rollout.status
    assert base is not None
    assert base.gates[0].reason == "StaleData"
    assert reconcile_rollout(seen, later(2000)).status == base


def test_entering_full_keeps_stables_rates() -> None:
    item = in_stage(Stage.CONTROLLED)
    evidence = with_signal(good_evidence(item, later(90)), Signal.SUCCESS_RATE, stable=0.875)
    status = reconcile_rollout(observed(item, evidence), later(100)).status
    assert status.state is State.FULL
    assert status.baseline["WorkflowSuccessRate"] == "0.875"
    assert "ComponentFallbackRateMax/agent" in status.baseline
    assert status.latency_boundary_ms == "1000"


def drained(outcome: Outcome, **fields: Any) -> RolloutObserved:
    item = rollout(
        observed_generation=1,
        state=State.DRAINING,
        stage=Stage.FULL,
        outcome=outcome,
        draining_since=T0,
        started_at=T0,
        plan_version=3,
    )
    return replace(at_rest(observed(item, **fields), later(1)))


@pytest.mark.parametrize("outcome", [Outcome.PROMOTED, Outcome.ABORTED, Outcome.SUPERSEDED])
def test_draining_ends_when_every_gateway_follows(outcome: Outcome) -> None:
    seen = drained(outcome)
    assert seen.plan is not None
    winner = "2.0.0" if outcome is Outcome.PROMOTED else "1.0.0"
    assert seen.plan.stable.version == winner
    behind = replace(seen, programmed=seen.plan.version - 1)
    assert reconcile_rollout(behind, later(2)).status.state is State.DRAINING
    done = reconcile_rollout(seen, later(3)).status
    assert (done.state, done.outcome, done.ended_at) == (State.DONE, outcome, later(3))


def test_draining_is_bounded_when_a_gateway_never_answers() -> None:
    seen = replace(drained(Outcome.ABORTED), programmed=0)
    assert reconcile_rollout(seen, later(119)).status.state is State.DRAINING
    assert reconcile_rollout(seen, later(121)).status.state is State.DONE


def test_a_foreign_route_is_repaired_with_a_higher_version() -> None:
    item = in_stage(Stage.CANARY)
    seen = at_rest(observed(item, None), later(5))
    assert seen.plan is not None
    foreign = replace(seen, plan=replace(seen.plan, mode=TrafficMode.SPLIT))
    plan = reconcile_rollout(foreign, later(6))
    (made,) = routes(plan)
    assert made.plan.mode is TrafficMode.MIRROR
    assert made.plan.version == seen.plan.version + 1 == plan.status.plan_version


def test_a_short_lease_is_renewed_under_the_same_version() -> None:
    item = in_stage(Stage.CANARY)
    seen = at_rest(observed(item, None), later(0))
    assert seen.plan is not None
    (made,) = routes(reconcile_rollout(seen, later(30)))
    assert made.plan.version == seen.plan.version
    assert made.plan.lease_until == later(90)


def test_a_route_lost_after_the_status_was_written_is_made_again() -> None:
    item = in_stage(Stage.CANARY)
    seen = observed(item, None)
    plan = reconcile_rollout(seen, later(1))
    lost = replace(seen, rollout=after(item, plan.status))
    again = reconcile_rollout(lost, later(2))
    assert routes(again)[0].plan.version == plan.status.plan_version
    assert again.status.plan_version == plan.status.plan_version


def test_events_have_keys_so_that_a_repeated_one_is_the_same() -> None:
    item = in_stage(Stage.CANARY)
    seen = observed(item, good_evidence(item, later(100)))
    told = [act for act in reconcile_rollout(seen, later(100)).actions if isinstance(act, Emit)]
    assert [act.event.key for act in told] == ["StageEntered/ro-1/1/Shadow"]


def test_old_decision_records_go_only_after_their_objects() -> None:
    records = [
        {
            "uid": f"u{n}",
            "name": f"d{n}",
            "action": "Pause",
            "decided_by": "alice",
            "result": "Refused",
            "at": T0,
        }
        for n in range(52)
    ]
    item = in_stage(Stage.CANARY, decisions=records)
    present = decision(Action.PAUSE, item, name="d0", reason="x")
    present = present.model_copy(update={"metadata": present.metadata.model_copy(update={"uid": "u0"})})
    plan = reconcile_rollout(observed(item, None, present), later(1))
    kept = {record.uid for record in plan.status.decisions}
    assert "u0" in kept
    assert "u1" not in kept
    assert [act.ref.name for act in plan.actions if isinstance(act, Delete)] == ["d0"]


@given(
    stage=st.sampled_from(list(Stage)),
    seconds=st.integers(0, 3599),
    units=st.integers(0, 5000),
    safe=st.floats(allow_nan=True, allow_infinity=True),
    missing=st.integers(0, 5000),
)
def test_bad_numbers_never_advance(stage: Stage, seconds: int, units: int, safe: float, missing: int) -> None:
    item = in_stage(stage)
    evidence = with_signal(
        good_evidence(item, later(seconds)),
        Signal.SUCCESS_RATE,
        safe_log_e=safe,
        missing=missing,
        units=units,
    )
    status = reconcile_rollout(observed(item, evidence), later(seconds)).status
    if status.state is NEXT[stage]:
        assert 2.9957 <= safe < float("inf")  # ln 20
        assert missing <= units
    else:
        assert status.state.value == stage.value


@given(stage=st.sampled_from(list(Stage)), waits=st.lists(st.integers(0, 900), max_size=6))
def test_more_waiting_never_goes_back(stage: Stage, waits: list[int]) -> None:
    order = [state.value for state in table.STAGES]
    item, now = in_stage(stage), T0
    evidence = None
    for wait in waits:
        now += timedelta(seconds=wait)
        status = reconcile_rollout(observed(item, evidence), now).status
        assert order.index(status.state.value) >= order.index(stage.value)
        item = after(item, status)


@given(
    stage=st.sampled_from(list(Stage)),
    others=st.permutations([Action.PROMOTE, Action.PAUSE, Action.RESUME, Action.APPROVE, Action.OVERRIDE]),
    paused=st.booleans(),
    held=st.booleans(),
    harm=st.sampled_from([-3.0, 99.0]),
)
def test_abort_dominates_every_other_act_of_the_look(
    stage: Stage, others: list[Action], paused: bool, held: bool, harm: float
) -> None:
    item = in_stage(stage, paused=paused, held=held)
    evidence = with_signal(good_evidence(item, later(100)), Signal.SUCCESS_RATE, harm_log_e=harm)
    acts = [decision(action, item) for action in (*others, Action.ABORT)]
    status = reconcile_rollout(observed(item, evidence, *acts), later(100)).status
    assert (status.state, status.outcome) == (State.DRAINING, Outcome.ABORTED)
    results = {record.action: record.result for record in status.decisions}
    assert results.pop(Action.ABORT) == "Applied"
    assert set(results.values()) == {"Refused"}


@given(state=st.sampled_from([State.PENDING, *table.STAGES]), step=st.integers(1, 200))
def test_abort_reaches_stable_in_bounded_looks_from_every_state(state: State, step: int) -> None:
    item = rollout(observed_generation=1) if state is State.PENDING else in_stage(Stage(state.value))
    seen = observed(item, None, decision(Action.ABORT, item))
    now = T0
    for _ in range(4):
        now += timedelta(seconds=step)
        seen = at_rest(seen, now)
    assert seen.rollout.status is not None
    assert (seen.rollout.status.state, seen.rollout.status.outcome) == (State.DONE, Outcome.ABORTED)
    assert seen.plan is not None
    assert seen.plan.candidate is None
    assert seen.plan.stable.version == "1.0.0"


def test_abort_turns_a_promotion_back_while_it_drains() -> None:
    item = drained(Outcome.PROMOTED)
    seen = replace(item, decisions=(decision(Action.ABORT, item.rollout),))
    plan = reconcile_rollout(seen, later(2))
    assert (plan.status.state, plan.status.outcome) == (State.DRAINING, Outcome.ABORTED)
    assert routes(plan)[0].plan.stable.version == "1.0.0"


def test_a_workflow_that_is_gone_ends_the_rollout() -> None:
    item = in_stage(Stage.CONTROLLED)
    seen = replace(observed(item, None), workflow=None)
    first = reconcile_rollout(seen, later(1)).status
    assert first.outcome is Outcome.SUPERSEDED
    assert reconcile_rollout(replace(seen, rollout=after(item, first)), later(2)).status.state is State.DONE


def test_equal_inputs_give_equal_answers() -> None:
    item = in_stage(Stage.SHADOW)
    seen = observed(item, good_evidence(item, later(90)), decision(Action.PAUSE, item))
    assert reconcile_rollout(seen, later(100)) == reconcile_rollout(seen, later(100))
