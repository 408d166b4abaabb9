"""What the control plane's programs read."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

USERS = {
    "admin": ("system:masters",),
    "alice": ("board",),
    "bob": ("board",),
    "carol": ("team",),
    "mallory": (),
    "walter": (),
}
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
    "validatingadmissionpolicy-status-controller",
)
_SILENT = ("system:apiserver", "system:kube-controller-manager", "system:kube-scheduler")

AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "users": list(_SILENT)},
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "None", "nonResourceURLs": ["/healthz*", "/livez*", "/readyz*", "/openapi/*", "/version"]},
        {"level": "Metadata"},
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How one user comes in: with a client certificate, or with a token that is in a file."""

    server: str
    authority: Path
    certificate: Path | None = None
    key: Path | None = None
    token: Path | None = None
    namespace: str = "default"


def kubeconfig(access: Access) -> str:
    """One context, self-contained but for a token, which may change. JSON, which is YAML."""
    user: dict[str, Any] = {"tokenFile": str(access.token)} if access.token else {}
    if access.certificate and access.key:
        user = {
            "client-certificate-data": _inline(access.certificate),
            "client-key-data": _inline(access.key),
        }
    cluster = {"server": access.server, "certificate-authority-data": _inline(access.authority)}
    context = {"cluster": "local", "user": "me", "namespace": access.namespace}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "local", "context": context}],
            "current-context": "local",
        },
        indent=2,
    )


def node(name: str, capacity: dict[str, str]) -> dict[str, Any]:
    """A node that kwok simulates."""
    size = {"cpu": "8", "memory": "32Gi", "pods": "110", **capacity}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"type": "kwok"}},
        "status": {"capacity": size, "allocatable": size},
    }


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
