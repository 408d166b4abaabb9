"""`sluicegate demo` as a process: whatever ends it, nothing stays behind."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from sluicegate.console.demo.processes import until

pytestmark = pytest.mark.e2e


def processes(marker: str) -> list[str]:
    """Command lines that name `marker`."""
    found = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    return [line for line in found if marker in line]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_that_was_started(tmp_path: Path, number: signal.Signals) -> None:
    state = tmp_path / "s"
    command = [sys.executable, "-m", "sluicegate.console.main", "demo", "--state-dir", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as demo:
        started = until(lambda: (state / "good.yaml").exists() or demo.poll() is not None, 180)
        before = processes(str(state))
        demo.send_signal(number)
        said, _ = demo.communicate(timeout=180)
    assert started
    assert demo.returncode == 130, said
    assert len(before) >= 3, before  # the demo, `up`, a gateway worker
    assert processes(str(state)) == []
