"""A place is known again by the names of list items, wherever these stand."""

from typing import Any

import pytest

from sluicegate.contracts.paths import named

DATA: dict[str, Any] = {
    "spec": {
        "steps": [
            {"name": "plan", "inputs": {"a.b": "input.text"}},
            {"name": "write", "when": "true"},
            {"name": "twice"},
            {"name": "twice"},
        ],
        "rules": [{"id": "late", "when": [{"column": "x"}]}],
        "semantics": [{"field": "input.history[*].phone", "values": [{"value": "paid"}]}],
        "skipStages": ["Canary"],
        "digits": [{"id": "1"}, {"id": "2"}],
    }
}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("spec.steps[1].when", "spec.steps[write].when"),
        ('spec.steps[0].inputs["a.b"]', 'spec.steps[plan].inputs["a.b"]'),
        ("spec.steps[0]", "spec.steps[plan]"),
        ("spec.rules[0].when[0].column", "spec.rules[late].when[0].column"),
        ("spec.semantics[0].values[0]", "spec.semantics[input.history[*].phone].values[paid]"),
        ("spec.steps[2]", "spec.steps[2]"),  # two of this name
        ("spec.digits[0]", "spec.digits[0]"),  # [1] is the second item
        ("spec.steps[9].when", "spec.steps[9].when"),
        ("spec.skipStages[0]", "spec.skipStages[0]"),
        ("spec.contract.sla", "spec.contract.sla"),
        ("spec.steps[].when", "spec.steps[].when"),
        ("", ""),
    ],
)
def test_named(path: str, place: str) -> None:
    assert named(path, DATA) == place


def test_a_step_that_moves_keeps_its_place() -> None:
    moved = {"spec": {"steps": [{"name": "new"}, *DATA["spec"]["steps"]]}}
    assert named("spec.steps[2].when", moved) == named("spec.steps[1].when", DATA)


@pytest.mark.parametrize("data", [None, [], 3, {"spec": None}, {"spec": {"steps": {}}}])
def test_what_is_not_there_stays_as_it_is(data: Any) -> None:
    assert named("spec.steps[1].when", data) == "spec.steps[1].when"
