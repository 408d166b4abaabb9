"""Processes in groups of their own that end when we stop them, or die."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

LOG_LINES = 25
STOP_SECONDS = 5.0  # nothing that they hold is kept

# Tied to the thread that starts it: start from one that lives as long as the process shall.
_TIED = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]): sys.exit("the parent is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


class Ended(Exception):  # noqa: N818 - it names what happened
    """A process ended that should run; the message holds the end of its log."""


class Processes:
    """Stopped in the reverse order of their start."""

    def __init__(self, logs: Path, stop_seconds: float = STOP_SECONDS) -> None:
        self._logs = logs
        self._patience = stop_seconds
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str | Path], environ: dict[str, str] | None = None) -> None:
        """Its output goes to `<logs>/<name>.log`."""
        line = [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *map(str, command)]
        with self.log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environ
            )

    def log(self, name: str) -> Path:
        """The file of its output."""
        return self._logs / f"{name}.log"

    def pid(self, name: str) -> int:
        """Of a process that was started."""
        return self._running[name].pid

    def pids(self) -> dict[str, int]:
        """Of everything that was started and not stopped."""
        return {name: process.pid for name, process in self._running.items()}

    def check(self) -> None:
        """Raise Ended if one of them runs no more."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise Ended(f"{name} ended with {process.returncode}\n{self.tail(name)}")

    def tail(self, name: str) -> str:
        """The end of its log."""
        lines = self.log(name).read_text(errors="replace").splitlines()
        return "\n".join(lines[-LOG_LINES:])

    def stop(self, name: str) -> None:
        """Kindly, then not; returns when it and its group are gone."""
        process = self._running.pop(name)
        process.terminate()
        try:
            process.wait(self._patience)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _kill(process)

    def kill(self, name: str) -> None:
        """At once, as a crash would."""
        _kill(self._running.pop(name))

    def stop_all(self) -> None:
        """Every one; the last started first."""
        while self._running:
            self.stop(next(reversed(self._running)))


def until_ready(what: str, processes: Processes, is_ready: Callable[[], bool], seconds: float = 90.0) -> None:
    """Ask until it is true; Ended when a process ends before, or with every log's end when it takes too long."""
    deadline = time.monotonic() + seconds
    while True:
        processes.check()
        if is_ready():
            return
        if time.monotonic() > deadline:
            tails = "\n".join(f"--- {name}\n{processes.tail(name)}" for name in processes.pids())
            raise Ended(f"{what}: not ready after {seconds:g} s\n{tails}")
        time.sleep(0.05)


_SERVERS = range(15_000, 32_000)
"""Below the ports that clients are given: a process that is started anew finds its own still free."""


def free_port() -> int:
    """A port that nobody listens on just now, and that no client is given meanwhile."""
    while True:
        port = secrets.choice(_SERVERS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process and what it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
