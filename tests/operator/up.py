"""A real `run_local` in a process of its own, and a component server to send it to."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sluicegate.operator.api.context import BASE
from sluicegate.operator.local.state_dir import StateDir, UpFile, read_up
from tests.controlplane.processes import free_port

START = """
import sys
from pathlib import Path
from sluicegate.operator.local.config import LocalConfig
from sluicegate.operator.local.runner import run_local
sys.exit(run_local(LocalConfig(state_dir=Path(sys.argv[1]), gateway_port=int(sys.argv[2]), metrics_port=0,
                               workers=int(sys.argv[3]))))
"""


def until(what: str, condition: Callable[[], Any], seconds: float = 90.0) -> Any:
    """The first true answer; fails with `what` when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {seconds:g} s: {what}")
        time.sleep(0.02)


def no_traceback(logs: str) -> None:
    """Nothing was logged with a traceback; what was is shown from just before it."""
    before, found, after = logs.partition("Traceback")
    assert not found, before[-1500:] + found + after[:8000]


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(str(self._path))


@dataclass
class Up:
    """One state folder; started and killed as often as wished."""

    root: Path
    port: int = field(default_factory=free_port)
    workers: int = 1
    process: subprocess.Popen[bytes] | None = None

    @property
    def state(self) -> StateDir:
        return StateDir(self.root)

    def spawn(self) -> None:
        """Start; do not wait."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / "out.log").open("ab") as out:
            command = [sys.executable, "-c", START, str(self.root), str(self.port), str(self.workers)]
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)

    def start(self) -> UpFile:
        """Start and wait until it says that it is up."""
        self.spawn()
        facts = until("up", self._ready)
        assert isinstance(facts, UpFile)
        self.port = facts.gateway_port
        return facts

    def _ready(self) -> UpFile | None:
        assert self.process is not None
        assert self.process.poll() is None, (self.root / "out.log").read_text()
        facts = read_up(self.state)
        return facts if facts and facts.pid == self.process.pid else None

    def kill(self) -> None:
        """kill -9; nothing when it does not run."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def api(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Code and answer; a refused connection is an OSError."""
        connection = _Unix(self.state.socket)
        try:
            connection.request(method, path, body=None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def apply(self, *documents: Any) -> Any:
        """Apply; the answer's items."""
        code, answer = self.api("POST", f"{BASE}/apply", {"documents": documents})
        assert code == 200, answer
        return answer["items"]

    def objects(self, plural: str) -> list[Any]:
        """All of a kind."""
        found: list[Any] = self.api("GET", f"{BASE}/{plural}")[1]["items"]
        return found

    def logs(self) -> str:
        """Everything that was written."""
        return "\n".join(path.read_text() for path in sorted(self.state.logs.glob("*.log")))


def run(port: int, body: Any, workflow: str = "echo") -> str | None:
    """One run of a user: its id when it was answered with 200, None otherwise."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request("POST", f"/v1/workflows/{workflow}/runs", body=json.dumps(body), headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.headers["Sluicegate-Run-Id"] if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


@dataclass
class Users:
    """Threads that send runs until told to stop, and remember what they got answers for."""

    port: int
    threads: int = 2
    pause: float = 0.0
    answered: list[str] = field(default_factory=list)
    failed: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def sending(self) -> Iterator["Users"]:
        crowd = [threading.Thread(target=self._send, args=(number,)) for number in range(self.threads)]
        for one in crowd:
            one.start()
        try:
            yield self
        finally:
            self._stop.set()
            for one in crowd:
                one.join()

    def _send(self, number: int) -> None:
        count = 0
        while not self._stop.is_set():
            count += 1
            found = run(self.port, {"text": f"{number}/{count}"})
            if found is None:
                self.failed += 1
                self._stop.wait(0.02)
            else:
                self.answered.append(found)
            self._stop.wait(self.pause)


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = json.loads(body or b"null") or {}
        time.sleep(asked.get("seconds", 0))
        answer = json.dumps({"echo": asked, "path": self.path}).encode()
        self.send_response(500 if asked.get("fail") else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def component_server() -> Iterator[str]:
    """Base URL of a component that answers with what it got, at any path.

    A body with `fail` is answered with 500, one with `seconds` so much later.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def is_alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
