"""The policies stay within what the API server lets CEL cost, on the largest objects that it takes."""

import pytest

from sluicegate.operator.cluster.names import PLAN_LABEL, plan_name
from sluicegate.rollout.permissions import Verb
from tests.admission.api import Api, Caller
from tests.admission.cases import COLLECTOR, OPERATOR
from tests.admission.objects import WORLDS, Json, changed, decision, owner, wish, with_spec
from tests.controlplane.plane import ControlPlane
from tests.operator.up import until

pytestmark = pytest.mark.cluster

ALICE = Caller.holding("alice", {Verb.PROMOTE})
LARGE = 1_000_000
"""Bytes; etcd takes 1.5 MiB."""


def large(item: Json) -> Json:
    """With a contract of LARGE bytes."""
    (component,) = item["spec"]["components"]
    schema = {"type": "object", "description": "x" * LARGE}
    return with_spec(item, components=[{**component, "contract": {"output": schema}}])


def test_a_large_workflow_is_written_again_by_another(api: Api) -> None:
    """Compares two specs; labels change."""
    made = api.create(large(wish("alice")), ALICE).require()
    api.replace(changed(made, labels={"a": "b"}), Caller("bob")).require()


def test_a_large_workflow_is_refused_with_its_path(api: Api) -> None:
    made = api.create(large(wish("alice")), ALICE).require()
    answer = api.replace(with_spec(made, expectedRunsPerHour=1), Caller("bob"))
    assert "changed-by]: must be the caller" in answer.message


def test_a_large_plan_is_unlinked(api: Api) -> None:
    plan = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": plan_name("bot"), "labels": {PLAN_LABEL: "bot"}},
        "data": {"plan": "x" * LARGE},
    }
    made = api.create(plan, Caller(OPERATOR)).require()
    api.replace(changed(made, annotations={"a": "b"}), Caller(COLLECTOR)).require()


def test_a_decision_with_a_thousand_owners_is_refused_with_its_path(api: Api) -> None:
    target = WORLDS["canary"].to_json()
    owners = [owner(target, name=f"other-{number}", uid=f"other-{number}") for number in range(1000)]
    answer = api.create(decision(target, metadata={"ownerReferences": owners}), ALICE)
    assert "metadata.ownerReferences: a Decision belongs to its target" in answer.message


def test_the_api_server_finds_no_fault_in_the_expressions(governed: ControlPlane) -> None:
    """It checks their types against the kinds' schemas, and warns in the status."""

    def checked() -> list[Json] | None:
        found = [
            item
            for item in governed.get("validatingadmissionpolicies")["items"]
            if item["metadata"]["name"].startswith("sluicegate-")
        ]
        return (
            found if found and all("typeChecking" in (item.get("status") or {}) for item in found) else None
        )

    policies = until("the policies are type-checked", checked)
    warned = {
        item["metadata"]["name"]: item["status"]["typeChecking"].get("expressionWarnings")
        for item in policies
    }
    assert warned == dict.fromkeys(
        f"sluicegate-{name}"
        for name in ("children", "decisions", "gateways", "jobs", "plans", "status", "workflows")
    )
