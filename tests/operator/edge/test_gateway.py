"""A gateway pod on a real API server, with real workers: plans in, acknowledgements and runs out, whatever is away."""

import asyncio
import http.client
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from sluicegate.contracts.adapters import system
from sluicegate.contracts.routes import RoutePlan, TrafficMode
from sluicegate.operator.cluster import gateways, names, plan_codec
from sluicegate.operator.cluster.kube import DynamicApi, connect
from sluicegate.operator.cluster.kube_access import KubeConfig
from sluicegate.operator.cluster.plans import ConfigMapPlans
from sluicegate.operator.cluster.ports import CONFIG_MAPS, LEASES
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.ports import Programmed
from sluicegate.operator.process import Uncounted
from tests.controlplane.plane import ControlPlane
from tests.gateway.components import component, rolling, spec_of, stable_plan
from tests.gateway.workers import component_thread
from tests.operator.edge import processes
from tests.operator.edge.processes import Running
from tests.operator.up import until

pytestmark = [pytest.mark.cluster, pytest.mark.e2e]

T = TypeVar("T")
PATIENCE = 90.0


class Leading:
    """A fence that is always open."""

    def epoch(self) -> int:
        return 1


class Operator:
    """The operator's side, one look at a time, with its own account."""

    def __init__(self, plane: ControlPlane) -> None:
        self.kubeconfig = plane.account_kubeconfig(processes.SYSTEM, processes.OPERATOR)

    def _do(self, act: Callable[[DynamicApi, ConfigMapPlans], Awaitable[T]]) -> T:
        async def main() -> T:
            async with connect(KubeConfig(kubeconfig=self.kubeconfig), Uncounted()) as api:
                plans = ConfigMapPlans(api, Leading(), HostClock(), lambda *_: None)
                for item in (await api.list(CONFIG_MAPS, labels=plan_codec.LABELS)).items:
                    plans.seen_plan(item, deleted=False)
                for item in (await api.list(LEASES, labels={names.GATEWAY_LABEL: "true"})).items:
                    plans.seen_gateway(item, deleted=False)
                return await act(api, plans)

        return asyncio.run(main())

    def publish(self, *plans: RoutePlan) -> None:
        async def act(_: DynamicApi, sink: ConfigMapPlans) -> None:
            for plan in plans:
                await sink.write(plan)

        self._do(act)

    def remove(self, namespace: str, workflow: str) -> None:
        self._do(lambda _, sink: sink.remove(namespace, workflow))

    def programmed(self, namespace: str, workflow: str = "bot") -> Programmed:
        return self._do(lambda _, sink: sink.programmed(namespace, workflow))

    def expect(self, namespace: str, version: int, workflow: str = "bot") -> None:
        until(
            f"plan {version} of {namespace}/{workflow} is programmed",
            lambda: self.programmed(namespace, workflow).version == version,
            PATIENCE,
        )


@pytest.fixture(scope="module")
def operator(plane: ControlPlane) -> Operator:
    processes.accounts(plane, "edge-a", "edge-b")
    return Operator(plane)


@pytest.fixture
def place(operator: Operator) -> Iterator[str]:
    """A namespace without plans."""
    yield "edge-a"
    for namespace in ("edge-a", "edge-b"):
        for workflow in ("bot", "other"):
            operator.remove(namespace, workflow)


