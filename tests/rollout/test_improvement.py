"""An improvement that the business does not see holds the rollout; one that it sees, or that nobody claims, does not."""

from typing import Any

import pytest

from sluicegate.contracts.evidence import Improvement
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.stages import Action, Check, Outcome, Signal, Stage, State, Verdict
from sluicegate.rollout import gates, planning
from sluicegate.rollout.judging import View
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.rollout.samples import decision, good_evidence, in_stage, later, observed, with_signal

NOW = later(3000)
ITEM = in_stage(Stage.CONTROLLED)


def seen(**fields: Any) -> Improvement:
    known: dict[str, Any] = {
        "units": 640,
        "missing": 12,
        "reward": 0.812,
        "stable_reward": 0.741,
        "outcome": 0.902,
        "stable_outcome": 0.905,
        "tolerance": 0.02,
        "gain_log_e": 0.0,
        "flat_log_e": 0.0,
        "rise_log_e": 0.0,
    }
    return Improvement(**(known | fields))


FLAT = seen(gain_log_e=9.0, flat_log_e=4.0)
OPEN = seen(gain_log_e=9.0, flat_log_e=2.9)


def finding(item: Improvement | None, *, late: bool = False) -> Finding | None:
    evidence = good_evidence(ITEM, NOW, improvement=item)
    stage = planning.stage_of(ITEM.spec, Stage.CONTROLLED)
    view = View(spec=ITEM.spec, stage=stage, evidence=evidence, now=NOW, late=late)
    found = [one for one in gates.evaluate(view) if one.signal is Check.IMPROVEMENT]
    return found[0] if found else None


def look(item: Improvement | None, *people: Any, **harm: Any) -> RolloutStatus:
    evidence = good_evidence(ITEM, NOW, improvement=item)
    if harm:
        evidence = with_signal(evidence, Signal.SUCCESS_RATE, **harm)
    return reconcile_rollout(observed(ITEM, evidence, *people), NOW).status


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (seen(), (Verdict.WAIT, "NoImprovement", False)),
        (seen(flat_log_e=9.0), (Verdict.WAIT, "NoImprovement", False)),
        (OPEN, (Verdict.WAIT, "NeedsMore", True)),
        (FLAT, (Verdict.INCONCLUSIVE, "ImprovementNotConfirmed", True)),
        (seen(gain_log_e=9.0, rise_log_e=3.0), (Verdict.PASS, "ImprovementConfirmed", False)),
        (seen(gain_log_e=9.0, rise_log_e=3.0, flat_log_e=9.0), (Verdict.PASS, "ImprovementConfirmed", False)),
        (seen(gain_log_e=9.0, flat_log_e=9.0, missing=641), (Verdict.WAIT, "NoData", False)),
    ],
    ids=[
        "nothing",
        "no claim",
        "open",
        "gamed",
        "confirmed",
        "a little better is better",
        "outcomes of a few",
    ],
)
def test_the_finding(item: Improvement, expected: tuple[Verdict, str, bool]) -> None:
    found = finding(item)
    assert found is not None
    assert (found.verdict, found.reason, found.required) == expected
    assert (found.on_fail, found.have, found.gate) == ("Hold", 640, "improvement")


def test_where_nobody_reports_outcomes_there_is_no_finding() -> None:
    assert finding(None) is None
    assert look(None).state is State.FULL


def test_a_reward_without_an_outcome_holds_although_every_gate_passes() -> None:
    status = look(FLAT)
    assert (status.state, status.held, status.outcome) == (State.CONTROLLED, True, None)
    assert status.hold_reason is not None
    assert status.hold_reason.startswith(
        "ImprovementNotConfirmed: the evaluator gave the candidate 0.812 and stable 0.741"
    )
    assert "the business 0.902 and 0.905" in status.hold_reason
    assert "(e = 54.6 ≥ 20 = 1/α)" in status.hold_reason
    assert status.summary is not None
    assert status.summary.gate == "Inconclusive improvement"


def test_an_open_question_keeps_the_stage_and_holds_nothing_before_the_deadline() -> None:
    status = look(OPEN)
    assert (status.state, status.held) == (State.CONTROLLED, False)
    late = finding(OPEN, late=True)
    assert late is not None
    assert (late.verdict, late.reason) == (Verdict.INCONCLUSIVE, "InsufficientSamples")


@pytest.mark.parametrize(
    "item", [seen(), seen(gain_log_e=9.0, rise_log_e=3.0)], ids=["no claim", "confirmed"]
)
def test_others_pass(item: Improvement) -> None:
    assert look(item).state is State.FULL


def test_it_makes_nothing_pass_and_a_gate_that_fails_goes_on_aborting() -> None:
    confirmed = seen(gain_log_e=9.0, rise_log_e=9.0)
    assert look(confirmed, safe_log_e=0.0).state is State.CONTROLLED
    assert look(FLAT, harm_log_e=99.0).outcome is Outcome.ABORTED


def test_a_person_overrides_with_a_reason() -> None:
    assert look(FLAT, decision(Action.PROMOTE, ITEM)).state is State.CONTROLLED
    held = ITEM.model_copy(update={"status": look(FLAT)})
    evidence = good_evidence(held, NOW, improvement=FLAT)
    asked = decision(Action.OVERRIDE, held, reason="outcomes of this kind come weeks later")
    assert reconcile_rollout(observed(held, evidence, asked), NOW).status.state is State.FULL
