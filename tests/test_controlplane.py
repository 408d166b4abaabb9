"""The control plane that the tests of the cluster stand on."""

import itertools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.controlplane import binaries
from tests.controlplane.plane import ControlPlane
from tests.controlplane.processes import Ended
from tests.operator.up import until

NUMBERS = itertools.count(1)
ROOT = Path(__file__).parents[1]


@pytest.fixture
def namespace(plane: ControlPlane) -> Iterator[str]:
    name = f"plane-{next(NUMBERS)}"
    plane.kubectl("create", "namespace", name)
    yield name
    plane.kubectl("delete", "namespace", name, "--wait=false", check=False)


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def is_free(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize(
    ("user", "group"),
    [("admin", "system:masters"), ("alice", "board"), ("bob", "board"), ("carol", "team"), ("mallory", None)],
)
def test_the_api_server_knows_each_user_by_the_certificate(
    plane: ControlPlane, user: str, group: str | None
) -> None:
    who = json.loads(plane.kubectl("auth", "whoami", "-o", "json", user=user).stdout)["status"]["userInfo"]
    assert who["username"] == user
    assert set(who["groups"]) == {"system:authenticated"} | ({group} if group else set())


def test_nobody_but_admin_has_a_right_until_someone_binds_one(plane: ControlPlane, namespace: str) -> None:
    refused = plane.kubectl("get", "configmaps", "-n", namespace, user="mallory", check=False)
    assert refused.returncode != 0
    assert "Forbidden" in refused.stderr
    plane.allow("user:mallory", "view", namespace)
    # RBAC is read from a cache: a binding works a moment later.
    until(
        "mallory may read",
        lambda: plane.kubectl("get", "cm", "-n", namespace, user="mallory", check=False).returncode == 0,
    )
    assert plane.kubectl("get", "cm", "-n", "default", user="mallory", check=False).returncode != 0


def test_the_audit_log_names_who_asked_what_and_the_answer(plane: ControlPlane, namespace: str) -> None:
    mark = plane.audit_position()
    plane.kubectl("create", "configmap", "one", "-n", namespace)
    plane.kubectl("delete", "configmap", "one", "-n", namespace, user="mallory", check=False)

    def seen() -> set[tuple[str, str, str, str, int]]:
        return {
            (entry.user, entry.verb, entry.resource, entry.name, entry.code)
            for entry in plane.audit(mark)
            if entry.namespace == namespace
        }

    wanted = {("admin", "create", "configmaps", "one", 201), ("mallory", "delete", "configmaps", "one", 403)}
    until("both entries", lambda: wanted <= seen())


def test_the_audit_log_names_the_binding_that_allowed_it(plane: ControlPlane, namespace: str) -> None:
    plane.kubectl("create", "serviceaccount", "reader", "-n", namespace)
    plane.allow(f"account:{namespace}:reader", "view", namespace)
    kubeconfig = plane.account_kubeconfig(namespace, "reader")
    mark = plane.audit_position()
    command = [str(plane.binaries.path("kubectl")), "--kubeconfig", str(kubeconfig), "get", "configmaps"]
    until(
        "the account may read",
        lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0,
    )
    account = f"system:serviceaccount:{namespace}:reader"

    def reasons() -> list[str]:
        return [
            e.reason for e in plane.audit(mark) if e.user == account and e.code == 200 and e.verb == "list"
        ]

    (reason, *_) = until("its entry", reasons)
    assert f'ClusterRole "view" to ServiceAccount "reader/{namespace}"' in reason


def test_the_controllers_work_accounts_garbage_and_namespaces(plane: ControlPlane, namespace: str) -> None:
    account = until(
        "the namespace's account",
        lambda: plane.kubectl("get", "sa", "default", "-n", namespace, check=False).returncode == 0,
    )
    assert account
    plane.kubectl("create", "configmap", "owner", "-n", namespace)
    uid = plane.get("configmap", "owner", "-n", namespace)["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    child = {"name": "child", "namespace": namespace, "ownerReferences": [reference]}
    plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": child})
    plane.kubectl("delete", "configmap", "owner", "-n", namespace)
    plane.kubectl("wait", "--for=delete", "configmap/child", "-n", namespace, "--timeout=60s", seconds=70)
    plane.kubectl("delete", "namespace", namespace, "--timeout=60s", seconds=70)


def test_the_gateway_apis_kinds_are_served(installed: ControlPlane) -> None:
    served = installed.kubectl("api-resources", "--no-headers", "-o", "name").stdout.split()
    assert "httproutes.gateway.networking.k8s.io" in served


def test_kubectl_says_who_was_refused(plane: ControlPlane) -> None:
    with pytest.raises(AssertionError, match='User "mallory" cannot list resource "secrets"'):
        plane.kubectl("get", "secrets", user="mallory")


@pytest.fixture(scope="module")
def own() -> Iterator[ControlPlane]:
    """One with simulated nodes, that a test may stop."""
    found = binaries.find()
    assert isinstance(found, binaries.Binaries)
    with ControlPlane(found, nodes=True) as running:
        yield running


def test_simulated_nodes_run_jobs(own: ControlPlane) -> None:
    own.add_node("node-1", **{"nvidia.com/gpu": "1"})
    own.kubectl("create", "job", "once", "--image=none")
    own.kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=90s", seconds=100)
    (pod,) = own.get("pods", "-l", "job-name=once")["items"]
    assert pod["spec"]["nodeName"] == "node-1"


def test_an_api_server_that_was_killed_comes_back_with_what_it_knew(own: ControlPlane) -> None:
    own.kubectl("create", "configmap", "kept")
    own.processes.kill("kube-apiserver")
    assert is_free(own.port)
    own.start_apiserver()
    assert own.get("configmap", "kept")["metadata"]["name"] == "kept"


def test_after_stop_nothing_is_left(own: ControlPlane) -> None:
    pids = own.processes.pids()
    assert set(pids) == {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
    own.stop()
    assert [name for name, pid in pids.items() if runs(pid)] == []
    assert is_free(own.port)
    assert not own.folder.exists()


def test_when_the_tests_are_killed_their_control_plane_is_gone_too(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.controlplane import binaries, plane; "
        "p = plane.ControlPlane(binaries.find(), root=Path(sys.argv[1])); p.start(); "
        "print(*p.processes.pids().values(), flush=True); sys.stdin.read()"
    )
    # Its folder stays behind, for tmp_path to remove; the sockets in it need a short path.
    root = Path(f"/tmp/p{os.getpid()}")
    root.symlink_to(tmp_path)
    try:
        command = [sys.executable, "-c", code, str(root)]
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            pids = [int(word) for word in child.stdout.readline().split()]
            assert len(pids) == 3
            child.kill()
        until("all ended", lambda: not any(runs(pid) for pid in pids))
    finally:
        root.unlink()


def test_a_start_that_fails_shows_the_end_of_the_log_and_leaves_nothing() -> None:
    found = binaries.find()
    assert isinstance(found, binaries.Binaries)
    plane = ControlPlane(found, apiserver=["--no-such-flag"])
    with pytest.raises(Ended, match=r"kube-apiserver ended with 1\n(.*\n)*.*unknown flag: --no-such-flag"):
        plane.start()
    assert plane.processes.pids() == {}
    assert not plane.folder.exists()
