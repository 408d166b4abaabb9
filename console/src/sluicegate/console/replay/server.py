"""Serves recorded runs: an agent in every selection, and an evaluator that gives the recorded reward.

    POST /agent/<selection>                      e.g. /agent/trial-3
    POST /agent/<selection>/floor/<selection>    the second selection answers mirrored calls of the same version:
                                                 the second copy of stable, by which the noise floor is measured
    POST /evaluator                              {task_id, trial} -> {reward}
    GET  /tasks?runs=N&seed=S                    ids of N tasks drawn with replacement, one per line

The envelope is Native: `{"input": …, "dry_run": …}` in, `{"status": "ok", "output": …}` out. A mirrored run carries
`dry_run: true`; which arm called is never told to a component.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

import orjson

from sluicegate.console.recordings.model import RecordedRun, Recording
from sluicegate.console.replay.selections import parse_selection
from sluicegate.console.replay.tasks import resampled
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import NotFound, Problem, Refused

Json = dict[str, Any]
Send = Callable[[Json], Awaitable[None]]
Receive = Callable[[], Awaitable[Json]]

_TASKS_SHOWN = 12
_RUNS = 1_000_000


class ReplayApp:
    """Raw ASGI application over one recording. latency_ms: median of the simulated answer time."""

    def __init__(self, recording: Recording, *, latency_ms: float = 0.0) -> None:
        self._recording = recording
        self._latency_ms = latency_ms

    async def __call__(self, scope: Json, receive: Receive, send: Send) -> None:
        """One HTTP request."""
        if scope["type"] != "http":
            return
        path = scope["path"].strip("/").split("/")
        if path == ["healthz"]:
            await _answer(send, 200, {"tasks": len(self._recording.tasks), "trials": self._recording.trials})
            return
        if path == ["tasks"]:
            await _send(send, 200, self.tasks(scope.get("query_string", b"").decode()), b"text/plain")
            return
        envelope = _object(await _body(receive))
        try:
            output = self.reply(path, envelope)
        except NotFound as error:
            await _fail(send, 404, "Rejected", str(error))
        except Refused as error:
            await _fail(send, 400, "Rejected", str(error))
        else:
            await self._wait(envelope)
            await _answer(send, 200, {"status": "ok", "output": output})

    def reply(self, path: list[str], envelope: Json) -> Json:
        """What the component at `path` answers. NotFound: no such component or task; Refused: bad envelope."""
        given = envelope.get("input")
        if not isinstance(given, dict) or "task_id" not in given:
            raise Refused(
                (Problem(path="input.task_id", message="is missing", hint="the id of a recorded task"),)
            )
        match path:
            case ["agent", selection]:
                return answer(self._select(given, selection))
            case ["agent", selection, "floor", floor]:
                return answer(self._select(given, floor if envelope.get("dry_run") else selection))
            case ["evaluator"]:
                return {"reward": self._trial(given).reward}
        allowed = "/agent/SELECTION, /agent/SELECTION/floor/SELECTION, /evaluator"
        raise NotFound(f"no component /{'/'.join(path)}; there are {allowed}")

    def tasks(self, query: str) -> bytes:
        """What to send, so that a shell loop can: the draws of `backtest` with the same seed."""
        asked = {name: values[-1] for name, values in parse_qs(query).items()}
        runs, seed = (
            int(text) if text.isdecimal() else 1 for text in (asked.get("runs", ""), asked.get("seed", ""))
        )
        return "\n".join((*resampled(self._recording, min(runs, _RUNS), seed), "")).encode()

    def _select(self, given: Json, selection: str) -> RecordedRun:
        chosen = parse_selection(selection)
        chosen.check(self._recording)
        self._known(given)
        return chosen.of(self._recording, str(given["task_id"]))

    def _trial(self, given: Json) -> RecordedRun:
        trials, trial = self._known(given), given.get("trial")
        if trial not in trials:
            raise NotFound(f"task {given['task_id']} has no trial {trial!r}; it has {sorted(trials)}")
        return trials[trial]

    def _known(self, given: Json) -> dict[int, RecordedRun]:
        task = str(given["task_id"])
        if task not in self._recording.runs:
            tasks = self._recording.tasks
            more = ", …" if len(tasks) > _TASKS_SHOWN else ""
            known = ", ".join(tasks[:_TASKS_SHOWN]) + more
            raise NotFound(
                f"no recorded run of task {task!r}; {self._recording.source} has {len(tasks)}: {known}"
            )
        return self._recording.runs[task]

    async def _wait(self, envelope: Json) -> None:
        if self._latency_ms:
            draws = system.seeded(
                "latency", envelope.get("run_id"), envelope.get("step_id"), envelope.get("dry_run")
            )
            await asyncio.sleep(self._latency_ms * draws.lognormvariate(0.0, 0.3) / 1000)


def answer(run: RecordedRun) -> Json:
    """What the agent says and did: the fields of the replayed workflow's component."""
    calls = [{"name": call.name} for call in run.tool_calls]
    return {"answer": run.answer, "actions": run.actions, "tool_calls": calls, "trial": run.trial}


async def serve(app: ReplayApp, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` gets the port when it listens. Refused when the port is taken."""
    import uvicorn

    try:
        listener = socket.create_server((host, port), backlog=1024)
    except OSError as error:
        hint = "another --port, or 0 for any free one"
        problem = Problem(
            path="--port", message=f"cannot listen ({error.strerror})", value=f"{host}:{port}", hint=hint
        )
        raise Refused((problem,)) from error
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", timeout_keep_alive=60)
    with listener:
        ready(listener.getsockname()[1])
        await uvicorn.Server(config).serve(sockets=[listener])


def _object(body: bytes) -> Json:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


async def _body(receive: Receive) -> bytes:
    chunks = []
    while True:
        message = await receive()
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)


async def _fail(send: Send, status: int, code: str, message: str) -> None:
    error = {"code": code, "retryable": False, "message": message}
    await _answer(send, status, {"status": "error", "error": error})


async def _answer(send: Send, status: int, document: Json) -> None:
    await _send(send, status, orjson.dumps(document), b"application/json")


async def _send(send: Send, status: int, body: bytes, kind: bytes) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
