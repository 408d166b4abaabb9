"""Recorded runs of a cluster: from a real lineage process, through the API server's proxy and at its own address."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sluicegate.lineage import entries
from tests.console import objects
from tests.console.kube import Room, said
from tests.console.said import Said
from tests.controlplane.plane import ControlPlane
from tests.lineage.builders import fell_back, run
from tests.operator.edge import processes
from tests.operator.edge.processes import Running
from tests.operator.up import until

pytestmark = pytest.mark.cluster
ID = "0190b0a0-0000-7000-8000-{:012d}"
SEGMENT = f"/v1/spools/g1/w0/{'b' * 32}-000000"
SYSTEM = processes.SYSTEM
HOME = "console-lineage"


def address() -> str:
    """Of this machine, that is not loopback: an API server passes nothing on to loopback."""
    found = [
        one.address
        for all_ in psutil.net_if_addrs().values()
        for one in all_
        if one.family is socket.AF_INET and not one.address.startswith(("127.", "169.254."))
    ]
    assert found, "this machine has no network interface beside loopback"
    return found[0]


@pytest.fixture(scope="module")
def lineage(governed: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Behind the Service of the chart's name, with thirty runs of namespace HOME, three of which fell back."""
    processes.accounts(governed, HOME)
    held = [run(ID.format(number), namespace=HOME) for number in range(27)]
    held += [
        run(ID.format(number), namespace=HOME, steps=(fell_back("planner"),)) for number in range(27, 30)
    ]
    lines = b"".join(entries.encode_run(one) for one in held)
    with processes.lineage(governed, tmp_path_factory.mktemp("lineage"), "--host", "0.0.0.0") as running:
        code, found = running.ask(
            "PUT", f"{SEGMENT}?offset=0&final=1", lines, governed.token(SYSTEM, processes.GATEWAY)
        )
        assert code == 200, found
        everybody = processes.reader(governed, HOME, "all-reader", everywhere=True)
        until(
            "the runs are stored",
            lambda: running.ask("GET", "/v1/counts", token=everybody)[1].get("runs") == 30,
        )
        ports = [{"name": "http", "port": running.port}]
        pod = {"kind": "Pod", "name": "lineage-0", "namespace": SYSTEM}
        governed.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "lineage-0", "namespace": SYSTEM},
                "spec": {"containers": [{"name": "lineage", "image": "runs-beside-the-test"}]},
            },
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": processes.LINEAGE, "namespace": SYSTEM},
                "spec": {"ports": ports},
            },
            {
                "apiVersion": "v1",
                "kind": "Endpoints",
                "metadata": {"name": processes.LINEAGE, "namespace": SYSTEM},
                "subsets": [{"addresses": [{"ip": address(), "targetRef": pod}], "ports": ports}],
            },
        )
        status = {"status": {"phase": "Running", "podIP": address(), "podIPs": [{"ip": address()}]}}
        governed.kubectl(
            "patch", "pod", "lineage-0", "-n", SYSTEM, "--subresource=status", "-p", json.dumps(status)
        )
        yield running
        for kind, name in (("pod", "lineage-0"), ("service", processes.LINEAGE)):
            governed.kubectl("delete", kind, name, "-n", SYSTEM, "--grace-period=0", "--force")


@pytest.fixture(scope="module")
def token(lineage: Running, governed: ControlPlane) -> str:
    """Of a person with the cluster's role view in HOME."""
    governed.kubectl("create", "serviceaccount", "dora", "-n", HOME)
    governed.allow(f"account:{HOME}:dora", "view", HOME)
    return governed.token(HOME, "dora")


def dora(room: Room, tmp_path: Path, token: str, *arguments: str) -> Said:
    held = json.loads(json.dumps(_config(room)))
    held["users"][0]["user"] = {"token": token}
    file = tmp_path / "dora"
    file.write_text(json.dumps(held))
    return said(*arguments, "--kubeconfig", str(file), "-n", HOME)


def _config(room: Room) -> object:
    import yaml

    return yaml.safe_load(room.plane.kubeconfig("mallory").read_text())


@pytest.mark.parametrize("how", ["through the API server", "at its own address"])
def test_runs_are_listed_and_shown(
    room: Room, lineage: Running, token: str, tmp_path: Path, how: str
) -> None:
    place = () if how.startswith("through") else ("--lineage-url", f"http://127.0.0.1:{lineage.port}")
    listed = dora(room, tmp_path, token, "run", "list", "--limit", "5", "-o", "json", *place)
    assert listed.code == 0, listed.err
    assert len(json.loads(listed.out)["items"]) == 5
    fell = dora(room, tmp_path, token, "run", "list", "--fallback", "-o", "name", *place)
    assert fell.out.split() == [ID.format(number) for number in (29, 28, 27)]
    shown = dora(room, tmp_path, token, "run", "show", ID.format(28), *place)
    assert shown.code == 0, shown.err
    assert "fallback Value: Timeout" in shown.out
    none = dora(room, tmp_path, token, "run", "show", ID.format(99), *place)
    assert none.code == 3


def test_who_may_not_read_runs_is_told_which_right_is_missing(room: Room, token: str, tmp_path: Path) -> None:
    said_ = dora(room, tmp_path, token, "run", "list", "-A")
    assert said_.code == 4
    assert "may not read runs of all namespaces" in said_.err
    assert "workflowruns.sluicegate.io" in said_.err


def test_who_has_a_certificate_gives_a_token_beside_it(
    room: Room, token: str, lineage: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = room.cli("run", "list")
    assert refused.code == 4
    assert "SLUICEGATE_LINEAGE_TOKEN=$(kubectl create token ACCOUNT" in refused.err
    monkeypatch.setenv("SLUICEGATE_LINEAGE_TOKEN", token)
    assert room.cli("run", "list", "-n", HOME).code == 0


def test_fallbacks_to_review_are_listed(room: Room, token: str, tmp_path: Path) -> None:
    Room(room.plane, HOME).put(objects.workflow("support-bot"))
    listed = dora(room, tmp_path, token, "review", "support-bot")
    assert listed.code == 0, listed.err
    assert ID.format(29) in listed.out
    assert listed.err == "3 fallbacks to review\n"


def test_a_lineage_process_that_is_not_there_is_named(
    room: Room, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    gone = dora(room, tmp_path, token, "run", "list", "--lineage-url", f"http://127.0.0.1:{port}")
    assert gone.code == 6
    assert f"http://127.0.0.1:{port}" in gone.err
    wrong = dora(room, tmp_path, token, "run", "list", "--lineage-url", "lineage:80")
    assert wrong.code == 2
