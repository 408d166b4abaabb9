"""Gateway pods and lineage processes of a cluster, as processes here; accounts and rights that they have there."""

import http.client
import json
import os
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import free_port
from tests.operator.up import until

SYSTEM = "sluicegate-system"
GATEWAY, OPERATOR, LINEAGE = "sluicegate-gateway", "sluicegate-operator", "sluicegate-lineage"

_RIGHTS = {
    GATEWAY: (
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["get", "create", "patch", "delete"],
        },
    ),
    OPERATOR: (
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "verbs": ["get", "list", "watch", "create", "patch", "delete"],
        },
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "list", "watch"]},
    ),
    LINEAGE: (
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ),
}


def accounts(plane: ControlPlane, *namespaces: str) -> None:
    """The namespaces, and the three accounts with their rights."""
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in (SYSTEM, *namespaces)
    ]
    for name, rules in _RIGHTS.items():
        items.append(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": SYSTEM},
            }
        )
        items.append(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": f"edge-tests-{name}"},
                "rules": list(rules),
            }
        )
    plane.apply(*items)
    for name in _RIGHTS:
        plane.allow(f"account:{SYSTEM}:{name}", f"edge-tests-{name}")
    for name in _RIGHTS:
        until(f"the API server knows the rights of {name}", partial(_may, plane, name))


def _may(plane: ControlPlane, name: str) -> bool:
    """Whether the account may do the last thing of its list: the authorizer follows bindings a moment later."""
    rule = _RIGHTS[name][-1]
    resource = ".".join(filter(None, (rule["resources"][-1], rule["apiGroups"][-1])))
    asked = ("auth", "can-i", rule["verbs"][-1], resource, f"--as=system:serviceaccount:{SYSTEM}:{name}")
    return plane.kubectl(*asked, check=False).returncode == 0


def reader(plane: ControlPlane, namespace: str, name: str, *, everywhere: bool = False) -> str:
    """The token of a person (an account of `namespace`) who may read runs there, or everywhere."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "edge-tests-reader"},
        "rules": [{"apiGroups": ["sluicegate.io"], "resources": ["workflowruns"], "verbs": ["get"]}],
    }
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
    }
    plane.apply(role, account)
    plane.allow(f"account:{namespace}:{name}", "edge-tests-reader", None if everywhere else namespace)
    return plane.token(namespace, name)


@dataclass
class Running:
    """One process; started and killed as often as wished. Its log keeps everything."""

    kind: str
    root: Path
    arguments: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None
    port: int = field(default_factory=free_port)
    metrics_port: int = 0
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        return self.root / "process.log"

    def start(self) -> "Running":
        """Start and wait until it listens."""
        self.root.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable,
            "-m",
            "sluicegate.operator",
            self.kind,
            "--state",
            str(self.root / "state"),
        ]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--metrics-port", "0", *self.arguments]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=os.environ | self.environ
            )
        told = until(f"{self.kind} listens", self._listening, 120)
        self.port, self.metrics_port = told["port"], told["metrics_port"]
        return self

    def _words(self) -> bytes:
        return self.log.read_bytes() if self.log.exists() else b""

    def _listening(self) -> dict[str, Any] | None:
        assert self.process is not None
        assert self.process.poll() is None, self._words().decode()[-4000:]
        lines = [line for line in self._words().splitlines() if b'"metrics_port"' in line]
        told: list[dict[str, Any]] = [orjson.loads(line) for line in lines]
        mine = [one for one in told if one.get("event") == "listening" and one.get("pid") == self.process.pid]
        return mine[-1] if mine else None

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def ask(
        self, method: str, path: str, body: bytes = b"", token: str | None = None, port: int | None = None
    ) -> tuple[int, Any]:
        """Status and decoded JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=60)
        try:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(data) if data else None

    def ready(self) -> dict[str, Any]:
        """The document of /readyz at the metrics port."""
        found: dict[str, Any] = self.ask("GET", "/readyz", port=self.metrics_port)[1]
        return found


def quoted(**query: str) -> str:
    return urllib.parse.urlencode(query)


@contextmanager
def lineage(plane: ControlPlane, root: Path, *more: str) -> Iterator[Running]:
    """A lineage process with its own account."""
    kubeconfig = plane.account_kubeconfig(SYSTEM, LINEAGE)
    made = Running("lineage", root, ("--kubeconfig", str(kubeconfig), *more))
    try:
        yield made.start()
    finally:
        made.kill()


@contextmanager
def gateway(
    plane: ControlPlane, root: Path, *more: str, name: str = "g1", server: str | None = None
) -> Iterator[Running]:
    """A gateway pod with its own account."""
    kubeconfig = plane.account_kubeconfig(SYSTEM, GATEWAY, server=server)
    given = ("--kubeconfig", str(kubeconfig), "--namespace", SYSTEM, "--name", name, *more)
    made = Running("gateway", root, given)
    try:
        yield made.start()
    finally:
        made.kill()
