"""A small HTTP server in a thread, and trials against it. Its answers are chosen by the path."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sluicegate.console.loading.judging import SequentialJudge
from sluicegate.console.loading.measuring import Measured, Trial, measure
from sluicegate.console.loading.plan import Arrivals, LoadPlan, Script
from sluicegate.console.loading.target import Target, workflow
from sluicegate.contracts.compiled import compile_workflow
from sluicegate.contracts.resources.workflow import WorkflowSla, WorkflowSpec
from sluicegate.contracts.sla import promises

Act = Callable[["Handler", Any], None]
SERIAL_SECONDS = 0.04


@dataclass
class Live:
    """What the server got, in order; on_request is called with the number of each request."""

    url: str = ""
    bodies: list[Any] = field(default_factory=list)
    on_request: Callable[[int], None] = lambda _number: None
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    live: Live

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.live.bodies.append(body)
        self.live.on_request(len(self.live.bodies))
        ACTS[self.path.strip("/").split("?")[0]](self, body)

    def say(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


def good(handler: Handler, _body: Any) -> None:
    handler.say(200, b'{"answer": "yes"}', Sluicegate_Run_Id="r")


def degraded(handler: Handler, _body: Any) -> None:
    handler.say(200, b'{"answer": "yes"}', Sluicegate_Run_Id="r", Sluicegate_Fallback="memory")


def serial(handler: Handler, body: Any) -> None:
    """One at a time: who comes while it works has to wait."""
    with handler.live.one_at_a_time:
        time.sleep(SERIAL_SECONDS)
    good(handler, body)


def by_number(handler: Handler, body: Any) -> None:
    """Answers the n-th kind of input with the n-th kind of fault."""
    match body["n"]:
        case 0:
            good(handler, body)
        case 1:
            handler.say(503, b"busy")
        case 2:
            handler.say(200, b"not json")
        case 3:
            handler.say(200, b'{"other": 1}', Sluicegate_Run_Id="r")
        case 4:
            handler.send_response(200)
            handler.send_header("Content-Length", "100")
            handler.end_headers()
            handler.wfile.write(b'{"answer"')
            handler.close_connection = True
        case _:
            time.sleep(0.6)


ACTS: dict[str, Act] = {"good": good, "degraded": degraded, "serial": serial, "kinds": by_number}

OUTPUT = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
SLA = {"maxLatencyMs": 200, "minSuccessRate": "0.9", "maxFallbackRate": "0.1"}
SPEC: dict[str, Any] = {
    "version": "1",
    "components": [
        {
            "name": "agent",
            "version": "1",
            "endpoint": {"protocol": "Http", "url": "http://127.0.0.1:1/"},
            "sideEffects": "None",
        }
    ],
    "contract": {"output": OUTPUT, "sla": SLA},
}


@contextmanager
def serving() -> Iterator[Live]:
    """The server, until the block ends."""
    live = Live()
    handler = type("LiveHandler", (Handler,), {"live": live})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    live.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield live
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def plan(**more: Any) -> LoadPlan:
    facts: dict[str, Any] = {
        "rate": 100.0, "duration": 0.5, "most_runs": None, "warm_up": 0.0, "think_time": 0.0, "timeout": 5.0,
        "arrivals": Arrivals.CONSTANT, "seed": 1, "max_in_flight": 500, "grace": 5.0,
    }  # fmt: skip
    return LoadPlan(**(facts | more))


def target(url: str) -> Target:
    return workflow(url, compile_workflow(WorkflowSpec.model_validate(SPEC)), "bot")


def scripts(*sessions: list[Any]) -> tuple[Script, ...]:
    return tuple(Script(inputs=tuple(one)) for one in sessions) or (Script(inputs=({"q": 1},)),)


def trial(url: str, of: LoadPlan, *, sessions: tuple[Script, ...] = (), **more: Any) -> Trial:
    told = promises(WorkflowSla.model_validate(more.pop("sla", SLA)))
    return Trial(
        target=target(url),
        plan=of,
        scripts=sessions or scripts(),
        promises=told,
        judge=SequentialJudge(told, 0.05),
        full=more.pop("full", True),
        **more,
    )


def tried(url: str, of: LoadPlan, **more: Any) -> Measured:
    return measure(trial(url, of, **more))
