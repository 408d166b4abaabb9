"""The HTTP face: a raw ASGI application. docs/reference/http-api.md is made of this text.

| method and path | what it does |
|---|---|
| POST /v1/workflows/{name}/runs | run a workflow of namespace default; the body is its input, the answer its output |
| POST /v1/namespaces/{ns}/workflows/{name}/runs | the same in a namespace |
| POST /v1/runs/{id}/outcome | `{"reward"?: 0..1, "outcome"?: "Succeeded" or "Failed", "note"?}`: how a run turned out; 202 |
| GET /healthz | 200 while the worker lives |
| GET /readyz | 200 once the worker has read plans, else 503; which it serves, and what its spool lost |

Headers of a run's request: `traceparent` (W3C), `Sluicegate-Deadline-Ms` (milliseconds for the whole run; at most ten minutes
are used), and those that `routing.key` names. Headers of the answer: `Sluicegate-Run-Id`, `Sluicegate-Revision`,
`Sluicegate-Version`, `traceparent`, and `Sluicegate-Fallback` with the names of the components that fell back, if any did;
`business; …` or `static` when [rules of business or the static answer](../explanation/escalation.md) answered, the latter with
`Sluicegate-Hand-Off` (UTF-8, percent-encoded); `business; …; drill` in a drill that is not mirrored.

Errors are `application/problem+json` (RFC 9457) with `title`, `status`, `detail`, `runId`, `problems` (each with `path`, `code`
or `value`, `message`), often a `hint`, and, of a failed run, `reason`. 400: not JSON, or a header that cannot be read. 403: a page of another
origin. 404: no such workflow, with the nearest name. 405. 408: the body took longer than 30 s. 413: it is too large. 422: it
breaks the input contract, with every violation. 500, 502, 503, 504: the run failed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson

from sluicegate.contracts.suggestions import did_you_mean
from sluicegate.gateway.outcomes import read_outcome
from sluicegate.gateway.plans import PlanBook
from sluicegate.gateway.problems import Response, problem
from sluicegate.gateway.serving import After, Incoming, RunService

MAX_BODY_BYTES = 1 << 20
BODY_SECONDS = 30.0
"""A client that takes longer to send its body is given up (408)."""
_MAX_DEADLINE_MS = 86_400_000

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class _RefusedError(Exception):
    """The body is above the limit, or came too slowly; the answer says which."""

    def __init__(self, response: Response) -> None:
        self.response = response
        super().__init__(response.status)


class _GoneError(Exception):
    """The client left before its request was complete."""


@dataclass(slots=True, kw_only=True)
class App:
    """One worker's application. readiness: the document of /readyz, and whether it is ready."""

    service: RunService
    book: PlanBook
    readiness: Callable[[], tuple[bool, dict[str, Any]]]
    on_crash: Callable[[BaseException], None]
    max_body: int = MAX_BODY_BYTES
    body_seconds: float = BODY_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. Work after the answer happens here too, so the server waits for it when it stops."""
        answered = False
        try:
            response, after = await self._respond(scope, receive)
            answered = True
            await _send(send, response, head=scope["method"] == "HEAD")
            if after is not None:
                await after()
        except _RefusedError as refused:
            await _send(send, refused.response)
        except _GoneError:
            return
        except Exception as error:  # noqa: BLE001 - the top loop of the process: one bad request, not all of them
            self.on_crash(error)
            if not answered:
                await _send(send, problem(500, "internal error; see the gateway's log"))

    async def _respond(self, scope: Scope, receive: Receive) -> tuple[Response, After | None]:
        path, method = scope["path"], scope["method"]
        live = self.book.by_path.get(path)
        if live is None:
            return await self._other(path, method, scope, receive), None
        if method != "POST":
            return _not_allowed(method, "POST, OPTIONS"), None
        incoming = Incoming(b"", headers=lambda: _headers_of(scope["headers"]))
        refused = _read_headers(scope["headers"], incoming)
        if refused is not None:
            return refused, None
        incoming.body = await self._body(scope["headers"], receive)
        return await self.service.serve(live, incoming)

    async def _other(self, path: str, method: str, scope: Scope, receive: Receive) -> Response:
        """Everything but a run of a known workflow."""
        if path in ("/healthz", "/readyz"):
            return self._health(path, method)
        parts = path.split("/")[1:]
        match parts:
            case ["v1", "runs", run_id, "outcome"]:
                if method != "POST":
                    return _not_allowed(method, "POST, OPTIONS")
                refused = _read_headers(scope["headers"], Incoming(b""))
                if refused is not None:
                    return refused
                return read_outcome(run_id, await self._body(scope["headers"], receive), self.service)
            case ["v1", "workflows", name, "runs"]:
                return self._unknown("default", name)
            case ["v1", "namespaces", namespace, "workflows", name, "runs"]:
                return self._unknown(namespace, name)
            case _:
                return problem(404, f"no such path: {path[:200]}", hint="POST /v1/workflows/{name}/runs")

    async def _body(self, headers: Iterable[tuple[bytes, bytes]], receive: Receive) -> bytes:
        """The whole body. Raises _RefusedError as soon as it must, _GoneError when the client left."""
        for name, value in headers:
            if name == b"content-length" and (len(value) > 12 or int(value) > self.max_body):
                raise self._too_large()
        chunks: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(self.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise _GoneError
                    chunk = message.get("body", b"")
                    more = message.get("more_body", False)
                    size += len(chunk)
                    if size > self.max_body:
                        raise self._too_large()
                    chunks.append(chunk)
        except TimeoutError as error:
            raise _RefusedError(
                problem(408, f"the body did not come within {self.body_seconds:g} s")
            ) from error
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _too_large(self) -> _RefusedError:
        return _RefusedError(problem(413, f"the body is larger than {self.max_body} bytes"))

    def _health(self, path: str, method: str) -> Response:
        if method not in ("GET", "HEAD"):
            return _not_allowed(method, "GET, HEAD, OPTIONS")
        ready, document = self.readiness() if path == "/readyz" else (True, {"status": "ok"})
        return Response(
            200 if ready else 503, orjson.dumps(document), [(b"content-type", b"application/json")]
        )

    def _unknown(self, namespace: str, name: str) -> Response:
        """404, with the nearest name there is."""
        namespace, name = unquote(namespace)[:300], unquote(name)[:300]
        names = [key.workflow for key in self.book.by_key if key.namespace == namespace]
        elsewhere = sorted(key.namespace for key in self.book.by_key if key.workflow == name)
        hint = did_you_mean(name, names)
        if hint is None and elsewhere:
            hint = (
                f"it is in namespace {elsewhere[0]}: POST /v1/namespaces/{elsewhere[0]}/workflows/{name}/runs"
            )
        return problem(404, f"no workflow {name} in namespace {namespace}", hint=hint)


async def _send(send: Send, response: Response, *, head: bool = False) -> None:
    body = response.body
    headers = [*response.headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})


def _read_headers(headers: Iterable[tuple[bytes, bytes]], incoming: Incoming) -> Response | None:
    """Fill `incoming`; an answer when a header is wrong."""
    origin = host = None
    for name, value in headers:
        if name == b"traceparent":
            incoming.traceparent = value.decode("latin-1")
        elif name == b"sluicegate-deadline-ms":
            if not (value.isdigit() and len(value) <= 12 and 0 < int(value) <= _MAX_DEADLINE_MS):
                return problem(
                    400, f"sluicegate-deadline-ms must be whole milliseconds, 1 to {_MAX_DEADLINE_MS}"
                )
            incoming.deadline_ms = int(value)
        elif name == b"origin":
            origin = value
        elif name == b"host":
            host = value
    if origin is not None and host is not None and origin.rpartition(b"//")[2].lower() != host.lower():
        return problem(403, "requests of pages of another origin are not served")
    return None


def _headers_of(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """For routing keys: lower-case names, the first value of each."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return found


def _not_allowed(method: str, allowed: str) -> Response:
    """405 with Allow; OPTIONS is answered with it."""
    header = (b"allow", allowed.encode())
    if method == "OPTIONS":
        return Response(204, b"", [header])
    response = problem(405, f"{method[:20]} is not allowed here; allowed: {allowed}")
    response.headers.append(header)
    return response
