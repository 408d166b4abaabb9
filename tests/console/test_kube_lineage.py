"""Recorded runs of a cluster, from a real lineage process at its own address; and the way through the API server as far as
it goes here: an API server passes nothing on to loopback, where the processes of tests listen.
"""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.adapters import system
from sluicegate.lineage import entries
from tests.console import objects
from tests.console.kube import Room, said
from tests.console.said import Said
from tests.controlplane.audit import Entry
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


@pytest.fixture(scope="module")
def lineage(governed: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """With thirty runs of namespace HOME, three of which fell back."""
    processes.accounts(governed, HOME)
    fresh: dict[str, Any] = {
        "namespace": HOME,
        "started_at": system.now().isoformat(),
    }  # the process keeps runs for some days
    held = [run(ID.format(number), **fresh) for number in range(27)]
    held += [run(ID.format(number), steps=(fell_back("planner"),), **fresh) for number in range(27, 30)]
    lines = b"".join(entries.encode_run(one) for one in held)
    with processes.lineage(governed, tmp_path_factory.mktemp("lineage")) as running:
        code, found = running.ask(
            "PUT", f"{SEGMENT}?offset=0&final=1", lines, governed.token(SYSTEM, processes.GATEWAY)
        )
        assert code == 200, found
        everybody = processes.reader(governed, HOME, "all-reader", everywhere=True)
        until(
            "the runs are stored",
            lambda: running.ask("GET", "/v1/counts", token=everybody)[1].get("runs") == 30,
        )
        yield running


@pytest.fixture(scope="module")
def token(lineage: Running, governed: ControlPlane) -> str:
    """Of a person with the cluster's role view in HOME."""
    governed.kubectl("create", "serviceaccount", "dora", "-n", HOME)
    governed.allow(f"account:{HOME}:dora", "view", HOME)
    return governed.token(HOME, "dora")


@pytest.fixture
def there(room: Room, lineage: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """People are told where it is; `room` forgot what the tester's own environment says."""
    monkeypatch.setenv("SLUICEGATE_LINEAGE_URL", f"http://127.0.0.1:{lineage.port}")


def dora(room: Room, tmp_path: Path, token: str, *arguments: str) -> Said:
    held = json.loads(json.dumps(_config(room)))
    held["users"][0]["user"] = {"token": token}
    file = tmp_path / "dora"
    file.write_text(json.dumps(held))
    return said(*arguments, "--kubeconfig", str(file), "-n", HOME)


def _config(room: Room) -> object:
    import yaml

    return yaml.safe_load(room.plane.kubeconfig("mallory").read_text())


@pytest.mark.parametrize("how", ["option", "variable"])
def test_runs_are_listed_and_shown(
    room: Room, lineage: Running, token: str, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{lineage.port}"
    place = ("--lineage-url", url) if how == "option" else ()
    if not place:
        monkeypatch.setenv("SLUICEGATE_LINEAGE_URL", url)
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


def test_without_an_address_runs_are_asked_for_through_the_api_server(
    room: Room, token: str, tmp_path: Path, governed: ControlPlane
) -> None:
    """The person may ask the Service of the chart, by the chart's role; there is nobody behind it."""
    metadata = {"name": processes.LINEAGE, "namespace": SYSTEM}
    ports = [{"name": "http", "port": 80}]
    governed.apply(
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}},
        {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata},
    )
    after = governed.audit_position()
    missing = dora(room, tmp_path, token, "run", "list")
    governed.kubectl("delete", "service", processes.LINEAGE, "-n", SYSTEM)
    assert missing.code == 6, missing.err

    def asked() -> list[Entry]:
        found = [one for one in governed.audit(after) if one.stage == "ResponseComplete"]
        return [one for one in found if (one.resource, one.subresource) == ("services", "proxy")]

    [one] = until("it is noted", asked)
    assert (one.user, one.verb, one.name, one.code) == (
        f"system:serviceaccount:{HOME}:dora",
        "get",
        f"http:{processes.LINEAGE}:http",
        503,
    )
    assert 'Role "sluicegate-runs"' in one.reason


@pytest.mark.usefixtures("there")
def test_who_may_not_read_runs_is_told_which_right_is_missing(room: Room, token: str, tmp_path: Path) -> None:
    said_ = dora(room, tmp_path, token, "run", "list", "-A")
    assert said_.code == 4
    assert "may not read runs of all namespaces" in said_.err
    assert "workflowruns.sluicegate.io" in said_.err


@pytest.mark.usefixtures("there")
def test_who_has_a_certificate_gives_a_token_beside_it(
    room: Room, token: str, lineage: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = room.cli("run", "list")
    assert refused.code == 4
    assert "SLUICEGATE_LINEAGE_TOKEN=$(kubectl create token ACCOUNT" in refused.err
    monkeypatch.setenv("SLUICEGATE_LINEAGE_TOKEN", token)
    assert room.cli("run", "list", "-n", HOME).code == 0


@pytest.mark.usefixtures("there")
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
