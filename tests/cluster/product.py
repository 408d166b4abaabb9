"""The product on a control plane: operator, gateway and lineage as processes with their own, least-privileged accounts."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.balancer import Balancer
from tests.cluster.client import Client, Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import free_port
from tests.operator.up import no_traceback, until

SYSTEM = "sluicegate-system"
OPERATOR = f"system:serviceaccount:{SYSTEM}:sluicegate-operator"

LOOPBACK = ("--host", "127.0.0.1")


@dataclass
class Process:
    """One process of the product; started, killed, stopped and continued as often as wished."""

    command: list[str]
    log: Path
    ready_url: tuple[int, str]
    running: subprocess.Popen[bytes] | None = None
    webhook: int = 0

    def spawn(self) -> None:
        """Start; do not wait."""
        environ = {key: value for key, value in os.environ.items() if not key.startswith("KUBE")}
        with self.log.open("ab") as out:
            self.running = subprocess.Popen(
                self.command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environ
            )

    def start(self) -> None:
        """Start and wait until it is ready."""
        self.spawn()
        until(f"ready: {self.log.stem}", self.is_ready)

    def is_ready(self) -> bool:
        """What /readyz says."""
        assert self.running is not None
        assert self.running.poll() is None, self.said()[-6000:]
        port, path = self.ready_url
        return answers(port, path)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to exactly this process."""
        assert self.running is not None
        self.running.send_signal(number)

    def kill(self) -> None:
        """kill -9; nothing when it does not run."""
        if self.running is not None:
            self.running.kill()
            self.running.wait()

    def stop(self, seconds: float = 90) -> int:
        """SIGTERM; the exit status."""
        assert self.running is not None
        if self.running.poll() is None:
            self.running.terminate()
        try:
            return self.running.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def said(self) -> str:
        """Its log."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def get(port: int, path: str, seconds: float = 5) -> tuple[int, str]:
    """GET on loopback."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def answers(port: int, path: str, seconds: float = 5) -> bool:
    """Whether it answers 200 in time."""
    try:
        return get(port, path, seconds)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