def ask(running: Running, namespace: str, workflow: str = "bot") -> tuple[int, str | None, Any]:
    """One run of a user: status, revision, answer. A connection that breaks is an OSError."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    try:
        path = f"/v1/namespaces/{namespace}/workflows/{workflow}/runs"
        connection.request("POST", path, json.dumps({"q": "hi"}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.headers["Sluicegate-Revision"], json.loads(answer.read() or b"null")
    finally:
        connection.close()


def lease_of(plane: ControlPlane, name: str = "g1") -> dict[str, Any]:
    return plane.get("lease", gateways.lease_name(name), "-n", processes.SYSTEM)


def both(url: str, namespace: str, version: int, seconds: float = 3600.0) -> RoutePlan:
    """Everybody to the candidate, for so long."""
    return rolling(
        spec_of(component(url)),
        spec_of(component(url), version="2"),
        TrafficMode.SPLIT,
        namespace=namespace,
        version=version,
        lease_until=system.now() + timedelta(seconds=seconds),
    )


def test_plans_come_in_and_acknowledgements_go_out(
    plane: ControlPlane, operator: Operator, place: str, tmp_path: Path
) -> None:
    with component_thread(lambda _: {"ok": True}) as server:
        stable = stable_plan(spec_of(component(server.url)), namespace=place)
        operator.publish(stable)
        with processes.gateway(plane, tmp_path / "g", "--watch", place, "--workers", "2") as gateway:
            operator.expect(place, 1)
            assert ask(gateway, place)[0] == 200
            assert gateway.ready()["ready"]
            operator.publish(both(server.url, place, 2))
            operator.expect(place, 2)
            assert ask(gateway, place)[:2] == (200, "candidate"), "programmed is observed, not assumed"

            elsewhere = replace(stable, namespace="edge-b")
            operator.publish(elsewhere)
            assert operator.programmed("edge-b").gateways == 0, "not its namespace"
            assert ask(gateway, "edge-b")[0] == 404

            odd = spec_of(component(server.url, protocol="MCP"))
            operator.publish(replace(stable_plan(odd, namespace=place), version=3))
            until("it says so", lambda: operator.programmed(place).trouble, PATIENCE)
            found = operator.programmed(place)
            assert found.trouble is not None
            assert "gateway g1 cannot serve plan 3" in found.trouble.message
            assert "MCP" in found.trouble.message
            assert "MCP" in lease_of(plane)["metadata"]["annotations"][gateways.BROKEN]
            assert ask(gateway, place)[:2] == (200, "candidate"), "what was served before goes on"
            operator.publish(replace(stable, workflow="other"))
            operator.expect(place, 1, "other")

            operator.remove(place, "bot")
            until("it is gone", lambda: ask(gateway, place)[0] == 404, PATIENCE)
            operator.publish(stable)
            operator.expect(place, 1)
            assert ask(gateway, place)[:2] == (200, "bot-1"), "a workflow of the same name starts anew"
            assert gateway.stop() == 0
        code = plane.kubectl("get", "lease", gateways.lease_name("g1"), "-n", processes.SYSTEM, check=False)
        assert "NotFound" in code.stderr


def test_users_are_answered_without_the_api_server(
    plane: ControlPlane, operator: Operator, place: str, tmp_path: Path
) -> None:
    """A candidate's share ends with its lease; runs wait; a worker and the whole pod may die meanwhile."""
    with (
        component_thread(lambda _: {"ok": True}) as server,
        processes.lineage(plane, tmp_path / "lineage") as lineage,
        processes.gateway(
            plane, tmp_path / "g", "--lineage-url", f"http://127.0.0.1:{lineage.port}"
        ) as gateway,
    ):
        everybody = processes.reader(plane, place, "all-reader", everywhere=True)
        operator.publish(stable_plan(spec_of(component(server.url)), namespace=place))
        operator.expect(place, 1)
        assert ask(gateway, place)[:2] == (200, "bot-1")
        operator.publish(both(server.url, place, 2, seconds=25.0))
        operator.expect(place, 2)
        answered = 1

        def answered_by() -> str | None:
            nonlocal answered
            status, revision, _ = ask(gateway, place)
            assert status == 200
            answered += 1
            return revision

        assert answered_by() == "candidate"
        plane.processes.stop("kube-apiserver")
        try:
            assert answered_by() is not None
            lineage.kill()
            until("the lease has passed", lambda: answered_by() == "stable", PATIENCE)
            gateway.kill()
            gateway.start()
            assert answered_by() == "stable", "plans outlive the pod's process"
            ready = until("it says what is away", lambda: _troubled(gateway), PATIENCE)
            assert ready["ready"]
            spool = tmp_path / "g" / "state" / "spool"
            until("runs wait here", lambda: any(path.stat().st_size for path in spool.glob("*.spool")))
        finally:
            plane.start_apiserver()
        lineage.start()
        operator.publish(both(server.url, place, 3))
        operator.expect(place, 3)
        assert answered_by() == "candidate"
        until(
            "every run is in the store",
            lambda: lineage.ask("GET", "/v1/counts", token=everybody)[1].get("runs") == answered,
            PATIENCE,
        )
        found = lineage.ask("GET", f"/v1/runs?namespace={place}&limit=1000", token=everybody)[1]["items"]
        assert len({one["run_id"] for one in found}) == answered, "none is lost, none is there twice"
        until("nothing is left behind", lambda: not gateway.ready()["runsUnshipped"], PATIENCE)


def _troubled(gateway: Running) -> dict[str, Any] | None:
    found = gateway.ready()
    return found if found["plansUnavailable"] and found["leaseUnwritten"] is None else None


def secret(name: str, namespace: str, **values: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values}


