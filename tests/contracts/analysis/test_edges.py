"""What a step gets is what its component takes."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.contracts.analysis.edges import edges_cover
from sluicegate.contracts.diagnostics import Severity
from sluicegate.contracts.resources.workflow import AgentWorkflow
from sluicegate.contracts.verification.facts import gather
from tests.contracts import files

ROOT = Path(__file__).parents[3]
Spec = dict[str, Any]


def found(spec_of: Callable[[Spec], Any]) -> list[tuple[str, Severity, str, str | None]]:
    data = copy.deepcopy(files.example())
    spec_of(data["spec"])
    facts = gather(AgentWorkflow.model_validate(data))
    return [(one.code, one.severity, one.path, one.witness) for one in edges_cover(facts)]


def component(spec: Spec, name: str) -> Spec:
    return next(item for item in spec["components"] if item["name"] == name)


def takes(name: str, **fields: Any) -> Callable[[Spec], Any]:
    return lambda spec: component(spec, name)["contract"]["input"].update(properties=fields)


def stand_in(spec: Spec) -> None:
    spare = copy.deepcopy(component(spec, "writer")) | {
        "name": "spare",
        "endpoint": {"url": "http://spare.shop.svc"},
    }
    spare["contract"]["input"]["properties"] = {"intent": {"enum": ["track_order"]}}
    spec["components"].append(spare)
    component(spec, "writer")["onFailure"] = {"type": "Component", "component": "spare"}


def second_reader(spec: Spec, reader: str, source: str) -> None:
    """One more step, of a component that is there, that reads `source` as its intent."""
    step = copy.deepcopy(spec["steps"][2]) | {"name": "more", "component": reader}
    step["inputs"]["intent"] = source
    spec["steps"].append(step)


def other_producer(spec: Spec) -> None:
    takes("writer", intent={"type": "string"})(spec)
    second_reader(spec, "writer", "steps.plan.steps.size()")


def other_consumer(spec: Spec) -> None:
    narrow = copy.deepcopy(component(spec, "writer")) | {"name": "narrow"}
    narrow["contract"]["input"]["properties"] = {"intent": {"enum": ["track_order"]}}
    spec["components"].append(narrow)
    second_reader(spec, "narrow", "steps.plan.intent")


def literal(spec: Spec) -> None:
    spec["steps"][2]["inputs"]["intent"] = "'refund'"
    takes("writer", intent={"enum": ["track_order"]})(spec)


def counted(spec: Spec) -> None:
    spec["steps"][2]["inputs"]["intent"] = "steps.plan.steps.size()"
    takes("writer", intent={"type": "string"})(spec)


def refined_output(spec: Spec) -> None:
    spec["contract"]["output"]["properties"]["response"]["maxLength"] = 10


def guarded(spec: Spec) -> None:
    spec["steps"][2]["when"] = "steps.plan.intent == 'track_order'"
    takes("writer", intent={"enum": ["track_order"]})(spec)


def referred(spec: Spec) -> None:
    """As pydantic writes an enum."""
    component(spec, "judge")["contract"]["input"]["$defs"] = {
        "Word": {"enum": ["yes", "no"], "type": "string"}
    }
    takes("judge", answer={"$ref": "#/$defs/Word"})(spec)


def closed(spec: Spec) -> None:
    """The first component gets the whole input, and takes the fields that callers are told of, and no others."""
    spec["steps"][0].pop("inputs")
    component(spec, "planner")["contract"]["input"] = copy.deepcopy(spec["contract"]["input"]) | {
        "additionalProperties": False
    }


WRONG: dict[str, tuple[Callable[[Spec], Any], tuple[str, Severity, str, str | None]]] = {
    "a word of the domain that the consumer does not take": (
        takes("writer", intent={"enum": ["track_order", "cancel_order", "other"]}),
        ("InputNotCovered", Severity.ERROR, "spec.steps[2].inputs.intent", '"refund_request"'),
    ),
    "another type": (
        takes("judge", answer={"type": "number"}),
        ("InputNotCovered", Severity.ERROR, "spec.steps[3].inputs.answer", '""'),
    ),
    "a text that may be too long for the answer": (
        refined_output, ("OutputNotCovered", Severity.WARNING, "spec.output.response", '"aaaaaaaaaaa"'),
    ),
    "a value that the step's condition keeps away": (
        guarded, ("InputNotCovered", Severity.WARNING, "spec.steps[2].inputs.intent", '"cancel_order"'),
    ),
    "a word behind a reference": (
        referred, ("InputNotCovered", Severity.WARNING, "spec.steps[3].inputs.answer", '""'),
    ),
    "a field that nobody was told of": (
        closed, ("InputNotCovered", Severity.WARNING, "spec.steps[0]", '{"k0": null, "user_query": "a"}'),
    ),
    "a literal": (literal, ("InputNotCovered", Severity.ERROR, "spec.steps[2].inputs.intent", '"refund"')),
    "an expression of a known type": (
        counted, ("InputNotCovered", Severity.ERROR, "spec.steps[2].inputs.intent", "0")
    ),
    "a field that another step fills rightly": (
        other_producer, ("InputNotCovered", Severity.ERROR, "spec.steps[4].inputs.intent", "0")
    ),
    "a value that another step takes": (
        other_consumer, ("InputNotCovered", Severity.ERROR, "spec.steps[4].inputs.intent", '"cancel_order"')
    ),
    "a stand-in that takes less": (
        stand_in, ("StandInNotCovered", Severity.ERROR, "spec.steps[2].inputs.intent", '"cancel_order"')
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_an_edge_that_breaks_is_told(what: str) -> None:
    change, expected = WRONG[what]
    assert found(change) == [expected]


RIGHT: dict[str, Callable[[Spec], Any]] = {
    "as it is": lambda spec: None,
    "all words of the domain": takes(
        "writer", intent={"enum": ["track_order", "cancel_order", "refund_request", "other", "praise"]}
    ),
    "an expression of no known type": takes("writer", order={"type": "object", "required": ["status"]}),
    "a producer that says nothing": lambda spec: component(spec, "writer")["contract"].update(output=True),
    "a list without items": lambda spec: (
        component(spec, "planner")["contract"]["input"]["properties"].update(history={"type": "array", "items": {"type": "string"}})
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", RIGHT)
def test_nothing_is_told_of_an_edge_that_fits_or_is_not_known(what: str) -> None:
    assert found(RIGHT[what]) == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples").glob("*/workflow.yaml")), ids=lambda path: path.parent.name
)
def test_the_examples_have_no_finding(path: Path) -> None:
    for data in yaml.safe_load_all(path.read_text()):
        if data["kind"] == "AgentWorkflow":
            assert list(edges_cover(gather(AgentWorkflow.model_validate(data)))) == []
