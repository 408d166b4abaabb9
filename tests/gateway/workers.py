"""Gateway worker processes for tests: started, awaited, stopped by pid."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sluicegate.contracts.routes import RoutePlan
from sluicegate.gateway.plan_table import PlanTable
from tests.gateway.components import Answer, ComponentServer, serving

PATIENCE = 90.0


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Poll until a condition gives something true; the deadline is generous because it is only for failures."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"not within {PATIENCE} s: {what}")


@dataclass(slots=True)
class WorkerProcess:
    """A running worker."""

    process: subprocess.Popen[bytes]
    state: Path
    name: str
    port: int

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """One request on its own connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def run(self, value: Any = None, path: str = "/v1/workflows/bot/runs") -> tuple[int, dict[str, str], Any]:
        """One run."""
        code, headers, body = self.request("POST", path, orjson.dumps(value if value is not None else {}))
        return code, headers, orjson.loads(body)

    def ready(self) -> dict[str, Any]:
        """The document of /readyz."""
        found: dict[str, Any] = orjson.loads(self.request("GET", "/readyz")[2])
        return found

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal, and the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def spooled(state: Path) -> list[dict[str, Any]]:
    """All entries of all spools."""
    lines: list[dict[str, Any]] = []
    for segment in sorted((state / "spool").glob("*.spool")):
        lines += [orjson.loads(line) for line in segment.read_bytes().splitlines()]
    return lines


@contextmanager
def worker(
    state: Path, *, name: str = "w0", port: int = 0, parent_fd: int | None = None
) -> Iterator[WorkerProcess]:
    """A worker that listens, until the block ends."""
    command = [
        sys.executable,
        "-m",
        "sluicegate.gateway",
        "--state",
        str(state),
        "--port",
        str(port),
        "--worker",
        name,
    ]
    kept: tuple[int, ...] = ()
    if parent_fd is not None:
        command += ["--watch-parent-fd", str(parent_fd)]
        kept = (parent_fd,)
    log = (state / f"{name}.log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=kept, env=dict(os.environ))
    log.close()
    announcement = state / "workers" / f"{name}.json"
    try:
        wait_for(lambda: announcement.exists() or process.poll() is not None, "the worker listens")
        assert process.poll() is None, (state / f"{name}.log").read_text()
        found = json.loads(announcement.read_text())
        assert found["pid"] == process.pid
        yield WorkerProcess(process, state, name, found["port"])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)


@contextmanager
def component_thread(answer: Answer) -> Iterator[ComponentServer]:
    """A component server in a thread of its own, so that tests may block."""
    ready, server = threading.Event(), ComponentServer(answer)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def main() -> None:
        async with serving(answer) as running:
            server.calls, server.port = running.calls, running.port
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
    thread.start()
    try:
        assert ready.wait(20)
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()


def write(state: Path, *plans: RoutePlan) -> None:
    table = PlanTable(state / "plans.db")
    for plan in plans:
        assert table.write(plan)
    table.close()
