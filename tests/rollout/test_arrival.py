"""When a stage is decided, at the measured rates: hand-worked numbers, and how often the status tells them."""

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluicegate.contracts.evidence import StageEvidence
from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.rollout import arrival, gates, planning
from sluicegate.rollout.judging import View
from sluicegate.rollout.model import Plan
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.rollout import measured
from tests.rollout.samples import good_evidence, in_stage, later, observed

STAGE = Stage.CONTROLLED
ITEM = in_stage(STAGE)
NOW = later(100)


def undecided(lacks: dict[Signal, tuple[float, float | None]], **fields: Any) -> StageEvidence:
    """Everything is there, but for what some gates lack: (log e-value of safety, its growth a unit)."""
    found = good_evidence(ITEM, NOW)
    signals = tuple(
        replace(one, safe_log_e=lacks[one.signal][0], growth=lacks[one.signal][1])
        if one.signal in lacks
        else one
        for one in found.signals
    )
    return replace(found, signals=signals, **fields)


def seconds(evidence: StageEvidence | None, soaked: float = 60.0, **stage: Any) -> int | None:
    planned = planning.stage_of(ITEM.spec, STAGE).model_copy(update=stage)
    view = View(spec=ITEM.spec, stage=planned, evidence=evidence, now=NOW)
    return arrival.to_decision(view, gates.evaluate(view), soaked)


NEEDED = math.log(20.0)  # α of promotion is 0.05
HOUR = 3600.0
SUCCESS, LATENCY = Signal.SUCCESS_RATE, Signal.P95_LATENCY
WORKED: dict[str, tuple[StageEvidence | None, dict[str, Any], int | None]] = {
    "nothing is lacking": (undecided({}), {}, 0),
    "one gate lacks a log e-value of 2 at 0.01 a unit: 200 units at 7200 an hour": (
        undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=7200.0), {}, 100,
    ),
    "the slower of two gates counts": (
        undecided({SUCCESS: (NEEDED - 2.0, 0.01), LATENCY: (NEEDED - 3.0, 0.001)}, units_per_hour=7200.0), {}, 1500,
    ),
    "half of its time is over": (undecided({}), {"min_duration_seconds": 120}, 60),
    "runs: 300 of 1200 at 900 an hour": (undecided({}, units=300, units_per_hour=900.0), {"min_runs": 1200}, 3600),
    "a gate that gets nowhere": (undecided({SUCCESS: (NEEDED - 2.0, 0.0)}), {}, None),
    "no rate is known": (undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=None), {}, None),
    "units stopped coming": (undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=0.0), {}, None),
    "a rate that is no number": (undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=float("nan")), {}, None),
    "nothing was seen": (None, {}, None),
}  # fmt: skip


@pytest.mark.parametrize("sentence", WORKED)
def test_worked_by_hand(sentence: str) -> None:
    evidence, stage, expected = WORKED[sentence]
    assert seconds(evidence, **stage) == expected


def test_a_gate_that_is_not_required_is_not_waited_for() -> None:
    planned = planning.stage_of(ITEM.spec, STAGE)
    relaxed = tuple(
        gate.model_copy(update={"required": gate.signal is not SUCCESS}) for gate in planned.gates
    )
    assert seconds(undecided({SUCCESS: (NEEDED - 2.0, 0.0)}), gates=relaxed) == 0


def test_a_gate_that_sees_half_of_the_units_takes_twice_as_long() -> None:
    """500 of its pairs in 1000 units at 3600 an hour: half a pair a second, so 100 more take 200 s."""
    evidence = replace(good_evidence(ITEM, NOW), units=1000, units_per_hour=HOUR)
    assert arrival.of_units(evidence, 500, 100) == 200.0
    assert arrival.of_units(evidence, 1000, 100) == 100.0


def test_the_gates_sentence_and_the_status_tell_the_same_time() -> None:
    evidence = undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=7200.0)
    view = View(spec=ITEM.spec, stage=planning.stage_of(ITEM.spec, STAGE), evidence=evidence, now=NOW)
    (said,) = [one.message for one in gates.evaluate(view) if one.signal is SUCCESS]
    assert said.endswith("needs about 200 more units (≈ 1.67 min)")
    assert seconds(evidence) == 100


@pytest.mark.parametrize(
    ("source", "found", "expected"),
    [
        (measured.VALUE, {"good": 1}, 60.0),  # two more of three looks, every 30 s
        (measured.VALUE, {"good": 3}, 0.0),
        (measured.VALUE, {"bad": 1}, None),
        (measured.VALUE, {}, None),
    ],
)
def test_looks_at_a_value(source: dict[str, Any], found: dict[str, int], expected: float | None) -> None:
    held = Measured(gate="outside", **found)
    gate = measured.gate(source)
    assert gate.source is not None
    assert arrival.of_looks(gate.source, held) == expected


def test_units_that_are_counted_elsewhere_come_as_fast_as_since_the_stage_began() -> None:
    """400 in 200 s: 100 more take 50 s."""
    view = View(
        spec=ITEM.spec,
        stage=planning.stage_of(ITEM.spec, STAGE),
        evidence=None,
        now=NOW,
        active_seconds=200.0,
    )
    assert arrival.of_counts(view, 400, 100) == 50.0
    assert arrival.of_counts(view, 0, 100) is None
    assert arrival.of_counts(replace(view, active_seconds=0.0), 400, 100) is None


# --- in the status ---------------------------------------------------------------------------------------------


def look(item: WorkflowRollout, evidence: StageEvidence | None, now: datetime = NOW) -> Plan[RolloutStatus]:
    return reconcile_rollout(observed(item, evidence), now)


def test_the_status_tells_it_in_seconds_in_words_and_in_the_condition() -> None:
    plan = look(ITEM, undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=7200.0))
    status = plan.status
    assert status.estimated_seconds_to_decision == 100
    assert status.summary is not None
    assert status.summary.decision_in == "1.67 min"
    (said,) = [one.message for one in status.conditions if one.type == "EvidenceSufficient"]
    assert said == "success: NeedsMore; about 1.67 min at the present rates"


def test_an_unknown_time_is_absent() -> None:
    status = look(ITEM, undecided({SUCCESS: (NEEDED - 2.0, 0.0)})).status
    assert status.estimated_seconds_to_decision is None
    assert status.summary is not None
    assert status.summary.decision_in is None
    assert "estimatedSecondsToDecision" not in status.to_json()


def test_time_that_passes_alone_writes_nothing() -> None:
    """At rest no unit comes: whatever the estimate says then, the stored status stays, however long."""
    first = look(ITEM, undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=7200.0)).status
    item = ITEM.model_copy(update={"status": first})
    slower = undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=3600.0)
    for passed in (1, 61, 300):
        assert look(item, slower, NOW + timedelta(seconds=passed)).status == first


def test_numbers_that_move_are_written_once_per_interval() -> None:
    """A new estimate rides on the write that the numbers get anyway: every evaluation interval (10 s) at most."""
    status = look(ITEM, undecided({SUCCESS: (NEEDED - 2.0, 0.01)}, units_per_hour=7200.0)).status
    item, writes = ITEM.model_copy(update={"status": status}), 0
    for passed in range(1, 61):
        evidence = undecided(
            {SUCCESS: (NEEDED - 2.0 + passed / 100, 0.01)}, units_per_hour=7200.0, units=10_000 + passed
        )
        status = look(item, evidence, NOW + timedelta(seconds=passed)).status
        writes += status != item.status
        item = item.model_copy(update={"status": status})
    assert writes == 6
