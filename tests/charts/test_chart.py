"""The chart as Helm renders it: what it says agrees with the code it starts and the kinds it guards."""

import re
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.stages import Action
from sluicegate.fallback_rules.server import __main__ as rules_server
from sluicegate.gateway.protocols.places import CREDENTIALS
from sluicegate.operator.__main__ import parser
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.admitter import COLLECTORS
from sluicegate.operator.cluster.assembly_checks import rights
from sluicegate.rollout.permissions import VERBS, Verb
from tests.charts import helm
from tests.support.golden import ROOT

EVERYTHING: dict[str, Any] = {
    "monitoring": {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}},
    "networkPolicy": {"enabled": True},
    "lineage": {"tlsSecret": "certificate", "caConfigMap": "authority"},
    "rules": {"enabled": True, "configMap": "rule-sets"},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "everything": EVERYTHING,
    "two namespaces": {"watchNamespaces": ["shop", "bank"]},
    "gateways of their own": {"gateway": {"namespaces": ["shop", "bank"]}},
    "only the operator": {
        "operator": {"replicas": 1},
        "gateway": {"enabled": False},
        "lineage": {"enabled": False, "url": "https://lineage.example.com"},
        "webhooks": {"enabled": False},
        "policies": {"enabled": False},
        "jobGates": {"enabled": False},
    },
}


PROGRAMS = {"sluicegate.operator": parser, "sluicegate.fallback_rules.server": rules_server.parser}


def of_kind(kind: str, values: dict[str, Any] | None = None) -> dict[str, Any]:
    return {item["metadata"]["name"]: item for item in helm.render(values) if item["kind"] == kind}


def pods(values: dict[str, Any] | None = None) -> dict[str, Any]:
    found = [item for item in helm.render(values) if item["kind"] in {"Deployment", "StatefulSet"}]
    return {item["metadata"]["name"]: item["spec"]["template"]["spec"] for item in found}


def test_helm_finds_no_fault() -> None:
    assert helm.lint() == []


def test_helm_finds_the_golden_kinds() -> None:
    """crds/ of the chart is crds/ of the repository, and survives packaging."""
    assert helm.crds() == {path.name: path.read_text() for path in (ROOT / "crds").glob("*.yaml")}


