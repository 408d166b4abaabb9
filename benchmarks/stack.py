"""A component, a gateway worker with a plan, and where they are pinned."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from sluicegate.contracts.routes import RevisionBody, RoutePlan, Share, TrafficMode
from sluicegate.contracts.stages import Stage
from sluicegate.gateway.plan_table import PlanTable

LOAD_CORE, GATEWAY_CORE = 0, 1
INPUT = {
    "type": "object",
    "required": ["question"],
    "properties": {"question": {"type": "string", "maxLength": 4096}},
}
OUTPUT = {
    "type": "object",
    "required": ["answer", "confidence"],
    "properties": {
        "answer": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
}
BODY = json.dumps({"question": "where is my parcel? " * 49, "session": "s-4512"}).encode()
"""1 kB."""


def pin(core: int) -> Callable[[], None] | None:
    """For a child process, with all its threads; None where there is only one core."""
    cores = os.sched_getaffinity(0)
    return (lambda: os.sched_setaffinity(0, {core})) if core in cores and len(cores) > 1 else None


def one_step(port: int) -> dict[str, Any]:
    """A workflow of one component, both contracts checked."""
    return _spec([_component("agent", port)])


def four_steps(port: int) -> dict[str, Any]:
    """Four components in a row; plain paths, one CEL condition."""
    names = ("planner", "retriever", "writer", "checker")
    steps: list[dict[str, Any]] = [{"name": "planner", "component": "planner"}]
    for before, name in pairwise(names):
        inputs = {"question": "input.question", "before": f"steps.{before}.answer"}
        steps.append({"name": name, "component": name, "inputs": inputs})
    steps[-1]["when"] = "steps.writer.confidence > 0.5"
    output = {"answer": "steps.writer.answer", "confidence": "steps.checker.confidence"}
    return _spec([_component(name, port) for name in names], steps=steps, output=output)


def plan_of(spec: dict[str, Any], mirrored: Share | None = None) -> RoutePlan:
    """Stable only, or with a share of mirrored runs (half of them with a control copy)."""
    stable = RevisionBody(name="bot-1", digest="sha256:" + "0" * 64, version="1", spec=spec)
    if mirrored is None:
        return RoutePlan(namespace="default", workflow="bot", version=1, stable=stable)
    candidate = RevisionBody(
        name="bot-2", digest="sha256:" + "1" * 64, version="2", spec=spec | {"version": "2"}
    )
    return RoutePlan(
        namespace="default",
        workflow="bot",
        version=1,
        stable=stable,
        candidate=candidate,
        rollout="bench",
        stage=Stage.SHADOW,
        attempt=1,
        mode=TrafficMode.MIRROR,
        share=mirrored,
        control=Share(1, 2),
        salt="bench",
        lease_until=datetime(2999, 1, 1, tzinfo=UTC),
    )


def _component(name: str, port: int) -> dict[str, Any]:
    return {
        "name": name,
        "version": "1",
        "endpoint": {"protocol": "Native", "url": f"http://127.0.0.1:{port}/"},
        "sideEffects": "None",
        "idempotent": True,
        "timeoutMs": 5000,
        "contract": {"input": INPUT, "output": OUTPUT},
    }


def _spec(components: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"version": "1", "components": components, "contract": {"input": INPUT, "output": OUTPUT}, **more}


@contextmanager
def component() -> Iterator[int]:
    """The fixed-answer component's port."""
    command = [sys.executable, "-m", "benchmarks.component"]
    with _process(command, LOAD_CORE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())


@dataclass(slots=True)
class Gateway:
    """A running worker."""

    port: int
    pid: int
    state: Path

    def cpu_seconds(self) -> float:
        """User and system time of the worker so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def spooled_bytes(self) -> int:
        """What it has recorded so far."""
        return sum(path.stat().st_size for path in (self.state / "spool").glob("*.spool"))


def core_seconds(core: int) -> float:
    """What a core has been busy with so far, whoever used it; time stolen by other guests counts."""
    line = next(x for x in Path("/proc/stat").read_text().splitlines() if x.startswith(f"cpu{core} "))
    user, nice, system, _idle, _wait, irq, softirq, steal = map(int, line.split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


@contextmanager
def gateway(plan: RoutePlan, *, client: str = "reqwest") -> Iterator[Gateway]:
    """A worker that serves `plan`, with a fresh state directory that is removed afterwards."""
    state = Path(tempfile.mkdtemp(prefix="sluicegate-bench-"))
    try:
        table = PlanTable(state / "plans.db")
        table.write(plan)
        table.close()
        command = [sys.executable, "-m", "sluicegate.gateway", "--state", str(state), "--port", "0"]
        with _process([*command, "--client", client], GATEWAY_CORE, stderr=subprocess.DEVNULL) as process:
            announced = state / "workers" / "w0.json"
            until = time.monotonic() + 20
            while not announced.exists():
                if time.monotonic() > until or process.poll() is not None:
                    raise RuntimeError("the gateway does not start")
                time.sleep(0.02)
            yield Gateway(json.loads(announced.read_text())["port"], process.pid, state)
    finally:
        shutil.rmtree(state, ignore_errors=True)


@contextmanager
def nginx(port: int) -> Iterator[int]:
    """An anchor where nginx is installed: one worker that only proxies. Skipped by the caller otherwise."""
    folder = Path(tempfile.mkdtemp(prefix="sluicegate-nginx-"))
    mine = 18_080
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;"
        " events { worker_connections 1024; }"
        " http { access_log off; keepalive_requests 100000000;"
        f" upstream c {{ server 127.0.0.1:{port}; keepalive 128; keepalive_requests 100000000; }}"
        f" server {{ listen 127.0.0.1:{mine}; location / {{ proxy_pass http://c; proxy_http_version 1.1;"
        ' proxy_set_header Connection ""; } } }'
    )
    try:
        command = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]
        with _process(command, GATEWAY_CORE, stderr=subprocess.DEVNULL):
            time.sleep(0.5)
            yield mine
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _process(command: list[str], core: int, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    process: subprocess.Popen[bytes] = subprocess.Popen(command, preexec_fn=pin(core), **more)  # noqa: PLW1509
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
