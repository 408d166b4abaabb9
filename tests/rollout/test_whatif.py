"""A strategy with other numbers."""

import pytest

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.resources.base import Fraction
from sluicegate.contracts.stages import Stage
from sluicegate.rollout import planning
from sluicegate.rollout.whatif import Changes, changed
from tests.rollout.measured import COUNTS, VALUE
from tests.rollout.samples import workflow_spec

SPEC = workflow_spec("2.0.0", stages=[{"name": "Canary", "minRuns": 300}])


def margins(changes: Changes) -> dict[tuple[str, str], str | None]:
    stages = planning.plan_stages(changed(SPEC, changes))
    return {(stage.name.value, gate.name): gate.margin for stage in stages for gate in stage.gates}


def test_nothing_changed_gives_the_same_plan() -> None:
    assert planning.plan_stages(changed(SPEC, Changes())) == planning.plan_stages(SPEC)
    assert not Changes().any


def test_a_margin_changes_in_every_stage_or_in_one() -> None:
    usual = margins(Changes())
    everywhere = margins(Changes(margins={"success": "0.03"}))
    assert {key for key in usual if usual[key] != everywhere[key]} == {
        (stage.value, "success") for stage in Stage
    }
    one = margins(Changes(margins={"Shadow/success": "0.03", "success": "0.04"}))
    assert [one[stage.value, "success"] for stage in Stage] == ["0.04", "0.03", "0.04", "0.04"]


def test_shares_traffic_and_gates_that_are_left_out() -> None:
    changes = Changes(
        shares={Stage.SHADOW: Fraction(numerator=1, denominator=2)},
        traffic=7,
        left_out=frozenset({"latency", "Canary/success"}),
    )
    spec = changed(SPEC, changes)
    stages = {stage.name: stage for stage in planning.plan_stages(spec)}
    assert spec.expected_runs_per_hour == 7
    assert stages[Stage.SHADOW].share == Fraction(numerator=1, denominator=2)
    assert stages[Stage.CANARY].min_runs == 300, "what is written stays"
    optional = {
        (stage.name.value, gate.name)
        for stage in stages.values()
        for gate in stage.gates
        if not gate.required
    }
    assert optional == {("Canary", "success"), *((stage.value, "latency") for stage in Stage)}


def test_every_unknown_name_is_told_at_once() -> None:
    with pytest.raises(Refused) as error:
        changed(
            SPEC,
            Changes(
                margins={"sucess": "0.03", "Full/disagreement": "0.1"},
                left_out=frozenset({"x"}),
                shares={Stage.FULL: Fraction(numerator=1, denominator=2)},
            ),
        )
    assert [(one.path, one.value) for one in error.value.problems] == [
        ("--margin", "sucess"),
        ("--margin", "Full/disagreement"),
        ("--without", "x"),
        ("--share", "Full"),
    ]


def test_a_margin_that_no_gate_would_look_at_is_told() -> None:
    """Contributions have a delta, limits a limit; nothing is silently left as it was."""
    gates = [
        {"name": "success", "signal": "WorkflowSuccessRate"},
        {"name": "contributions", "signal": "RewardShapleyVariance", "delta": "0.01"},
        {"name": "p95", "source": VALUE},
        {"name": "rate", "source": COUNTS | {"limit": {"max": "0.05"}}},
        {"name": "errors", "source": COUNTS},
    ]
    spec = workflow_spec("2.0.0", stages=[{"name": "Shadow", "gates": gates}])
    with pytest.raises(Refused) as error:
        changed(
            spec, Changes(margins=dict.fromkeys(("contributions", "p95", "Shadow/rate", "errors"), "0.1"))
        )
    told = [(one.path, one.value, "delta" in (one.hint or "")) for one in error.value.problems]
    assert told == [
        ("--margin", "contributions", True),
        ("--margin", "p95", False),
        ("--margin", "Shadow/rate", False),
    ]
    (stage,) = [
        one
        for one in planning.plan_stages(changed(spec, Changes(margins={"errors": "0.1"})))
        if one.name is Stage.SHADOW
    ]
    assert [gate.margin for gate in stage.gates] == ["0.02", "0.01", None, None, "0.1"]
