"""Which server is meant, and what is said when it cannot be reached or does not know the caller."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.console import places, program
from tests.console import objects
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli
from tests.console.kube import Room, said

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("SLUICEGATE_CLUSTER", raising=False)
    program.called(program.NAME)


def config(path: Path, server: str, *, user: Json | None = None, **more: Any) -> Path:
    held = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user or {"token": "t"}}],
        "contexts": [
            {"name": "staging", "context": {"cluster": "c", "user": "u", "namespace": "shop"}},
            {"name": "production", "context": {"cluster": "c", "user": "u"}},
        ],
        "current-context": "staging",
        **more,
    }
    path.write_text(yaml.safe_dump(held))
    return path


def nowhere() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"https://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("found", "name", "is_cluster"),
    [
        ({}, program.NAME, False),
        ({"kubeconfig": "k"}, program.NAME, True),
        ({"context": "c"}, program.NAME, True),
        ({"cluster": True}, program.NAME, True),
        ({"cluster": "1"}, program.NAME, True),
        ({"cluster": "0"}, program.NAME, False),
        ({"cluster": "0", "context": "c"}, program.NAME, True),
        ({"state_dir": "d"}, program.NAME, False),
        ({}, program.PLUGIN, True),
        ({"cluster": False}, program.PLUGIN, False),
        ({"cluster": False, "context": "c"}, program.NAME, False),
    ],
    ids=str,
)
def test_when_it_is_a_cluster(found: Json, name: str, is_cluster: bool) -> None:
    program.called(name)
    assert places.made(found).is_cluster is is_cluster


def test_kubeconfig_alone_changes_nothing_for_local_mode(
    server: ApiServer, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(config(tmp_path / "k", nowhere())))
    server.put(objects.workflow())
    assert cli("get", "awf", "-o", "name").out == "agentworkflow/support-bot\n"
    assert cli("get", "awf", "--cluster").code == 6
    monkeypatch.setenv("SLUICEGATE_CLUSTER", "true")
    assert cli("get", "awf").code == 6
    assert cli("get", "awf", "--local").code == 0


def test_whoami_and_version_of_local_mode(server: ApiServer, cli: Cli) -> None:
    facts = json.loads(cli("whoami", "-o", "json").out)
    assert facts["verbs"]["approve"] is True
    assert facts["verbs"]["attest"] is False
    assert cli("version").code == 0


@pytest.mark.parametrize("where", ["before", "after"])
def test_options_stand_before_or_after_the_command(tmp_path: Path, where: str) -> None:
    place = ["--kubeconfig", str(config(tmp_path / "k", nowhere())), "--context", "production"]
    command = ["get", "awf"]
    answer = said(*place, *command) if where == "before" else said(*command, *place)
    assert answer.code == 6
    assert "(context production)" in answer.err


def test_an_unknown_context_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    answer = said(
        "get", "awf", "--kubeconfig", str(config(tmp_path / "k", nowhere())), "--context", "produktion"
    )
    assert answer.code == 2
    for words in ("no such context", "got produktion", "production, staging", "did you mean production?"):
        assert words in answer.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such file"),
        ("", "is empty"),
        ("{", "cannot be read"),
        ("just words", "kubeconfig"),
        ("{}", "has no current context"),
        ("{contexts: [{name: a}], current-context: a}", "kubeconfig"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_one_message(
    tmp_path: Path, text: str | None, words: str
) -> None:
    file = tmp_path / "k"
    if text is not None:
        file.write_text(text)
    answer = said("get", "awf", "--kubeconfig", str(file))
    assert answer.code == 2, answer.err
    assert words in answer.err
    assert "internal error" not in answer.err


def test_a_server_that_is_not_there_is_named_with_its_context(tmp_path: Path) -> None:
    server = nowhere()
    answer = said("get", "awf", "--kubeconfig", str(config(tmp_path / "k", server)))
    assert answer.code == 6
    assert f"{server} (context staging) cannot be reached" in answer.err
    assert "refused" in answer.err.lower()


def test_a_login_program_that_fails_is_told_in_its_words(tmp_path: Path) -> None:
    program_ = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", "import sys; sys.exit('your session has ended')"],
        "interactiveMode": "Never",
    }
    file = config(tmp_path / "k", nowhere(), user={"exec": program_})
    answer = said("get", "awf", "--kubeconfig", str(file))
    assert answer.code == 4
    assert "user u: no credentials" in answer.err
    assert "your session has ended" in answer.err


def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    answer = said("get", "awf", "--cluster")
    assert answer.code == 2
    assert "pip install 'sluicegate[kubernetes]'" in answer.err


def test_neither_help_nor_local_mode_imports_kubernetes(server: ApiServer) -> None:
    script = (
        "import sys; from sluicegate.console import main; main.run(['get', 'awf']); main.run(['get', '--help']); "
        "print('HEAVY', [m for m in ('kubernetes', 'urllib3') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def changed(room: Room, tmp_path: Path, **user: Any) -> str:
    """alice's kubeconfig with another user."""
    held = yaml.safe_load(room.plane.kubeconfig("alice", namespace=room.namespace).read_text())
    held["users"][0]["user"] = user
    file = tmp_path / "k"
    file.write_text(yaml.safe_dump(held))
    return str(file)


