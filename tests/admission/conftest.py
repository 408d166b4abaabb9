"""A control plane with the project's kinds and policies, and no process of the project."""

from collections.abc import Iterator
from typing import Any

import pytest

from sluicegate.rollout.permissions import Verb
from tests.admission.api import Api
from tests.charts import installation
from tests.controlplane.plane import ControlPlane

ROLE = {
    Verb.APPROVE: "approver",
    Verb.PROMOTE: "promoter",
    Verb.ABORT: "aborter",
    Verb.OVERRIDE: "overrider",
    Verb.REVIEW: "reviewer",
    Verb.BREAKGLASS: "breakglass",
    Verb.ATTEST: "attester",
}
"""The chart's role of each verb."""

WRITER = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "test-writer"},
    "rules": [
        {
            "apiGroups": ["sluicegate.io", "", "coordination.k8s.io"],
            "resources": ["*"],
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
        }
    ],
}
"""What RBAC alone would let anybody do: whatever is refused after it is refused by admission."""


def _binding(group: str, role: str) -> dict[str, Any]:
    api = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{api}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"test-{group.replace(':', '-')}"},
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": api, "kind": "Group", "name": group}],
    }


@pytest.fixture(scope="package")
def governed(installed: ControlPlane) -> Iterator[ControlPlane]:
    """Policies and roles; group `writers` may write everything, group `holders:VERB` holds the verb by the chart's role."""
    installation.install(installed)
    roles = {f"holders:{verb}": f"sluicegate-{role}" for verb, role in ROLE.items()}
    bindings = [_binding(group, role) for group, role in {"writers": "test-writer", **roles}.items()]
    installed.apply(WRITER, *bindings)
    yield installed
    installation.remove(installed)
    Api(installed).empty()


@pytest.fixture
def api(governed: ControlPlane) -> Api:
    """Requests as anybody, in a namespace of their own."""
    return Api(governed).in_fresh_namespace()
