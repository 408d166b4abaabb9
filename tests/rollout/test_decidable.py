"""Refused is what no evidence could decide: held against the real fold and gates on the clearest evidence there is."""

from datetime import timedelta

import pytest

from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, Observation
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Stage, Verdict
from sluicegate.observability.fold import Fold
from sluicegate.rollout import decidable, gates, judging, lint, planning
from tests.rollout.samples import SHORT, T0, rollout, workflow, workflow_spec

SUCCESS, LATENCY = "WorkflowSuccessRate", "WorkflowP95Latency"
GOOD, BAD = (
    ArmFacts(success=float(not bad), latencies_ms=(5000.0 if bad else 10.0,)) for bad in (False, True)
)


def spec_with(reach: int, *, signal: str = SUCCESS, stage: str = "Canary", **fields: object) -> WorkflowSpec:
    """So many units of the candidate before the deadline: one a second."""
    one = {
        "name": stage,
        "share": {"numerator": 1, "denominator": 1},
        "minRuns": 1,
        "minDurationSeconds": 0,
        "maxDurationSeconds": reach,
        "gates": [{"name": "g", "signal": signal, "margin": "0.05"}],
    } | fields
    skipped = [name for name in ("Canary", "Shadow", "Controlled") if name != stage]
    spec = workflow_spec("2.0.0", stages=[one], skipStages=skipped, outcomeWindowSeconds=0)
    return spec.model_copy(update={"expected_runs_per_hour": 3600})


def refused(spec: WorkflowSpec) -> list[str]:
    return [problem.message for problem in decidable.problems(spec) if "of Canary" in problem.message]


def verdicts(spec: WorkflowSpec, reach: int, candidate: ArmFacts, stable: ArmFacts) -> set[Verdict]:
    """What the gate says after each of the units, when all of them are alike."""
    planned = planning.plan_stages(spec)[0]
    fold = Fold(EvidenceKey("r", Stage.CANARY, 1), planning.questions(rollout(spec).spec, Stage.CANARY, {}))
    said = set()
    for sequence in range(1, reach + 1):
        at = T0 + timedelta(seconds=sequence)
        fold.add(
            Observation(
                sequence=sequence,
                key=fold.key,
                unit=str(sequence),
                runs=(),
                at=at,
                stable=stable,
                candidate=candidate,
            )
        )
        view = judging.View(spec=rollout(spec).spec, stage=planned, evidence=fold.evidence(), now=at)
        said.add(gates.judge(view, planned.gates[0]).verdict)
    return said


@pytest.mark.parametrize("signal", [SUCCESS, LATENCY])
@pytest.mark.parametrize("reach", [3, 5, 6, 7, 8, 9, 10, 11, 15, 58, 59, 60])
def test_refused_if_and_only_if_no_evidence_could_decide(signal: str, reach: int) -> None:
    spec = spec_with(reach, signal=signal)
    can_fail = Verdict.FAIL in verdicts(spec, reach, BAD, GOOD)
    can_pass = Verdict.PASS in verdicts(spec, reach, GOOD, BAD)
    told = refused(spec)
    assert bool(told) is not (can_fail and can_pass), (told, can_fail, can_pass)
    if told:
        assert ("fail" in told[0].partition(":")[0]) is not can_fail
        assert ("pass" in told[0].partition(":")[0]) is not can_pass


def test_a_latency_boundary_that_stable_sets_costs_units() -> None:
    spec = spec_with(100, signal=LATENCY)
    without = WorkflowSpec.model_validate(spec.to_json() | {"contract": {"sla": {}}})
    assert refused(spec) == []
    (message,) = refused(without)
    assert "below 59 units after the 59 that set its boundary" in message


def test_a_gate_on_copies_sees_only_the_units_that_have_one() -> None:
    every, tenth = ({"numerator": 1, "denominator": denominator} for denominator in (1, 10))
    assert refused(spec_with(100, signal=LATENCY, controlShare=every)) == []
    assert len(refused(spec_with(100, signal=LATENCY, controlShare=tenth))) == 1


def test_the_refusal_says_where_what_is_allowed_and_what_to_do() -> None:
    (problem,) = (one for one in decidable.problems(spec_with(5)) if "Canary" in one.message)
    assert problem.path == "spec.rollout.stages[0].maxDurationSeconds"
    assert problem.value == "5"
    seconds = int((problem.allowed or "").rpartition(": ")[2].split()[0])
    assert refused(spec_with(seconds)) == [], "what it allows is enough"
    assert "skipStages: [Canary]" in (problem.hint or "")


def test_a_margin_that_nothing_could_exceed_is_refused() -> None:
    def problems(margin: str) -> list[str]:
        gate = {"name": "g", "signal": SUCCESS, "margin": margin}
        spec = workflow_spec("2.0.0", stages=[{"name": "Canary", "minRuns": 100, "gates": [gate]}]).to_json()
        spec["contract"]["sla"] = {"minSuccessRate": "0.9"}
        found = decidable.problems(WorkflowSpec.model_validate(spec))
        return [f"{one.path} {one.value} {one.allowed}" for one in found]

    assert problems("0.89") == []
    assert problems("0.95") == ["spec.rollout.stages[0].gates[0].margin 0.95 below 0.9"]


def test_the_usual_strategies_are_not_refused() -> None:
    for fields in ({}, SHORT):
        assert list(decidable.problems(workflow_spec("2.0.0", **fields))) == []
    assert lint.lint(workflow(workflow_spec("2.0.0", **SHORT))).ok


def test_without_traffic_or_with_a_strategy_that_is_wrong_otherwise_nothing_is_added() -> None:
    unknown = spec_with(5).model_copy(update={"expected_runs_per_hour": None})
    assert refused(unknown) == []
    wrong = {"name": "Canary", "share": {"numerator": 0}, "gates": [{"name": "g", "signal": SUCCESS}]}
    assert refused(workflow_spec("2.0.0", stages=[wrong])) == []
    assert refused(workflow_spec("2.0.0", errorBudget={"abort": "0"})) == []
