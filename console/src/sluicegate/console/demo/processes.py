"""What the demo starts: the example's components and `sluicegate up`; and how it stops them, whatever happened."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.error import URLError

from sluicegate.console import waiting
from sluicegate.console.direct import opened
from sluicegate.console.local import LocalClient
from sluicegate.contracts.errors import Unavailable

START_SECONDS = 60.0
STOP_SECONDS = 20.0
LOG_LINES = 30


@dataclass(slots=True)
class Children:
    """Processes that are stopped in the reverse order of their start. Use as a context."""

    logs: Path
    running: list[tuple[str, subprocess.Popen[bytes]]] = field(default_factory=list)

    def __enter__(self) -> "Children":
        """Nothing runs yet."""
        self.logs.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all, kindly; a second Ctrl-C ends them at once."""
        try:
            while self.running:
                _stop(self.running[-1][1])
                self.running.pop()
        except KeyboardInterrupt:
            for _name, process in self.running:
                _kill(process)
            raise

    def services(self, program: Path, seed: int) -> str:
        """Start the example's components on a free port; the base URL."""
        command = [str(program), "--port", "0", "--print-port", "--stop-with-stdin", "--seed", str(seed)]
        process = self._start("services", command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        port = process.stdout.readline().decode().strip()
        if not port.isdigit():
            raise Unavailable(f"the example's components did not start\n{self.tail('services')}")
        return f"http://127.0.0.1:{port}"

    def up(self, state_dir: Path, *options: str) -> LocalClient:
        """Start `sluicegate up` on free ports and wait until it and its gateway answer."""
        command = ["-m", "sluicegate.console.main", "up", "--quiet", "--port", "0", "--metrics-port", "0"]
        # The pipe ends with us, also when we are killed: then nothing that we started goes on.
        command += ["--stop-with-stdin", "--state-dir", str(state_dir), *options]
        process = self._start("up", command, stdin=subprocess.PIPE)
        client = LocalClient(state_dir)

        def is_ready() -> bool:
            if process.poll() is not None:
                raise Unavailable(f"`sluicegate up` ended with {process.returncode}\n{self.tail('up')}")
            return _answers(client)

        if not until(is_ready, START_SECONDS):
            raise Unavailable(f"`sluicegate up` is not ready after {START_SECONDS:g} s\n{self.tail('up')}")
        return client

    def check(self) -> None:
        """Raise Unavailable if something that was started has ended."""
        for name, process in self.running:
            if process.poll() is not None:
                raise Unavailable(f"{name} ended with {process.returncode}\n{self.tail(name)}")

    def tail(self, name: str) -> str:
        """The end of a process's log."""
        lines = (self.logs / f"{name}.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-LOG_LINES:])

    def _start(
        self, name: str, command: list[str], *, stdin: int, stdout: int | IO[bytes] | None = None
    ) -> subprocess.Popen[bytes]:
        with (self.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, *command],
                stdin=stdin,
                stdout=stdout or log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the demo, which then stops its children in order
            )
        self.running.append((name, process))
        return process


def gateway(client: LocalClient) -> str:
    """Base URL of the gateway of a running `up`."""
    return client.gateway_url()


def runs_url(client: LocalClient, workflow: str) -> str:
    """Where users send their runs."""
    return f"{gateway(client)}/v1/workflows/{workflow}/runs"


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Ask again and again; whether it became true in time."""
    return waiting.until(lambda: condition() or None, seconds) is not None


def _answers(client: LocalClient) -> bool:
    try:
        client.server_version()
        with opened(f"{gateway(client)}/healthz", 2) as response:
            return bool(response.status == 200)
    except (Unavailable, URLError, OSError):
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask kindly (end of input, SIGTERM), then end the process's whole group."""
    if process.stdin is not None:
        process.stdin.close()
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        _kill(process)
    if process.stdout is not None:
        process.stdout.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
