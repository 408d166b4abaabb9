"""Recorded runs of two versions through the same fold, gates and table."""

import random  # noqa: TID251 - seeded

import pytest

from sluicegate.contracts.evidence import ArmFacts
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Outcome, Signal, Stage, Verdict
from sluicegate.rollout.backtest import RecordedPair, backtest
from tests.rollout.samples import workflow_spec

GATES = [{"name": "success", "signal": "WorkflowSuccessRate"}]


def spec(**changes: object) -> WorkflowSpec:
    stages = [
        {"name": stage, "minRuns": 50, "gates": GATES} | changes
        for stage in ("Canary", "Shadow", "Controlled", "Full")
    ]
    return workflow_spec("2.0.0", stages=stages)


def facts(success: bool) -> ArmFacts:
    return ArmFacts(success=float(success), latencies_ms=())


def pairs(count: int, stable: float, candidate: float, seed: int = 7) -> list[RecordedPair]:
    draw = random.Random(seed)
    return [
        RecordedPair(
            unit=f"u{number}",
            stable=facts(draw.random() < stable),
            candidate=facts(draw.random() < candidate),
            control=facts(draw.random() < stable),
            runs=(f"run-{number}",),
        )
        for number in range(count)
    ]


def test_an_equal_candidate_is_promoted_through_all_stages() -> None:
    report = backtest(spec(), pairs(20_000, 0.95, 0.95))
    assert report.outcome is Outcome.PROMOTED
    assert [stage.stage for stage in report.stages] == list(Stage)
    assert all(stage.verdict is Verdict.PASS for stage in report.stages)
    controlled = report.stages[2]
    assert controlled.units == pytest.approx(0.2 * controlled.pairs, rel=0.25), "the hash takes its share"


def test_a_bad_candidate_is_aborted_in_the_first_stage_and_says_when() -> None:
    report = backtest(spec(), pairs(20_000, 0.95, 0.60))
    assert (report.outcome, report.stage) == (Outcome.ABORTED, Stage.CANARY)
    (gate,) = report.stages[0].gates
    assert gate.decided_after == report.stages[0].units < 200
    assert gate.finding.signal is Signal.SUCCESS_RATE
    assert gate.finding.runs
    assert "gate success" in report.message


def test_too_few_records_decide_nothing() -> None:
    report = backtest(spec(), pairs(30, 0.95, 0.95))
    assert report.outcome is None
    assert report.stages[-1].verdict is Verdict.INCONCLUSIVE
    assert "used up" in report.message


def test_same_records_same_report() -> None:
    assert backtest(spec(), pairs(3000, 0.9, 0.88)) == backtest(spec(), pairs(3000, 0.9, 0.88))


def test_a_hold_gate_is_held_and_not_aborted() -> None:
    hold = [{"name": "success", "signal": "WorkflowSuccessRate", "onFail": "Hold"}]
    report = backtest(spec(gates=hold), pairs(2000, 0.95, 0.5))
    assert report.outcome is None
    assert report.message.startswith("held for a person")


def test_equal_versions_are_aborted_within_the_error_budget() -> None:
    # α = 0.05; under the null at most about 1 of 20 aborts, and the bound is conservative.
    aborted = sum(
        backtest(spec(), pairs(600, 0.9, 0.9, seed=seed)).outcome is Outcome.ABORTED for seed in range(20)
    )
    assert aborted <= 2


def test_durations_count_when_asked_for() -> None:
    slow = spec(minDurationSeconds=3600)
    quick = backtest(slow, pairs(4000, 1.0, 1.0))
    patient = backtest(slow, pairs(4000, 1.0, 1.0), ignore_durations=False)
    assert patient.stages[0].units >= quick.stages[0].units
    assert patient.stages[0].seconds >= 3600
