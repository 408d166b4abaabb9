"""What the gateway runs: defaults, mappings, domains, reward, routing key."""

from typing import Any

import pytest

from sluicegate.contracts.compiled import CompiledWorkflow, compile_workflow, step_name
from sluicegate.contracts.domains import normalised
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.expressions import ExpressionError
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from tests.contracts.files import component, example, minimal


def compiled(data: dict[str, Any]) -> CompiledWorkflow:
    workflow = parse_data(data)
    assert isinstance(workflow, AgentWorkflow)
    return compile_workflow(workflow.spec)


def scope(value: Any, **steps: Any) -> dict[str, Any]:
    return {"input": value, "steps": steps, "run": {"id": "r", "attempt": 1}, "headers": {}}


def test_one_component_needs_no_steps() -> None:
    workflow = compiled(minimal())
    (step,) = workflow.steps
    assert (step.name, step.component.name, workflow.after_answer) == ("agent", "agent", ())
    at = scope({"q": 1})
    assert step.is_due(at)
    assert step.component_input(at) is at["input"]
    assert workflow.evaluate_output(scope({}, agent={"a": 1})) == {"a": 1}
    assert workflow.evaluate_reward(at) is None
    assert workflow.evaluate_routing_key(at) is None


def test_callers_of_a_sole_component_are_held_to_its_input() -> None:
    asks = {"input": {"type": "object", "required": ["q"]}}
    data = minimal(components=[component(contract=asks)])
    assert not compiled(data).input.is_valid({})
    assert compiled(data).input.is_valid({"q": 1})
    mapped = minimal(
        components=[component(contract=asks)],
        steps=[{"name": "agent", "component": "agent", "inputs": {"q": "input.question"}}],
    )
    assert compiled(mapped).input.is_valid({"question": 1})


def test_the_example_runs_its_steps() -> None:
    workflow = compiled(example())
    assert [step.name for step in workflow.steps] == ["plan", "execute", "answer"]
    assert [step.name for step in workflow.after_answer] == ["judge"]
    plan, execute, answer = workflow.steps
    at = scope({"user_query": "hi"})
    assert plan.component_input(at) == {"user_query": "hi", "history": []}
    at["steps"]["plan"] = {"intent": "other", "steps": []}
    assert not execute.is_due(at)
    assert answer.component_input(at) == {"intent": "other", "order": {}}
    at["steps"]["plan"]["steps"] = [{"type": "api_call", "spec": {"id": 7}}]
    assert execute.is_due(at)
    assert execute.component_input(at) == {"spec": {"id": 7}}
    at["steps"] |= {
        "execute": {"status": "shipped"},
        "answer": {"draft": "d", "confidence": 0.5},
        "judge": {"reward": 0.25},
    }
    assert answer.component_input(at)["order"] == {"status": "shipped"}
    assert workflow.evaluate_output(at) == {"response": "d", "confidence": 0.5}
    assert workflow.evaluate_reward(at) == 0.25
    assert workflow.output.is_valid({"response": "d"})
    assert not workflow.components["orders"].output.is_valid({"status": "lost"})


def test_a_condition_must_be_true_or_false() -> None:
    (step,) = compiled(minimal(steps=[{"name": "a", "component": "agent", "when": "input.x"}])).steps
    assert step.is_due(scope({"x": True}))
    assert not step.is_due(scope({"x": False}))
    others: list[Any] = ["true", 1, None, {}]
    for value in others:
        with pytest.raises(ExpressionError, match="true or false"):
            step.is_due(scope({"x": value}))


def test_without_its_last_step_there_is_no_answer() -> None:
    with pytest.raises(ExpressionError, match="agent, was skipped"):
        compiled(minimal()).evaluate_output(scope({}))


@pytest.mark.parametrize("value", [0, 1, 0.5, 1.01, -0.1, "1", float("nan"), True, None], ids=repr)
def test_a_reward_lies_between_0_and_1(value: Any) -> None:
    workflow = compiled(minimal(reward="steps.agent.r"))
    at = scope({}, agent={"r": value})
    if value in (0, 0.5, 1) and not isinstance(value, bool):
        assert workflow.evaluate_reward(at) == float(value)
        return
    with pytest.raises(ExpressionError):
        workflow.evaluate_reward(at)


KEYS: dict[str, tuple[Any, str | None]] = {
    "a text": ({"session_id": "s1"}, "s1"),
    "a number": ({"session_id": 7}, "7"),
    "absent": ({}, None),
    "null": ({"session_id": None}, None),
    "empty": ({"session_id": ""}, None),
    "true": ({"session_id": True}, None),
    "an object": ({"session_id": {}}, None),
    "not even an object": ("text", None),
}  # fmt: skip


