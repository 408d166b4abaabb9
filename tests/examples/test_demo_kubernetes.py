"""`make demo-k8s` as a process: it keeps its promises, and whatever ends it, nothing stays behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.operator.up import until

pytestmark = [pytest.mark.e2e, pytest.mark.cluster]
ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "examples.kubernetes.demo"]


def below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def environment(folder: Path) -> dict[str, str]:
    """Everything that it leaves is in `folder`, whose path is short enough for a socket's."""
    return {**os.environ, "TMPDIR": str(folder), "NO_COLOR": "1"}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    short = Path(f"/tmp/d{os.getpid()}")
    short.symlink_to(tmp_path)
    yield short
    short.unlink()


def test_the_demo_keeps_its_promises(folder: Path) -> None:
    done = subprocess.run(
        COMMAND, cwd=ROOT, env=environment(folder), capture_output=True, text=True, timeout=1200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything_that_was_started(folder: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        COMMAND,
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as demo:
        until("processes", lambda: len(below(demo.pid)) >= 4 or demo.poll() is not None, 240)
        started = below(demo.pid)
        demo.send_signal(number)
        said, _ = demo.communicate(timeout=180)
    assert demo.returncode == 130, said
    assert len(started) >= 4
    assert [process for process in started if process.is_running()] == []
    assert list(folder.iterdir()) == []