@dataclass
class Product:
    """`operators` and one gateway with `workers` workers. through: kubeconfig of the operators when it is not their own
    (a proxy that makes faults).
    """

    plane: ControlPlane
    root: Path
    workers: int = 1
    through: str | None = None  # another address of the API server, for the operators
    lease_seconds: int = 5
    operators: list[Process] = field(default_factory=list)
    gateway: Process | None = None
    lineage: Process | None = None
    gateway_port: int = 0
    lineage_port: int = 0
    webhooks: Balancer | None = None

    @property
    def admin(self) -> Client:
        """May all that policies leave to an admin."""
        return Client(self.plane)

    @property
    def operator_account(self) -> Client:
        """Acts as the operator, for states that would take days to reach."""
        return Client(self.plane, acting=OPERATOR)

    def start(self, operators: int = 1) -> "Product":
        """Everything; returns when all are ready."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.start_lineage()
        self.start_gateway()
        for _ in range(operators):
            self.add_operator().start()
        return self

    def start_lineage(self) -> None:
        """Again, with the same folder and port."""
        if self.lineage is None:
            self.lineage_port = free_port()
            flags = [
                *LOOPBACK,
                "--state",
                str(self.root / "lineage"),
                "--port",
                str(self.lineage_port),
                "--metrics-port",
                "0",
            ]
            self.lineage = self._process(
                "lineage", "sluicegate-lineage", flags, (self.lineage_port, "/readyz")
            )
        self.lineage.start()

    def start_gateway(self) -> None:
        """Again, with the same folder and ports."""
        if self.gateway is None:
            self.gateway_port, metrics = free_port(), free_port()
            flags = [
                *LOOPBACK,
                "--state",
                str(self.root / "gateway"),
                "--port",
                str(self.gateway_port),
                "--name",
                "gateway-0",
            ]
            flags += ["--workers", str(self.workers), "--metrics-port", str(metrics)]
            flags += ["--lineage-url", f"http://127.0.0.1:{self.lineage_port}"]
            self.gateway = self._process("gateway", "sluicegate-gateway", flags, (metrics, "/readyz"))
        self.gateway.start()

    def add_operator(self) -> Process:
        """Another replica; not started."""
        if self.webhooks is None:
            self.webhooks = Balancer(self._webhook_ports)
            self.webhooks.start()
        number, metrics, webhook = len(self.operators), free_port(), free_port()
        flags = [
            "--identity",
            f"operator-{number}",
            "--metrics-port",
            str(metrics),
            "--webhook-port",
            str(webhook),
        ]
        flags += ["--webhook-host", "127.0.0.1", "--webhook-url", f"https://127.0.0.1:{self.webhooks.port}"]
        flags += ["--lease-seconds", str(self.lease_seconds)]
        flags += ["--lineage-url", f"http://127.0.0.1:{self.lineage_port}"]
        made = self._process(
            "controller", "sluicegate-operator", flags, (metrics, "/readyz"), server=self.through
        )
        made.webhook = webhook
        self.operators.append(made)
        return made

    def _webhook_ports(self) -> list[int]:
        """Of the replicas that are ready, as a Service has it."""
        return [one.webhook for one in self.operators if answers(*one.ready_url, 0.5)]

    def _process(
        self,
        what: str,
        account: str,
        flags: Sequence[str],
        ready: tuple[int, str],
        *,
        server: str | None = None,
    ) -> Process:
        kubeconfig = self.plane.account_kubeconfig(SYSTEM, account, server=server)
        command = [sys.executable, "-m", "sluicegate.operator", what, "--kubeconfig", str(kubeconfig)]
        log = self.root / f"{what}-{ready[0]}.log"
        return Process([*command, "--namespace", SYSTEM, *flags], log, ready)

    def metrics(self, number: int = 0) -> str:
        """Of an operator."""
        return get(self.operators[number].ready_url[0], "/metrics")[1]

    def processes(self) -> list[Process]:
        """All there are."""
        return [one for one in (*self.operators, self.gateway, self.lineage) if one is not None]

    def stop(self) -> None:
        """All of them end well, the operators first."""
        for one in self.processes():
            if one.running is not None and one.running.poll() is None:
                assert one.stop() == 0, one.said()[-6000:]

    def kill(self) -> None:
        """Nothing is left."""
        for one in self.processes():
            one.kill()
        if self.webhooks is not None:
            self.webhooks.stop()
            self.webhooks = None

    def logs(self) -> str:
        """Everything that was written."""
        return "\n".join(one.said() for one in self.processes())


@contextmanager
def running(plane: ControlPlane, root: Path, *, operators: int = 1, **settings: Any) -> Iterator[Product]:
    """The product, and nothing left of it."""
    product = Product(plane, root, **settings)
    try:
        yield product.start(operators)
        product.stop()
        no_traceback(product.logs())
    finally:
        product.kill()


@dataclass(frozen=True, slots=True)
class Place:
    """A workflow in a namespace, and what its users and operators see of it."""

    product: Product
    namespace: str
    name: str

    def apply(self, item: Json) -> Json:
        """As the team."""
        item["metadata"] |= {"namespace": self.namespace, "name": self.name}
        return Client(self.product.plane, "carol").apply("agentworkflows", item)

    def workflow(self) -> Json:
        """The object; it has to be there."""
        found = self.product.admin.find("agentworkflows", self.namespace, self.name)
        assert found is not None
        return found

    def rollouts(self) -> list[Json]:
        """Those with a status, the oldest first."""
        found = self.product.admin.objects("workflowrollouts", self.namespace)
        mine = [
            one for one in found if one["spec"]["workflow"] == self.name and "state" in one.get("status", {})
        ]
        return sorted(mine, key=lambda one: one["metadata"]["creationTimestamp"])

    def rollout(self, version: str) -> Json | None:
        """The newest towards `version`."""
        found = [one for one in self.rollouts() if one["spec"]["candidate"]["version"] == version]
        return found[-1] if found else None

    def status(self, version: str) -> Json:
        """Of that rollout; `state` is None when there is none yet."""
        found = self.rollout(version)
        return found["status"] if found else {"state": None}

    def in_state(self, state: str, version: str, seconds: float = 90) -> Json:
        """Wait until the rollout towards `version` is in `state`."""

        def there() -> Json | None:
            found = self.rollout(version)
            return found if found and found["status"]["state"] == state else None

        found: Json = until(f"{self.name} {version} in {state}", there, seconds)
        return found

    def serving(self) -> None:
        """Wait until every gateway serves it."""

        def ready() -> bool:
            conditions = self.workflow().get("status", {}).get("conditions", [])
            return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)

        until(f"{self.name} is served", ready)

    def ask(self, session: str) -> str | None:
        """The version that answered a user; None when there was no answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.product.gateway_port, timeout=60)
        try:
            path = f"/v1/namespaces/{self.namespace}/workflows/{self.name}/runs"
            connection.request(
                "POST", path, json.dumps({"session": session}), {"Content-Type": "application/json"}
            )
            answer = connection.getresponse()
            said = json.loads(answer.read())
            return str(said["path"]).strip("/") if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def crowd(self, size: int = 24) -> Counter[str | None]:
        """How many of `size` users got which version."""
        with ThreadPoolExecutor(8) as pool:
            return Counter(pool.map(self.ask, (f"user-{number}" for number in range(size))))

    def reach(self, state: str, version: str, seconds: float = 240) -> Json:
        """Users come until the rollout is in `state`."""
        try:
            until(
                f"{version} in {state}",
                lambda: self.crowd(8) and self.status(version)["state"] == state,
                seconds,
            )
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {json.dumps(self.status(version), indent=1)}") from error
        found = self.rollout(version)
        assert found is not None
        return found

    def decide(
        self, action: str, version: str, *, user: str = "alice", name: str, **spec: Any
    ) -> tuple[int, Json]:
        """A person's act on the rollout as it stands."""
        from tests.operator.samples import decision

        held = self.rollout(version)
        assert held is not None
        item = decision(name, action, held, **{"decidedBy": user, **spec})
        for owner in item["metadata"]["ownerReferences"]:
            owner["apiVersion"] = item["apiVersion"]
        return Client(self.product.plane, user).create("decisions", item)
