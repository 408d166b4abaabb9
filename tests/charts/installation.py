"""The chart's rules on a control plane, without Helm's release: what tests and the demo need before processes start."""

import json
from collections.abc import Iterable
from typing import Any

from tests.charts import helm
from tests.controlplane.installation import is_free
from tests.controlplane.plane import ControlPlane
from tests.operator.up import until

POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
ROLES = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount")
_LAST = "sluicegate-plans"


def manifests(kinds: Iterable[str], values: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Those of these kinds, with their namespace."""
    wanted = frozenset(kinds)
    return [item for item in helm.placed(helm.render(values)) if item["kind"] in wanted]


def install(
    plane: ControlPlane, kinds: Iterable[str] = (*ROLES, *POLICIES), values: dict[str, Any] | None = None
) -> None:
    """Apply them, and wait until the policies are in force."""
    found = sorted(manifests(kinds, values), key=lambda item: (item["kind"] in POLICIES, _is_last(item)))
    namespaces = {item["metadata"]["namespace"] for item in found if "namespace" in item["metadata"]}
    for namespace in sorted(namespaces):
        plane.kubectl("create", "namespace", namespace, check=False)
    plane.apply(*found)
    if any(item["kind"] in POLICIES for item in found):
        until("the policies are in force", lambda: not is_free(plane))


def remove(plane: ControlPlane, kinds: Iterable[str] = (*ROLES, *POLICIES)) -> None:
    """Take them away, and wait until the policies are not in force."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests(kinds)})
    plane.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", input=text)
    until("the policies are gone", lambda: is_free(plane))


def _is_last(item: dict[str, Any]) -> bool:
    """The API server takes policies over in the order in which they came."""
    return bool(item["metadata"]["name"] == _LAST)