def test_credentials_come_from_secrets_and_go_nowhere_else(
    plane: ControlPlane, operator: Operator, place: str, tmp_path: Path
) -> None:
    """Missing, brought, rotated, without a restart; the values are then looked for everywhere."""
    first, second, other = "tr0ub4dor-first-value", "c0rrect-horse-second-value", "never-asked-for-value"
    plane.kubectl("delete", "secret", "model", "-n", place, "--ignore-not-found")
    plane.apply(secret("unrelated", place, token=other))
    with (
        component_thread(lambda _: {"ok": True}) as server,
        processes.lineage(plane, tmp_path / "lineage") as lineage,
        processes.gateway(
            plane,
            tmp_path / "g",
            "--lineage-url",
            f"http://127.0.0.1:{lineage.port}",
            "--secret-seconds",
            "0.4",
        ) as gateway,
    ):
        everybody = processes.reader(plane, place, "all-reader", everywhere=True)
        reference = {"secretKeyRef": {"name": "model", "key": "token"}}
        part = component(server.url, endpoint={"credentialRef": reference})
        operator.publish(stable_plan(spec_of(part), namespace=place))
        operator.expect(place, 1)
        shown = [gateway.ready()]
        assert shown[0]["credentials"] == [f"Secret {place}/model does not exist"]
        status, _, answer = ask(gateway, place)
        assert (status, answer["reason"]) == (503, "Unavailable"), "the plan is served; the call fails"
        assert server.calls == []

        def heard(value: str) -> bool:
            ask(gateway, place)
            return bool(server.calls) and server.calls[-1].headers["authorization"] == f"Bearer {value}"

        plane.apply(secret("model", place, key="x"))
        until(
            "the key is missed",
            lambda: gateway.ready()["credentials"] == [f"Secret {place}/model has no key token"],
            PATIENCE,
        )
        plane.apply(secret("model", place, token=first))
        until("the first value is used", lambda: heard(first), PATIENCE)
        shown.append(gateway.ready())
        assert shown[-1]["credentials"] == []
        kept = list((tmp_path / "g" / "state" / "credentials").iterdir())
        assert [path.stat().st_mode & 0o777 for path in kept] == [0o600], "one file, for its owner only"
        plane.apply(secret("model", place, token=second))
        until("the second value is used", lambda: heard(second), PATIENCE)
        plane.kubectl("delete", "secret", "model", "-n", place)
        until("it is gone", lambda: ask(gateway, place)[0] == 503, PATIENCE)

        until(
            "failed runs are stored",
            lambda: lineage.ask("GET", f"/v1/runs?namespace={place}&outcome=Failed", token=everybody)[1][
                "items"
            ],
            PATIENCE,
        )
        runs = lineage.ask("GET", f"/v1/runs?namespace={place}&limit=1000", token=everybody)[1]["items"]
        documents = [
            lineage.ask("GET", f"/v1/runs/{one['run_id']}", token=everybody)[1]
            for one in runs[:20] + runs[-20:]
        ]
        text = json.dumps(documents)
        assert f"Secret {place}/model has no token under key token" in text
        everything = [
            text,
            json.dumps(shown),
            gateway.log.read_text(),
            lineage.log.read_text(),
            json.dumps(plane.get("configmaps", "-n", place)),
            json.dumps(plane.get("leases", "-A")),
            json.dumps(plane.get("events", "-A")),
            _arguments(gateway),
            _files(tmp_path),
        ]
        for value in (first, second, other):
            assert not [place for place, found in enumerate(everything) if value in found], value
        read = [one for one in plane.audit() if "secrets" in str(one) and processes.GATEWAY in str(one)]
        assert read
        assert not [one for one in read if "unrelated" in str(one)], "exactly the Secrets that plans name"


def _arguments(gateway: Running) -> str:
    """Command lines and environments of the pod's processes."""
    assert gateway.process is not None
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_text()
            if str(gateway.root) in line:
                found += [line, (path / "environ").read_text()]
        except OSError:
            continue
    assert len(found) >= 4, "the companion and a worker"
    return "\n".join(found)


def _files(root: Path) -> str:
    """What lies in the state folders now: the credentials' files went with their Secret."""
    return "\n".join(path.read_bytes().decode("latin-1") for path in root.rglob("*") if path.is_file())


def test_a_plan_waits_for_its_workers(
    plane: ControlPlane, operator: Operator, place: str, tmp_path: Path
) -> None:
    """A worker that hangs is waited for; one that was silent for 15 s is not."""
    import psutil

    with component_thread(lambda _: {"ok": True}) as server:
        operator.publish(stable_plan(spec_of(component(server.url)), namespace=place))
        with processes.gateway(plane, tmp_path / "g", "--workers", "2") as gateway:
            operator.expect(place, 1)
            assert gateway.process is not None
            workers = psutil.Process(gateway.process.pid).children()
            assert len(workers) == 2
            began = time.monotonic()
            workers[0].suspend()
            try:
                operator.publish(both(server.url, place, 2))
                waited = operator.programmed(place).version
                asked = time.monotonic() - began
                assert waited < 2 or asked > 9, "one of the two has not taken it"
                operator.expect(place, 2)
            finally:
                workers[0].resume()
