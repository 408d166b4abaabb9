"""From data to resources: round trips, and explanations of what does not fit."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sluicegate.contracts.documents import load
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.parsing import located, parse, parse_data
from sluicegate.contracts.resources import KINDS, AgentWorkflow, kind_of
from sluicegate.contracts.resources.base import Fraction
from tests.contracts import kinds
from tests.contracts.files import EXAMPLE, example, minimal, refusal


def problems(data: dict[str, Any]) -> dict[str, Problem]:
    with pytest.raises(Refused) as refused:
        parse_data(data)
    return {problem.path: problem for problem in refused.value.problems}


def test_the_example_becomes_a_workflow() -> None:
    (document,) = load(EXAMPLE)
    workflow = parse(document)
    assert isinstance(workflow, AgentWorkflow)
    assert [step.name for step in workflow.spec.steps] == ["plan", "execute", "answer", "judge"]
    assert workflow.spec.retraining[0].backend == {"type": "TRL", "on": "Job"}
    assert workflow.metadata.namespace == "shop"


@pytest.mark.parametrize("data", [example(), minimal()], ids=["example", "minimal"])
def test_resources_survive_a_round_trip(data: dict[str, Any]) -> None:
    resource = parse_data(data)
    assert parse_data(resource.to_json()) == resource
    assert parse_data(parse_data(resource.to_json()).to_json()).to_json() == resource.to_json()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_survives_a_round_trip(kind: str) -> None:
    resource = parse_data(kinds.of(kind))
    assert type(resource).__name__ == kind
    assert parse_data(resource.to_json()) == resource


def test_what_a_cluster_keeps_in_metadata_is_read() -> None:
    """Fields of metav1.ObjectMeta that kube-apiserver sends; managedFields are not ours to keep."""
    data = kinds.of("Decision")
    data["metadata"] |= {
        "generateName": "agent-", "deletionGracePeriodSeconds": 0, "resourceVersion": "7", "uid": "u", "generation": 1,
        "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
        "ownerReferences": [
            {
                "apiVersion": "sluicegate.io/v1alpha1", "kind": "WorkflowRollout", "name": "agent-1", "uid": "u",
                "controller": True, "blockOwnerDeletion": True,
            }
        ],
    }  # fmt: skip
    metadata = parse_data(data).to_json()["metadata"]
    assert "managedFields" not in metadata
    assert metadata["ownerReferences"] == data["metadata"]["ownerReferences"]


def test_null_inside_a_value_survives_a_round_trip() -> None:
    data = minimal()
    data["spec"]["components"][0] |= {
        "contract": {"output": {"const": None, "default": {"a": None}}}, "onFailure": {"type": "Value", "value": {"a": [None]}},
    }  # fmt: skip
    assert parse_data(data).to_json()["spec"]["components"][0]["contract"]["output"] == {
        "const": None, "default": {"a": None},
    }  # fmt: skip
    assert parse_data(parse_data(data).to_json()) == parse_data(data)


def test_problems_carry_the_line_of_their_field() -> None:
    text = EXAMPLE.replace("idempotent: true", "idempotent: yes").replace(
        "sideEffects: Live", "sideEffect: Live"
    )
    lines = text.splitlines()
    (document,) = load(text, source="wf.yaml")
    with pytest.raises(Refused) as refused:
        parse(document)
    found = {problem.path: problem for problem in refused.value.problems}
    assert set(found) == {
        "spec.components[0].idempotent", "spec.components[1].sideEffect", "spec.components[1].sideEffects",
    }  # fmt: skip
    for path, word in (
        ("spec.components[0].idempotent", "idempotent: yes"),
        ("spec.components[1].sideEffect", "sideEffect: Live"),
    ):
        line = found[path].line
        assert line is not None
        assert word in lines[line - 1]
    assert "- name: orders" in lines[(found["spec.components[1].sideEffects"].line or 0) - 1]
    assert str(found["spec.components[0].idempotent"]).startswith("wf.yaml:")


def test_a_problem_without_a_written_field_gets_the_nearest_line_above() -> None:
    problem = Problem(path="spec.steps[0].inputs.x", message="m")
    lines = {"spec": 3, "spec.steps": 5, "spec.steps[0]": 6}
    assert located(problem, lines, "f").line == 6
    assert located(Problem(path="status.x", message="m"), lines, "f").line == 1
    assert located(problem, {}, None).line is None


def test_a_union_is_told_as_one_problem() -> None:
    assert list(problems(minimal(contract={"input": 5, "output": "yes"}))) == [
        "spec.contract.input", "spec.contract.output",
    ]  # fmt: skip


def test_items_that_are_wrong_are_not_also_too_few() -> None:
    data = minimal()
    data["spec"]["components"][0]["version"] = 3
    assert list(problems(data)) == ["spec.components[0].version"]


SHARES = {
    0.05: "{numerator: 5, denominator: 100}",
    0.005: "{numerator: 1, denominator: 200}",
    1: "{numerator: 100, denominator: 100}",
    "33%": "{numerator: 33, denominator: 100}",
    "0.2": "{numerator: 20, denominator: 100}",
    7: "{numerator: 7, denominator: 100}, if 7 % is meant; a share lies between 0 and 1",
    101: "a share lies between 0 and 1",
    "many": "such as {numerator",
    -0.1: "a share lies between 0 and 1",
    float("nan"): "such as {numerator",
}


@pytest.mark.parametrize("share", SHARES, ids=str)
def test_the_hint_writes_the_fraction(share: Any) -> None:
    found = problems(minimal(rollout={"stages": [{"name": "Canary", "share": share}]}))
    assert SHARES[share] in (found["spec.rollout.stages[0].share"].hint or "")


@given(st.fractions(0, 1, max_denominator=1000))
def test_fractions_in_hints_are_exact(share: Any) -> None:
    """The hint, read as YAML, is the share that was written as a percentage."""
    if 10_000 % share.denominator:
        return
    found = problems(minimal(rollout={"stages": [{"name": "Canary", "share": f"{float(share * 100):.4f}%"}]}))
    hint = (found["spec.rollout.stages[0].share"].hint or "").removeprefix("write ")
    given = Fraction.model_validate(load(f"a: {hint}")[0].data["a"])
    assert given.numerator * share.denominator == share.numerator * given.denominator


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PLACES = [
    "version", "components", "components.0", "components.0.endpoint", "components.0.sla.minSuccessRate", "components.0.contract.input",
    "components.0.retry", "components.0.onFailure", "steps", "steps.0", "steps.0.inputs", "output", "contract.semantics.0.values",
    "rollout", "rollout.stages.0", "rollout.stages.0.share", "rollout.stages.0.gates.0.margin", "retraining.0.when", "lineage",
]  # fmt: skip


@given(st.sampled_from(sorted(KINDS)), st.sampled_from(PLACES), JUNK)
@settings(deadline=None, max_examples=300)
def test_junk_anywhere_gives_a_resource_or_refused(kind: str, place: str, junk: Any) -> None:
    data = example((place, junk)) | {"kind": kind}
    found = refusal(lambda: parse_data(data))
    assert all(item.value and item.hint for item in found), found


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("awf", "AgentWorkflow"),
        ("AgentWorkflow", "AgentWorkflow"),
        ("agentworkflows", "AgentWorkflow"),
        ("workflows", "AgentWorkflow"),
        ("rollout", "WorkflowRollout"),
        ("Revisions", "WorkflowRevision"),
        ("components", "AgentComponent"),
        ("dec", "Decision"),
        ("agents", None),
    ],
)
def test_a_kind_has_the_names_that_people_use(word: str, kind: str | None) -> None:
    found = kind_of(word)
    assert (None if found is None else found.name) == kind