@pytest.mark.parametrize("sentence", KEYS)
def test_routing_key(sentence: str) -> None:
    value, key = KEYS[sentence]
    assert compiled(example()).evaluate_routing_key(scope(value)) == key


DOMAIN: dict[str, Any] = {
    "field": "steps.agent.intent",
    "values": [
        {"value": "track_order", "aliases": ["查我的快递", "Where is my Straße"]},
        {"value": "other", "aliases": ["cafe\u0301"]},
    ],
}

# spelling -> canonical value, None: unknown
SPELLINGS = {
    "track_order": "track_order", "TRACK_ORDER": "track_order", " track_order ": "track_order", "查我的快递": "track_order",
    "WHERE IS MY STRASSE": "track_order", "caf\u00e9": "other", "CAFÉ": "other", "refund": None, "": None, 5: None, True: None,
}  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_become_the_value_that_they_mean(spelling: Any) -> None:
    (step,) = compiled(minimal(contract={"semantics": [DOMAIN]})).steps
    output = {"intent": spelling, "x": 1}
    found, violations = step.normalised(output)
    expected = SPELLINGS[spelling]
    assert found == {"intent": expected or spelling, "x": 1}
    assert [violation.kind for violation in violations] == (
        [] if expected else ["UnknownValue steps.agent/intent"]
    )
    assert output == {"intent": spelling, "x": 1}


def test_an_unknown_value_is_mapped_when_the_domain_says_so() -> None:
    domain = DOMAIN | {"onUnknown": "Map", "mapTo": "other"}
    (step,) = compiled(minimal(contract={"semantics": [domain]})).steps
    found, told = step.normalised({"intent": "refund"})
    assert (found, [(one.kind, one.policy) for one in told]) == (
        {"intent": "other"},
        [("UnknownValue steps.agent/intent", "Map")],
    )


def test_an_unknown_value_goes_on_when_the_domain_only_warns() -> None:
    (step,) = compiled(minimal(contract={"semantics": [DOMAIN | {"onUnknown": "Warn"}]})).steps
    found, told = step.normalised({"intent": "refund"})
    assert (found, [one.policy for one in told]) == ({"intent": "refund"}, ["Warn"])


@pytest.mark.parametrize("output", [{}, {"intent": None}, None, "text", [], {"other": 1}], ids=str)
def test_an_absent_value_is_for_the_schema_to_judge(output: Any) -> None:
    (step,) = compiled(minimal(contract={"semantics": [DOMAIN]})).steps
    assert step.normalised(output) == (output, ())


def test_domains_reach_into_lists_and_the_input() -> None:
    values = DOMAIN["values"]
    workflow = compiled(
        minimal(
            contract={
                "semantics": [
                    {"field": "steps.agent.calls[*].name", "values": values},
                    {"field": "input.topic", "values": values},
                ]
            }
        )
    )
    found, violations = workflow.steps[0].normalised(
        {"calls": [{"name": "OTHER"}, {"name": "?"}, {"name": "!"}, {}]}
    )
    assert found == {"calls": [{"name": "other"}, {"name": "?"}, {"name": "!"}, {}]}
    assert [violation.kind for violation in violations] == ["UnknownValue steps.agent/calls/*/name"]
    assert workflow.normalised_input({"topic": "Other"}) == ({"topic": "other"}, ())


def test_what_needs_no_change_is_not_copied() -> None:
    (step,) = compiled(minimal(contract={"semantics": [DOMAIN]})).steps
    output = {"intent": "other", "long": list(range(5))}
    assert step.normalised(output)[0] is output


@pytest.mark.parametrize("text", ["Straße", "STRASSE", "caf\u00e9", "cafe\u0301", "ǅ", "ﬁ", "İ", " a "])
def test_normalisation_is_idempotent(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


def test_component_names_become_step_names() -> None:
    assert [step_name(name) for name in ("a", "a-b", "3d-model")] == ["a", "a_b", "_3d_model"]


def test_a_spec_that_cannot_run_is_refused_with_every_reason() -> None:
    data = example(
        ("steps.0.component", "plannr"), ("steps.1.when", "input.x =="), ("reward", "1 +"), ("contract.input.type", "objct"),
        ("contract.semantics.0.field", "plan"),
    )  # fmt: skip
    with pytest.raises(Refused) as refused:
        compiled(data)
    assert {problem.path for problem in refused.value.problems} == {
        "spec.steps[0].component", "spec.steps[1].when", "spec.reward", "spec.contract.input.type", "spec.contract.semantics[0].field",
    }  # fmt: skip
    with pytest.raises(Refused, match="no step answers"):
        compiled(minimal(components=[component(), component("b")]))