def test_a_token_that_the_server_does_not_know_says_log_in_again(room: Room, tmp_path: Path) -> None:
    answer = said("get", "awf", "--kubeconfig", changed(room, tmp_path, token="expired"))
    assert answer.code == 4
    assert "does not accept the credentials of user" in answer.err
    assert "log in again" in answer.err


def test_a_server_that_is_not_trusted_says_so(room: Room, tmp_path: Path) -> None:
    held = yaml.safe_load(room.plane.kubeconfig("alice").read_text())
    held["clusters"][0]["cluster"] = {"server": room.plane.server}
    file = tmp_path / "k"
    file.write_text(yaml.safe_dump(held))
    answer = said("get", "awf", "--kubeconfig", str(file))
    assert answer.code == 6
    assert "is not trusted" in answer.err
    assert "certificate-authority" in answer.err


def test_a_kubeconfig_that_skips_the_check_is_obeyed_in_silence(room: Room, tmp_path: Path) -> None:
    held = yaml.safe_load(room.plane.kubeconfig("alice", namespace=room.namespace).read_text())
    held["clusters"][0]["cluster"] = {"server": room.plane.server, "insecure-skip-tls-verify": True}
    file = tmp_path / "k"
    file.write_text(yaml.safe_dump(held))
    answer = said("get", "awf", "-o", "name", "--kubeconfig", str(file))
    assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_a_token_an_exec_program_and_the_contexts_namespace_are_used(room: Room, tmp_path: Path) -> None:
    room.plane.kubectl("create", "serviceaccount", "reader", "-n", room.namespace)
    room.plane.allow(f"account:{room.namespace}:reader", "view", room.namespace)
    token = room.plane.token(room.namespace, "reader")
    room.put(objects.workflow())
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    printed = json.dumps(answer | {"status": {"token": token}})
    program_ = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", f"print({printed!r})"],
        "interactiveMode": "Never",
    }
    for user in ({"token": token}, {"exec": program_}):
        file = changed(room, tmp_path, **user)
        found = said("get", "awf", "-o", "name", "--kubeconfig", file)
        assert found.out == "agentworkflow/support-bot\n", found.err
        assert said("whoami", "-o", "name", "--kubeconfig", file).out == (
            f"system:serviceaccount:{room.namespace}:reader\n"
        )


def test_a_cluster_without_the_kinds_says_install_the_chart(room: Room) -> None:
    """Another group of the same server stands for a server that never saw the chart."""
    from sluicegate.console.places import Place
    from sluicegate.console.session import open_session
    from sluicegate.contracts.errors import NotFound

    client = open_session(Place(kubeconfig=room.plane.kubeconfig("admin"))).client
    with pytest.raises(NotFound, match="install the chart"):
        client.request("GET", "/apis/sluicegate.io/v1beta9/agentworkflows")
    with pytest.raises(NotFound, match=r'"nothing" not found'):
        client.get("agentworkflows", room.namespace, "nothing")


def test_version_tells_the_cluster(room: Room) -> None:
    answer = room.cli("version", "-o", "json")
    server = json.loads(answer.out)["server"]
    assert server["kubernetes"].startswith("v1.")
    assert server["server"] == room.plane.server


def test_several_files_in_kubeconfig_are_merged(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = config(tmp_path / "other", nowhere())
    real = room.plane.kubeconfig("alice", namespace=room.namespace)
    monkeypatch.setenv("KUBECONFIG", f"{other}{os.pathsep}{real}")
    context = yaml.safe_load(real.read_text())["current-context"]
    assert said("get", "awf", "--context", context).code == 0
    assert said("get", "awf", "--context", "staging").code == 6
