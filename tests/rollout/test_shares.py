"""The check that is always on: an alarm holds, nothing else of it moves a rollout, and what is missing never alarms."""

import math
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluicegate.contracts.evidence import RoutingCounts, RoutingSpan, StageEvidence
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.rollout import RolloutStatus, WorkflowRollout
from sluicegate.contracts.stages import Action, Check, Outcome, Signal, Stage, State, Verdict
from sluicegate.rollout import gates, planning, shares, verdicts
from sluicegate.rollout.judging import View
from sluicegate.rollout.model import Emit
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.rollout.samples import (
    SHORT,
    decision,
    good_evidence,
    in_stage,
    later,
    observed,
    remember,
    with_signal,
    workflow_spec,
)

NOW = later(3000)


def routing(
    chosen: int, others: int, unknown: int = 0, *, age: float = 86_400.0, until: datetime | None = NOW
) -> RoutingCounts:
    """Units whose arm was chosen `age` seconds ago."""
    end = int((NOW - timedelta(seconds=age)).timestamp())
    return RoutingCounts(spans=(RoutingSpan(end, chosen, others, unknown),), until=until)


def seen(stage: Stage, counts: RoutingCounts, at: datetime = NOW) -> tuple[WorkflowRollout, StageEvidence]:
    item = in_stage(stage)
    return item, good_evidence(item, at, routing=counts)


def finding(stage: Stage, evidence: StageEvidence | None, *, late: bool = False) -> Finding:
    spec = in_stage(stage).spec
    view = View(spec=spec, stage=planning.stage_of(spec, stage), evidence=evidence, now=NOW, late=late)
    (found,) = [one for one in gates.evaluate(view) if one.signal is Check.ROUTING]
    return found


# SHORT: Shadow has a second copy of stable for half of the pairs, Controlled 20 %, Full everything.
RIGHT = {Stage.SHADOW: routing(505, 495), Stage.CONTROLLED: routing(505, 1995), Stage.FULL: routing(400, 0)}
WRONG = {Stage.SHADOW: routing(400, 600), Stage.CONTROLLED: routing(375, 2125), Stage.FULL: routing(400, 1)}


@pytest.mark.parametrize("stage", RIGHT)
def test_declared_shares_say_so_and_change_nothing(stage: Stage) -> None:
    item, evidence = seen(stage, RIGHT[stage])
    found = finding(stage, evidence)
    assert (found.verdict, found.reason, found.required) == (Verdict.PASS, "SharesKept", False)
    status = reconcile_rollout(observed(item, evidence), NOW).status
    assert not status.held
    assert status.state is not State(stage.value), "every gate passed: the stage is left"


@pytest.mark.parametrize("stage", WRONG)
def test_a_mismatch_holds_although_every_gate_passes(stage: Stage) -> None:
    item, evidence = seen(stage, WRONG[stage])
    plan = reconcile_rollout(observed(item, evidence), NOW)
    status = plan.status
    assert (status.state, status.held, status.outcome) == (State(stage.value), True, None)
    assert status.hold_reason is not None
    assert status.hold_reason.startswith("SampleRatioMismatch: ")
    shown = {gate.name: gate for gate in status.gates}["routing"]
    assert (shown.signal, shown.verdict, shown.reason) == (
        "RoutingShares",
        "Inconclusive",
        "SampleRatioMismatch",
    )
    assert status.summary is not None
    assert status.summary.gate == "Inconclusive routing"
    (stalled,) = [one for one in status.conditions if one.type == "Stalled"]
    assert (stalled.status, stalled.reason) == ("True", "Held")
    assert [act.event.reason for act in plan.actions if isinstance(act, Emit)] == ["StageHeld"]


def test_the_sentence_has_both_numbers_n_e_and_what_to_check() -> None:
    _, evidence = seen(Stage.CONTROLLED, routing(375, 2125))
    said = finding(Stage.CONTROLLED, evidence).message
    assert said.startswith("candidate answered 15.0 % of 2500 units, declared 20.0 %: not as declared (e = ")
    assert "≥ 1e+03 = 1/α)" in said
    assert "check that" in said


def held(stage: Stage = Stage.CONTROLLED) -> WorkflowRollout:
    item, evidence = seen(stage, WRONG[stage])
    status = reconcile_rollout(observed(item, evidence), NOW).status
    return item.model_copy(update={"status": status})


def ask(item: WorkflowRollout, action: Action, **spec: Any) -> tuple[RolloutStatus, str]:
    evidence = good_evidence(item, NOW, routing=WRONG[Stage.CONTROLLED])
    made = decision(action, item, **spec)
    status = reconcile_rollout(observed(item, evidence, made), NOW).status
    return status, f"{status.decisions[-1].result}: {status.decisions[-1].message}"


def test_a_person_overrides_it_with_a_reason() -> None:
    status, said = ask(held(), Action.OVERRIDE, reason="the proxy is known")
    assert said.startswith("Applied")
    assert status.state is State.FULL
    refused, said = ask(held(), Action.OVERRIDE, reason=" ")
    assert said == "Refused: a reason is needed"
    assert refused.state is State.CONTROLLED


