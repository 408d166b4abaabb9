"""Kinds of Kubernetes that carry what is ours: plans in ConfigMaps, gateways' words in Leases. Policies guard them alone."""

from typing import Any

import pytest

from sluicegate.operator.cluster.names import (
    APPLIED,
    GATEWAY_ACCOUNT,
    GATEWAY_LABEL,
    PLAN_LABEL,
    SERVES,
    SYSTEM_NAMESPACE,
    account,
    plan_name,
)
from tests.admission.api import Answer, Api, Caller
from tests.admission.cases import COLLECTOR, OPERATOR
from tests.admission.objects import Json, changed

pytestmark = pytest.mark.cluster

PLAN: Json = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": plan_name("bot"), "labels": {PLAN_LABEL: "bot"}},
    "data": {"plan": "{}"},
}
PLAIN: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"a": "b"}}
SHARED = account(GATEWAY_ACCOUNT)
THEIRS = "the gateway of the namespace"
LEASE: Json = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "gateway-1", "labels": {GATEWAY_LABEL: "true"}, "annotations": {APPLIED: "7"}},
    "spec": {"holderIdentity": "gateway-1"},
}
OTHER_LEASE: Json = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "mine"},
    "spec": {"holderIdentity": "me"},
}
SERVING = f"metadata.annotations[{SERVES}]"


def edited(item: Json) -> Json:
    return {**item, "data": {"plan": "all to the candidate"}}


def serving(*namespaces: str) -> Json:
    return changed(LEASE, annotations={SERVES: ",".join(namespaces)})


def here(item: Json, namespace: str) -> Json:
    """`HERE` is the namespace of the case."""
    annotations = item["metadata"].get("annotations") or {}
    told = {key: value.replace("HERE", namespace) for key, value in annotations.items()}
    return changed(item, annotations=told)


Case = tuple[Json | None, Json | None, str, str | None]
"""old, new, caller, the path that is refused."""

CASES: dict[str, Case] = {
    "a plan by the operator": (None, PLAN, OPERATOR, None),
    "a plan edited by the operator": (PLAN, edited(PLAN), OPERATOR, None),
    "a plan deleted by the operator": (PLAN, None, OPERATOR, None),
    "a plan deleted by garbage collection": (PLAN, None, COLLECTOR, None),
    "a plan annotated by garbage collection": (PLAN, changed(PLAN, annotations={"a": "b"}), COLLECTOR, None),
    "a plan edited by garbage collection": (PLAN, edited(PLAN), COLLECTOR, "data"),
    "a plan by a person, known by its name": (None, changed(PLAN, labels={}), "alice", "data"),
    "a plan by a person, known by its label": (None, changed(PLAN, name="mine"), "alice", "data"),
    "a plan edited by a person": (PLAN, edited(PLAN), "alice", "data"),
    "a plan edited by a gateway": (PLAN, edited(PLAN), SHARED, "data"),
    "a plan that loses its label": (PLAN, changed(PLAN, labels={}), "alice", "data"),
    "a plan deleted by a person": (PLAN, None, "alice", "data"),
    "a ConfigMap that is made a plan": (PLAIN, changed(PLAIN, labels={PLAN_LABEL: "bot"}), "alice", "data"),
    "another ConfigMap by a person": (None, PLAIN, "alice", None),
    "another ConfigMap edited by a person": (PLAIN, edited(PLAIN), "alice", None),
    "another ConfigMap deleted by a person": (PLAIN, None, "alice", None),
    "a gateway that serves its namespace": (None, serving("HERE"), THEIRS, None),
    "a gateway that goes": (serving("HERE"), None, THEIRS, None),
    "a gateway that is gone, by the operator": (serving("HERE"), None, OPERATOR, None),
    "a gateway that is gone, by garbage collection": (serving("HERE"), None, COLLECTOR, None),
    "a gateway elsewhere that serves everything": (None, serving("*"), THEIRS, SERVING),
    "a gateway that comes to serve another namespace": (
        serving("HERE"),
        serving("HERE", "shop"),
        THEIRS,
        SERVING,
    ),
    "a gateway that does not say what it serves": (None, LEASE, THEIRS, SERVING),
    "a gateway's word by a person": (None, serving("HERE"), "alice", "kind"),
    "a gateway's word by a person, for everything": (None, serving("*"), "alice", "kind"),
    "a gateway's word by the gateway of another namespace": (None, serving("HERE"), SHARED, "kind"),
    "a gateway's word changed by a person": (
        serving("HERE"),
        changed(serving("HERE"), labels={}),
        "alice",
        "kind",
    ),
    "a gateway's word deleted by a person": (serving("HERE"), None, "alice", "kind"),
    "a Lease that is made a gateway's": (
        OTHER_LEASE,
        changed(OTHER_LEASE, labels={GATEWAY_LABEL: "true"}),
        "alice",
        "kind",
    ),
    "another Lease by a person": (None, OTHER_LEASE, "alice", None),
    "another Lease deleted by a person": (OTHER_LEASE, None, "alice", None),
}


def write(api: Api, case: Case) -> Answer:
    old, new, caller, _ = case
    theirs = account(GATEWAY_ACCOUNT, api.namespace)
    who = Caller(theirs if caller == THEIRS else caller)
    if old is not None:
        maker = {"ConfigMap": OPERATOR, "Lease": theirs}[old["kind"]]
        made = api.create(here(old, api.namespace), Caller(maker)).require()["metadata"]
        if new is None:
            return api.delete(old["kind"], made["name"], who)
    assert new is not None
    item = here(new, api.namespace)
    return api.create(item, who) if old is None else api.replace(item, who)


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case[3] is None])
def test_accepted(api: Api, sentence: str) -> None:
    write(api, CASES[sentence]).require()


@pytest.mark.parametrize("sentence", [key for key, case in CASES.items() if case[3] is not None])
def test_refused(api: Api, sentence: str) -> None:
    answer = write(api, CASES[sentence])
    path: Any = CASES[sentence][3]
    assert answer.code == 403, answer.message
    assert f"denied request: {path}: " in answer.message


def test_the_shared_gateway_serves_everything(api: Api) -> None:
    home = Api(api.plane, SYSTEM_NAMESPACE)
    home.create(changed(serving("*"), name="shared"), Caller(SHARED)).require()
    home.delete("Lease", "shared", Caller(SHARED)).require()
