"""`kubectl sluicegate` by the real kubectl: the scripts of pyproject.toml on PATH."""

import os
import subprocess
from pathlib import Path

import pytest

from sluicegate.console import program
from tests.console import objects
from tests.console.kube import Room, said
from tests.support.scripts import install

SECONDS = 60.0


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    return install(tmp_path / "bin")


def kubectl(
    room: Room, scripts: Path, *arguments: str, user: str = "alice"
) -> subprocess.CompletedProcess[str]:
    program = room.plane.binaries.path("kubectl")
    environ = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "KUBECONFIG": str(room.plane.kubeconfig(user, namespace=room.namespace)),
        "COLUMNS": "140",
    }
    return subprocess.run(
        [str(program), *arguments], env=environ, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_kubectl_finds_the_plugin_and_it_speaks_to_the_current_context(room: Room, scripts: Path) -> None:
    room.put(objects.workflow())
    assert "kubectl-sluicegate" in kubectl(room, scripts, "plugin", "list").stdout
    done = kubectl(room, scripts, "sluicegate", "get", "awf", "-o", "name")
    assert (done.returncode, done.stdout) == (0, "agentworkflow/support-bot\n"), done.stderr
    wrong = kubectl(room, scripts, "sluicegate", "get", "awf", "suport-bot")
    assert wrong.returncode == 3
    assert "did you mean support-bot?" in wrong.stderr


def test_hints_of_the_plugin_can_be_copied(room: Room, scripts: Path, tmp_path: Path) -> None:
    usage = kubectl(room, scripts, "sluicegate", "get", "--help").stdout
    assert "Usage: kubectl sluicegate get" in usage
    none = kubectl(room, scripts, "sluicegate", "describe", "awf", "x")
    assert "`kubectl sluicegate get agentworkflows -A` shows all" in none.stderr


@pytest.mark.parametrize(
    ("name", "then"),
    [
        (program.NAME, "  sluicegate up -f {file}        run it"),
        (program.PLUGIN, "  kubectl sluicegate apply -f {file}     store it"),
    ],
)
def test_init_says_what_comes_next_there(tmp_path: Path, name: str, then: str) -> None:
    file = tmp_path / "bot.yaml"
    lint, last = said("init", "bot", "-o", str(file), name=name).out.splitlines()[1:]
    assert lint == f"  {name} lint -f {file}      check it"
    assert last == then.format(file=file)


@pytest.mark.parametrize("command", ["up", "demo"])
def test_what_runs_on_this_machine_says_so(room: Room, scripts: Path, command: str) -> None:
    done = kubectl(room, scripts, "sluicegate", command)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{command}: works on this machine only, not on a cluster" in done.stderr


def test_kubectl_completes_commands_options_and_names(room: Room, scripts: Path) -> None:
    """`kubectl __complete` is what its completion scripts call."""
    room.put(objects.workflow())

    def completed(*words: str) -> list[str]:
        return kubectl(room, scripts, "__complete", "sluicegate", *words).stdout.splitlines()

    assert completed("rollout", "st") == ["status", ":4"]
    assert completed("get", "agentw") == ["agentworkflows", ":4"]
    assert completed("promote", "sup") == ["support-bot", ":4"]
    assert "--context" in completed("get", "--con")
    assert completed("get", "nonsense-kind") == [":4"]


def test_completion_is_silent_when_nothing_answers(scripts: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "KUBECONFIG": str(tmp_path / "none")}
    done = subprocess.run(
        [str(scripts / "kubectl_complete-sluicegate"), "promote", ""],
        env=environ,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.stdout, done.stderr) == (":4\n", "")


def test_the_outcome_of_a_run_needs_the_gateways_address_on_a_cluster(room: Room) -> None:
    answer = room.cli("run", "outcome", "r", "--reward", "1")
    assert answer.code == 2
    assert "--gateway-url: is needed on a cluster" in answer.err
    assert said("run", "outcome", "r", "--reward", "1", "--gateway-url", "ftp://x", "--local").code == 2