def test_promote_does_not_pass_over_it_whether_held_already_or_in_this_look() -> None:
    for item in (held(), in_stage(Stage.CONTROLLED)):
        status, said = ask(item, Action.PROMOTE)
        assert (status.state, status.held) == (State.CONTROLLED, True)
        assert "use override with a reason" in said


def test_abort_and_a_gate_that_fails_go_on_working() -> None:
    assert ask(held(), Action.ABORT)[0].outcome is Outcome.ABORTED
    for item in (held(), in_stage(Stage.CONTROLLED)):
        bad = good_evidence(item, NOW, routing=WRONG[Stage.CONTROLLED])
        bad = with_signal(bad, Signal.SUCCESS_RATE, harm_log_e=99.0)
        assert reconcile_rollout(observed(item, bad), NOW).status.outcome is Outcome.ABORTED


def test_the_hold_stays_when_later_units_look_better() -> None:
    item = held()
    better = good_evidence(item, NOW, routing=RIGHT[Stage.CONTROLLED])
    status = reconcile_rollout(observed(item, better), later(3100)).status
    assert (status.state, status.held) == (State.CONTROLLED, True)


MISSING: dict[str, RoutingCounts] = {
    "nothing was counted": RoutingCounts(),
    "no unit has closed": routing(0, 9000, until=None),
    "every unit is new": routing(0, 9000, age=600.0),
    "nothing new closed since they were chosen": routing(0, 9000, age=3000.0, until=later(-60)),
    "the gateway's clock is ahead": routing(0, 9000, age=-86_400.0, until=later(90_000)),
    "a closing time is ahead, the units are new": routing(0, 9000, age=600.0, until=later(90_000)),
    "few units of one arm": routing(3, 0),
    "nobody knows what the units were chosen for": routing(0, 0, 9000),
}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("stage", [Stage.SHADOW, Stage.CONTROLLED])
@pytest.mark.parametrize("sentence", MISSING)
def test_what_is_missing_neither_alarms_nor_passes(sentence: str, stage: Stage, late: bool) -> None:
    evidence = good_evidence(in_stage(stage), NOW, routing=MISSING[sentence])
    found = finding(stage, evidence, late=late)
    assert found.verdict is (Verdict.INCONCLUSIVE if late else Verdict.WAIT)
    assert found.reason in {"NoData", "NeedsMore", "InsufficientSamples"}
    assert not found.required


@pytest.mark.parametrize("stage", list(Stage))
def test_no_evidence_at_all_is_no_data(stage: Stage) -> None:
    assert (finding(stage, None).verdict, finding(stage, None).reason) == (Verdict.WAIT, "NoData")


def test_mirrors_dropped_for_want_of_budget_do_not_alarm() -> None:
    _, evidence = seen(Stage.SHADOW, routing(300, 450, 250))
    assert finding(Stage.SHADOW, evidence).reason == "SharesKept"
    _, evidence = seen(Stage.SHADOW, routing(300, 450))
    assert finding(Stage.SHADOW, evidence).reason == "SampleRatioMismatch"


def test_where_only_the_candidate_is_mirrored_there_is_nothing_to_compare() -> None:
    _, evidence = seen(Stage.CANARY, routing(0, 5000))
    found = finding(Stage.CANARY, evidence)
    assert (found.verdict, found.reason, found.required) == (Verdict.WAIT, "NotObserved", False)


def test_one_unit_of_an_arm_without_a_share_is_enough() -> None:
    _, evidence = seen(Stage.FULL, routing(5000, 1))
    found = finding(Stage.FULL, evidence)
    assert found.reason == "SampleRatioMismatch"
    assert "declared 100.0 %" in found.message


def test_it_is_no_required_gate() -> None:
    _, evidence = seen(Stage.CONTROLLED, RIGHT[Stage.CONTROLLED])
    assert verdicts.combine([finding(Stage.CONTROLLED, evidence)]) is Verdict.WAIT


def test_no_gate_of_the_workflow_stands_for_it() -> None:
    named = {
        "name": "Controlled",
        "minRuns": 200,
        "gates": [{"name": "routing", "signal": "WorkflowSuccessRate"}],
    }
    stages = [stage if stage["name"] != "Controlled" else named for stage in SHORT["stages"]]
    item = in_stage(Stage.CONTROLLED, remember(workflow_spec("3.0.0", stages=stages)))
    evidence = good_evidence(item, NOW, routing=WRONG[Stage.CONTROLLED])
    status = reconcile_rollout(observed(item, evidence), NOW).status
    assert [(gate.signal, gate.verdict) for gate in status.gates] == [
        ("WorkflowSuccessRate", "Pass"),
        ("RoutingShares", "Inconclusive"),
    ]
    assert status.held


def test_sessions_wait_a_window_longer_than_runs_and_mirrors_longer_than_answers() -> None:
    spec = in_stage(Stage.CONTROLLED).spec.model_copy(update={"outcome_window_seconds": 7200})
    assert shares.settles_after(spec, arms=1, sessions=False) == 1200 + 7200
    assert shares.settles_after(spec, arms=1, sessions=True) == 1200 + 2 * 7200
    assert shares.settles_after(spec, arms=4, sessions=False) == 4 * 1200 + 7200


def test_alpha_is_one_in_a_thousand() -> None:
    assert math.exp(shares.THRESHOLD) == pytest.approx(1000.0)
