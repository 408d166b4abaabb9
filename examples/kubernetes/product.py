"""The product's processes, as the chart's Deployments would run them: each with the token of its own service account."""

import socket
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sluicegate.console.demo.files import support_bot
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Processes, free_port, until_ready

SYSTEM = "sluicegate-system"
LEASE_SECONDS = 6
START_SECONDS = 90.0


@dataclass
class Product:
    """Two operators, a gateway, a lineage process; and the example's components."""

    plane: ControlPlane
    root: Path
    processes: Processes = field(init=False)
    gateway_port: int = 0

    def __post_init__(self) -> None:
        """Nothing runs yet."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.processes = Processes(self.root, stop_seconds=20)

    def start(self) -> None:
        """Returns when all are ready; Ended with the end of a log when one is not."""
        lineage, self.gateway_port = free_port(), free_port()
        url = f"http://127.0.0.1:{lineage}"
        ready = {
            "lineage": self._lineage(lineage),
            "gateway": self._gateway(url),
            "operator-0": self._operator(0, url),
            "operator-1": self._operator(1, url),
        }
        for name, port in ready.items():
            until_ready(name, self.processes, partial(_is_ready, port), START_SECONDS)
        until_ready("a leader", self.processes, lambda: self.leader() != "", START_SECONDS)

    def components(self, seed: int) -> str:
        """The example's components on a free port; their URL."""
        port = free_port()
        command = [
            sys.executable,
            str(support_bot() / "services.py"),
            "--port",
            str(port),
            "--seed",
            str(seed),
        ]
        self.processes.start("components", command)
        until_ready("components", self.processes, partial(_listens, port), START_SECONDS)
        return f"http://127.0.0.1:{port}"

    def runs_url(self, namespace: str, workflow: str) -> str:
        """Where users send their runs."""
        return f"http://127.0.0.1:{self.gateway_port}/v1/namespaces/{namespace}/workflows/{workflow}/runs"

    def leader(self) -> str:
        """The operator that holds the Lease; "" when none does."""
        lease = self.plane.kubectl(
            "get",
            "lease",
            "sluicegate-operator",
            "-n",
            SYSTEM,
            "-o",
            "jsonpath={.spec.holderIdentity}",
            check=False,
        )
        return lease.stdout.strip()

    def _lineage(self, port: int) -> int:
        metrics = str(free_port())
        self._run("lineage", "lineage", "--host", "127.0.0.1", "--port", str(port), "--metrics-port", metrics)
        return port

    def _gateway(self, lineage: str) -> int:
        port = free_port()
        flags = ["--name", "gateway-0", "--host", "127.0.0.1", "--port", str(self.gateway_port)]
        self._run("gateway", "gateway", *flags, "--metrics-port", str(port), "--lineage-url", lineage)
        return port

    def _operator(self, number: int, lineage: str) -> int:
        name, port, webhook = f"operator-{number}", free_port(), str(free_port())
        flags = ["--identity", name, "--lease-seconds", str(LEASE_SECONDS), "--lineage-url", lineage]
        flags += ["--metrics-host", "127.0.0.1", "--metrics-port", str(port), "--webhook-host", "127.0.0.1"]
        flags += ["--webhook-port", webhook, "--webhook-url", f"https://127.0.0.1:{webhook}"]
        self._run(name, "controller", *flags)
        return port

    def _run(self, name: str, what: str, *flags: str) -> None:
        account = "operator" if what == "controller" else what
        kubeconfig = self.plane.account_kubeconfig(SYSTEM, f"sluicegate-{account}")
        command = [sys.executable, "-m", "sluicegate.operator", what, "--kubeconfig", str(kubeconfig)]
        if what != "controller":  # keeps nothing on disk
            command += ["--state", str(self.root / name)]
        self.processes.start(name, [*command, "--namespace", SYSTEM, *flags])


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=3) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _listens(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex(("127.0.0.1", port)) == 0
