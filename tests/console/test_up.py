"""`up` as people start it."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sluicegate.console.local import LocalClient
from sluicegate.console.waiting import until, until_ready
from tests.console.conftest import Cli

pytestmark = pytest.mark.e2e
SECONDS = 40.0


def test_up_with_a_file_serves_it_and_stops_on_request(state: Path, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "workflow.yaml"
    assert cli("init", "my-bot", "-o", str(file)).code == 0
    command = [
        sys.executable,
        "-m",
        "sluicegate.console.main",
        "up",
        "-f",
        str(file),
        "--port",
        "0",
        "--metrics-port",
        "0",
    ]
    log = tmp_path / "up.log"
    with log.open("wb") as sink, subprocess.Popen(command, stdout=sink, stderr=sink) as process:
        try:
            client = LocalClient(state)
            until_ready(client, SECONDS)
            assert until(lambda: client.listing("agentworkflows", None) or None, SECONDS), log.read_text()
            said = cli("wait", "my-bot", "--for", "condition=Ready", "--timeout", str(SECONDS))
            assert said.code == 0, said.err + log.read_text()
            assert cli("rollout", "status", "my-bot", "-w", "--timeout", str(SECONDS)).code == 0
            assert "my-bot" in cli("describe", "awf", "my-bot").out
            assert cli("up", "--port", "0", "--metrics-port", "0").code == 5, "one `up` per state folder"
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0, log.read_text()
    assert "agentworkflow/my-bot created" in log.read_text()
    assert cli("get", "awf").code == 6


def test_what_a_killed_demo_started_ends_with_it(tmp_path: Path) -> None:
    state = tmp_path / "state"
    starter = (
        "import sys, time; from pathlib import Path; from sluicegate.console.demo.processes import Children\n"
        "with Children(Path(sys.argv[1], 'logs')) as children:\n"
        "    children.up(Path(sys.argv[1])); print(*(process.pid for _, process in children.running), flush=True)\n"
        "    time.sleep(600)"
    )
    command = [sys.executable, "-c", starter, str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        up = int(process.stdout.readline())
        process.kill()
    assert until(lambda: not Path(f"/proc/{up}").exists() or None, SECONDS)
    assert not list((state / "workers").glob("*.json")), "it stopped in order, its worker first"