def test_a_package_holds_the_kinds(tmp_path: Path) -> None:
    import tarfile

    with tarfile.open(helm.package(tmp_path)) as archive:
        held = {name for name in archive.getnames() if name.startswith("sluicegate/crds/")}
    assert held >= {f"sluicegate/crds/{path.name}" for path in (ROOT / "crds").glob("*.yaml")}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_object_is_one_and_labelled(variant: str) -> None:
    found = helm.placed(helm.render(VARIANTS[variant]))
    keys = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in found]
    assert len(keys) == len(set(keys))
    assert {item["metadata"]["labels"]["app.kubernetes.io/part-of"] for item in found} == {"sluicegate"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_pods_are_restricted(variant: str) -> None:
    """Pod Security Standards, profile restricted; besides, the root file system is read-only."""
    for spec in pods(VARIANTS[variant]).values():
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["readOnlyRootFilesystem"] is True
            assert "memory" in container["resources"]["limits"]
            assert {"livenessProbe", "readinessProbe", "startupProbe"} <= container.keys()


@pytest.mark.parametrize("variant", VARIANTS)
def test_credentials_of_components_are_in_memory_only(variant: str) -> None:
    gateways = [spec for spec in pods(VARIANTS[variant]).values() if "gateway" in spec["serviceAccountName"]]
    for spec in gateways:
        [mount] = [one for one in spec["containers"][0]["volumeMounts"] if one["name"] == CREDENTIALS]
        [volume] = [one for one in spec["volumes"] if one["name"] == CREDENTIALS]
        assert mount == {"name": CREDENTIALS, "mountPath": f"/state/{CREDENTIALS}"}
        assert volume["emptyDir"] == {"medium": "Memory", "sizeLimit": "16Mi"}
        assert "--state=/state" in spec["containers"][0]["args"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_volume_is_mounted_and_what_is_mounted_is_there(variant: str) -> None:
    """An API server refuses a mount without its volume; a volume that nobody mounts is for nothing."""
    for item in helm.render(VARIANTS[variant]):
        if item["kind"] in {"Deployment", "StatefulSet"}:
            spec = item["spec"]["template"]["spec"]
            claims = [one["metadata"]["name"] for one in item["spec"].get("volumeClaimTemplates", ())]
            mounted = {one["name"] for box in spec["containers"] for one in box["volumeMounts"]}
            assert sorted(mounted) == sorted([*claims, *(one["name"] for one in spec["volumes"])])


def test_names_are_those_of_the_code() -> None:
    accounts = {names.OPERATOR_ACCOUNT, names.GATEWAY_ACCOUNT, names.LINEAGE_ACCOUNT}
    assert of_kind("ServiceAccount").keys() == accounts
    assert {spec["serviceAccountName"] for spec in pods().values()} == accounts
    assert list(of_kind("ValidatingWebhookConfiguration")) == [names.WEBHOOKS]
    assert list(of_kind("MutatingWebhookConfiguration")) == [names.WEBHOOKS]
    home = of_kind("Role")["sluicegate-operator"]["rules"]
    named = {name for rule in home for name in rule.get("resourceNames", ())}
    assert named == {names.LEADER_LEASE, names.WEBHOOK_SECRET}
    text = "".join(str(item) for item in of_kind("ValidatingAdmissionPolicy").values())
    for word in (names.PLAN_LABEL, names.GATEWAY_LABEL, names.SERVES, names.plan_name("")):
        assert word in text
    assert f"'{names.SYSTEM_NAMESPACE}'" in text


def test_the_policy_holds_the_verb_of_every_act() -> None:
    variables = of_kind("ValidatingAdmissionPolicy")["sluicegate-decisions"]["spec"]["variables"]
    (text,) = [item["expression"] for item in variables if item["name"] == "verb"]
    table = re.search(r"\{(.*)\}", text, re.DOTALL)
    assert table is not None
    held = dict(re.findall(r"'(\w+)': '(\w+)'", table.group(1)))
    assert held == {str(action): str(verb) for action, verb in VERBS.items()}
    assert VERBS.keys() == set(Action)


def test_every_verb_has_a_role() -> None:
    """Each custom verb is given by one role of its own; only admin holds another's, the one that stops."""
    standard = {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
    given: dict[str, set[str]] = {}
    for name, role in of_kind("ClusterRole").items():
        for rule in role["rules"]:
            for verb in set(rule["verbs"]) - standard:
                given.setdefault(verb, set()).add(name)
    assert given.keys() == {str(verb) for verb in Verb}
    assert {verb: len(roles) for verb, roles in given.items()} == dict.fromkeys(given, 1) | {"abort": 2}
    assert "sluicegate-admin" in given["abort"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_holds_a_right_to_everything(variant: str) -> None:
    for role in (
        *of_kind("ClusterRole", VARIANTS[variant]).values(),
        *of_kind("Role", VARIANTS[variant]).values(),
    ):
        for rule in role["rules"]:
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])


def test_a_watched_namespace_is_all_that_is_bound() -> None:
    values = VARIANTS["two namespaces"]
    everywhere = {item["roleRef"]["name"] for item in of_kind("ClusterRoleBinding", values).values()}
    assert everywhere == {"sluicegate-operator-cluster", "sluicegate-lineage"}
    bound = {
        item["metadata"]["namespace"]
        for item in helm.render(values)
        if item["kind"] == "RoleBinding" and item["roleRef"]["kind"] == "ClusterRole"
    }
    assert bound == {"shop", "bank"}


def test_webhooks_fail_closed_and_never_stand_in_their_own_way() -> None:
    (validating,) = of_kind("ValidatingWebhookConfiguration").values()
    (mutating,) = of_kind("MutatingWebhookConfiguration").values()
    paths = {item["clientConfig"]["service"]["path"] for item in validating["webhooks"]}
    assert paths == {f"/validate/{kind.plural}" for kind in KINDS.values() if kind.applied_by_people}
    assert {item["clientConfig"]["service"]["path"] for item in mutating["webhooks"]} == {
        "/mutate/agentworkflows",
        "/mutate/decisions",
    }
    for hook, policy in [
        *((item, "Fail") for item in validating["webhooks"]),
        *((item, "Ignore") for item in mutating["webhooks"]),
    ]:
        assert hook["failurePolicy"] == policy
        assert hook["timeoutSeconds"] == 5
        assert hook["sideEffects"] == "None"
        assert "caBundle" not in hook["clientConfig"]
        (outside,) = hook["namespaceSelector"]["matchExpressions"]
        assert outside["operator"] == "NotIn"
        assert set(outside["values"]) == {"kube-system", names.SYSTEM_NAMESPACE}
        assert names.account(names.OPERATOR_ACCOUNT) in hook["matchConditions"][0]["expression"]


def test_policies_fail_closed() -> None:
    policies, bindings = of_kind("ValidatingAdmissionPolicy"), of_kind("ValidatingAdmissionPolicyBinding")
    assert policies.keys() == bindings.keys()
    assert {item["spec"]["failurePolicy"] for item in policies.values()} == {"Fail"}
    assert [item["spec"]["validationActions"] for item in bindings.values()] == [["Deny"]] * len(bindings)


def test_every_gateway_may_send_its_runs() -> None:
    (lineage,) = [
        spec for name, spec in pods(VARIANTS["gateways of their own"]).items() if name.endswith("lineage")
    ]
    arguments = lineage["containers"][0]["args"]
    for namespace in ("shop", "bank"):
        who = names.account(names.GATEWAY_ACCOUNT, namespace)
        assert f"--gateway-account={who}" in arguments


WRONG: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a number as text, a name twice, a misspelt key": (
        {"gateway": {"replicas": "2", "namespaces": ["a", "a"]}, "imgae": {}},
        ("/gateway/replicas", "/gateway/namespaces", "imgae"),
    ),
    "a namespace that cannot be one": ({"watchNamespaces": ["Shop"]}, ("/watchNamespaces/0",)),
    "no replica": ({"operator": {"replicas": 0}}, ("/operator/replicas",)),
    "a digest that is none": ({"image": {"digest": "latest"}}, ("/image/digest",)),
    "a gateway that nobody looks after": (
        {"watchNamespaces": ["a"], "gateway": {"namespaces": ["b"]}},
        ("gateway.namespaces[0]: nobody looks after it; got b; allowed: a",),
    ),
    "two things that do not fit": (
        {"watchNamespaces": ["a"], "gateway": {"namespaces": ["b"]}, "lineage": {"enabled": False}},
        ("gateway.namespaces[0]", "lineage.url"),
    ),
    "no lineage at all": ({"lineage": {"enabled": False}}, ("lineage.url",)),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_wrong_values_are_refused_with_their_paths(sentence: str) -> None:
    values, wanted = WRONG[sentence]
    with pytest.raises(helm.WrongValues) as caught:
        helm.render(values)
    for text in wanted:
        assert text in str(caught.value)


def test_the_schema_knows_every_value() -> None:
    """A default that the schema does not name would be refused; one that it names is documented in values.yaml."""
    schema = (helm.CHART / "values.schema.json").read_text()
    for key, value in helm.defaults().items():
        assert f'"{key}"' in schema
        for inner in value if isinstance(value, dict) else ():
            assert f'"{inner}"' in schema


def test_notes_tell_how_kinds_are_upgraded() -> None:
    assert "kubectl apply --server-side -f crds/" in helm.notes()
    assert "anybody" in helm.notes(VARIANTS["only the operator"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_commands_are_understood(variant: str) -> None:
    """Every container's arguments are parsed by the program itself."""
    for spec in pods(VARIANTS[variant]).values():
        for container in spec["containers"]:
            (python, option, module) = container["command"]
            assert (python, option) == ("python", "-m")
            PROGRAMS[module]().parse_args(container["args"])


def test_the_service_is_the_one_of_the_certificate() -> None:
    (hook, *_) = of_kind("ValidatingWebhookConfiguration")[names.WEBHOOKS]["webhooks"]
    assert hook["clientConfig"]["service"]["name"] == names.WEBHOOK_SERVICE
    assert of_kind("Service")[names.WEBHOOK_SERVICE]["spec"]["ports"][0]["port"] == 443


def granted(rules: list[dict[str, Any]]) -> set[tuple[str, str, str, str]]:
    """(group, resource, name, verb) of RBAC rules."""
    return {
        (group, resource, name, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


BESIDES = {
    ("apiextensions.k8s.io", "customresourcedefinitions", "", "list"),  # kinds that come later: Gateway API
    ("apiextensions.k8s.io", "customresourcedefinitions", "", "watch"),
    ("events.k8s.io", "events", "", "get"),  # when an event was written already
    ("", "services", "", "get"),  # runtime Service: is the backend there
    ("discovery.k8s.io", "endpointslices", "", "list"),
    ("gateway.networking.k8s.io", "gateways", "", "get"),
    ("gateway.networking.k8s.io", "gatewayclasses", "", "get"),
    *(
        ("batch", "jobs", "", verb) for verb in ("create", "get", "delete")
    ),  # gates that run a Job: jobGates.enabled
    ("", "pods", "", "list"),
    *(("gateway.networking.k8s.io", "httproutes", "", verb) for verb in ("get", "list", "watch", "patch")),
}
"""Rights that the operator does not insist on when it starts."""


def test_the_operator_holds_what_it_asks_for_and_no_more() -> None:
    roles = of_kind("ClusterRole")
    rules = [
        *roles["sluicegate-operator"]["rules"],
        *roles["sluicegate-operator-cluster"]["rules"],
        *of_kind("Role")["sluicegate-operator"]["rules"],
    ]
    asked = {
        (
            right.api.group,
            f"{right.api.plural}/{right.subresource}" if right.subresource else right.api.plural,
            right.name,
            right.verb,
        )
        for right in rights(names.SYSTEM_NAMESPACE, ())
    }
    assert granted(rules) == asked | BESIDES


def test_collectors_are_those_of_the_webhook() -> None:
    assert set(helm.defaults()["policies"]["collectors"]) == COLLECTORS
