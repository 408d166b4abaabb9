"""Many questions have one budget, counted in steps, so that the same workflow gets the same answer everywhere."""

from typing import Any

import pytest

from sluicegate.contracts.analysis import analyse
from sluicegate.contracts.containment import Budget, Verdict, covers
from sluicegate.contracts.containment import budget as steps_of
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.verification import verify

Schema = dict[str, Any]
STEPS = 120
ONE_QUESTION = 12_000.0
"""No question of this workflow takes more; the bombs of benchmarks/schema_bombs.py take up to 9 000."""


def choices(number: int, count: int) -> Schema:
    """Overlapping alternatives of two fields, other ones for each number, so that nothing is remembered."""
    branches = [
        {"properties": {f"a{at % 7}": {"maximum": at + number}, f"b{at % 5}": {"minLength": at}}, "required": [f"a{at % 7}"]}
        for at in range(count)
    ]  # fmt: skip
    return {"type": "object", "anyOf": branches, "not": {"required": [f"z{number}"], "minProperties": 3}}


def hostile(count: int) -> AgentWorkflow:
    """A component before all others whose fields they read, each with a contract that is long to compare with its own."""
    fields = [f"f{number}" for number in range(count)]
    first = {
        "type": "object",
        "required": fields,
        "properties": {name: choices(number, 40) for number, name in enumerate(fields)},
    }
    takes = {
        "type": "object",
        "properties": {name: choices(number + 1, 41) for number, name in enumerate(fields)},
    }
    parts = {"source": (True, first), "sink": (takes, True)}
    components = [
        {
            "name": name,
            "version": "1.0.0",
            "endpoint": {"url": f"http://{name}.shop.svc"},
            "sideEffects": "None",
            "contract": {"input": gets, "output": gives},
        }
        for name, (gets, gives) in parts.items()
    ]
    steps = [
        {"name": "source", "component": "source"},
        {"name": "sink", "component": "sink", "inputs": {name: f"steps.source.{name}" for name in fields}},
    ]
    spec = {
        "version": "1.0.0",
        "components": components,
        "steps": steps,
        "routing": {"key": "headers.session"},
    }
    return parse_data(
        {
            "apiVersion": "sluicegate.io/v1alpha1",
            "kind": "AgentWorkflow",
            "metadata": {"name": "hostile", "namespace": "shop"},
            "spec": spec,
        }
    )  # type: ignore[return-value]


def test_a_workflow_that_takes_too_long_is_told_to_be_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Budget] = []

    class Seen(Budget):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr("sluicegate.contracts.analysis.edges.Budget", Seen)
    found = [one for one in analyse(hostile(STEPS)) if one.code == "EdgesNotCompared"]
    (budget,) = made
    assert budget.steps - budget.left <= steps_of.MAX_STEPS + ONE_QUESTION
    (finding,) = found
    assert finding.severity == "Warning"
    assert finding.path.startswith("spec.steps[1].inputs.f")


def test_a_workflow_of_few_edges_is_compared_to_its_end() -> None:
    assert "EdgesNotCompared" not in {one.code for one in analyse(hostile(1))}


def test_the_workflow_is_one_that_verification_takes() -> None:
    assert verify(hostile(2)) == ()


def test_what_is_spent_is_unknown_and_never_proven() -> None:
    spent = Budget(0)
    same: Schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    found = covers(same, same, budget=spent)
    assert found.verdict is Verdict.UNKNOWN
    assert "not compared" in found.message


def test_an_answer_that_is_remembered_takes_as_many_steps() -> None:
    budgets = [Budget(), Budget()]
    for budget in budgets:
        covers(choices(1, 3), choices(2, 3), is_closed=False, budget=budget)
    assert budgets[0].left == budgets[1].left < steps_of.MAX_STEPS
