"""The resource API of local mode: kube-shaped REST on a Unix socket; the peer's credentials are the caller.

Bodies are JSON. `BASE` is ``/apis/sluicegate.io/v1alpha1``. Objects, lists and errors have the shape of the
Kubernetes API: a list is ``{"kind": "<Kind>List", "metadata": {"resourceVersion"}, "items": [...]}``, an
error is a ``Status`` with ``reason``, ``code``, ``message`` and ``details.causes`` = every Problem at once:
``{"reason": "FieldValueInvalid", "field": path, "message", "value", "allowed", "hint", "line", "source"}``.

| method and path | query | what it does |
|---|---|---|
| GET /healthz | | 200 while the process lives |
| GET /readyz | | 200 when the loop runs and every gateway worker answers, else 503 with the reasons |
| GET /version | | ``{"version", "pid", "startedAt", "gatewayUrl", "metricsUrl", "stateDir"}`` |
| GET /whoami | | ``{"name", "user", "uid"}``: who the API takes the caller for |
| POST BASE/apply | dryRun=All | ``{"documents": [...]}``: all validated and admitted, then written in one commit or not at all |
| GET BASE/{plural} | labelSelector | list in all namespaces |
| GET BASE/{plural} | watch=1, resourceVersion, timeoutSeconds | stream of ``{"type", "object"}``, one JSON per line, blank lines as heartbeat; without resourceVersion what exists comes first as ADDED; 410 when too old |
| GET BASE/namespaces/{ns}/{plural} | same two | list or watch in a namespace |
| POST BASE/namespaces/{ns}/{plural} | dryRun=All | create; 409 when it exists |
| GET BASE/namespaces/{ns}/{plural}/{name} | | the object |
| PUT BASE/namespaces/{ns}/{plural}/{name} | dryRun=All | replace; metadata.resourceVersion, when given, must be current |
| PUT BASE/namespaces/{ns}/{plural}/{name} | apply=1, dryRun=All | create or update: spec and labels as given, annotations merged |
| DELETE BASE/namespaces/{ns}/{plural}/{name} | dryRun=All, uid | ask for deletion; answers with the object (deletionTimestamp) |
| PUT BASE/namespaces/{ns}/{plural}/{name}/status | | 403: status is the operator's |
| GET /events | namespace, workflow, kind, name, limit | ``{"items": [{type, reason, message, count, firstAt, lastAt, about}]}``, the newest `limit`, oldest first |
| GET /lineage/runs | namespace, workflow, arm, outcome, stage, rollout, revision, fallback, since, limit | ``{"items": [summary]}``, newest first |
| GET /lineage/runs/{id} | | ``{"items": [run document, one per arm]}``; 404 |
| GET /lineage/fallbacks | rollout (uid), stage (Controlled), attempt (the present one); or workflow; component, limit | ``{"items": [{runId, component, reason, strategy, request, response}]}``: fallbacks to review |
| GET /lineage/ablated | rollout (uid), stage (Shadow), attempt (the present one) | ``{"items": [{arm, game, players, units, cells, missing, estimates, spread}]}``: ablated and mixed units by coalition, as of the last look; cells: ``[mask, units, sum of rewards, sum of their squares]``; estimates: ``[component, contribution, standard error]``; spread: their variance |
| GET /lineage/units | rollout (uid), stage (Canary), attempt (the present one), after, limit | ``{"items": [{sequence, unit, runs, at, stable, candidate, control, dropped, ...}]}``: closed units above the sequence `after`, in the order in which gates fold them |
| GET /lineage/counts | | ``{...}``: what the store holds |

An apply of a list answers ``{"kind": "ApplyResult", "dryRun": bool, "items": [{"operation": "created" |
"configured" | "unchanged", "object", "previous", "warnings": [str]}]}``: `previous` is the stored object, for a
diff. POST and PUT of one object answer with the object, status 201 when it is new; warnings are in ``Warning``
headers (``299 - "text"``), the operation in ``Sluicegate-Operation``.

``Decision.spec.decidedBy`` is filled with the caller when absent; another name is refused. The header
``Impersonate-User: alice`` (or ``Sluicegate-As``; root, or the user who runs `up`) acts in another name: the
caller is then ``alice (by root)`` everywhere. What a person writes carries annotation
``sluicegate.io/changed-by``: who made the present spec.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import orjson
import structlog
from aiohttp import web

from sluicegate.contracts.errors import SluicegateError
from sluicegate.operator.api import handlers as api_objects
from sluicegate.operator.api import reads as api_reads
from sluicegate.operator.api.context import API, BASE, Api, reply
from sluicegate.operator.api.statuses import status, status_of

MAX_BODY = 8 * 1024 * 1024
"""Bytes of one request; beyond it 413."""

log = structlog.get_logger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(api: Api) -> web.Application:
    """The API as an aiohttp application."""
    app = web.Application(middlewares=[_errors], client_max_size=MAX_BODY)
    app[API] = api
    many, one = (
        f"{BASE}/namespaces/{{namespace}}/{{plural}}",
        f"{BASE}/namespaces/{{namespace}}/{{plural}}/{{name}}",
    )
    app.add_routes(
        [
            web.get("/healthz", api_reads.healthz),
            web.get("/readyz", api_reads.readyz),
            web.get("/version", api_reads.version),
            web.get("/whoami", api_reads.whoami),
            web.get("/events", api_reads.events),
            web.get("/lineage/runs", api_reads.runs),
            web.get("/lineage/runs/{run_id}", api_reads.run),
            web.get("/lineage/fallbacks", api_reads.fallbacks),
            web.get("/lineage/ablated", api_reads.ablated),
            web.get("/lineage/units", api_reads.units),
            web.get("/lineage/counts", api_reads.counts),
            web.post(f"{BASE}/apply", api_objects.apply_all),
            web.get(f"{BASE}/{{plural}}", api_objects.listing),
            web.get(many, api_objects.listing),
            web.post(many, api_objects.create),
            web.get(one, api_objects.get),
            web.put(one, api_objects.put),
            web.delete(one, api_objects.delete),
            web.put(f"{one}/status", api_objects.put_status),
        ]
    )
    return app


async def serve(api: Api, path: Path) -> web.AppRunner:
    """Listen on `path`; the caller cleans the runner up. A socket left by a killed process is replaced."""
    runner = web.AppRunner(application(api), access_log=None, handle_signals=False, shutdown_timeout=2.0)
    await runner.setup()
    listener = _listener(path)
    await web.SockSite(runner, listener).start()
    return runner


def _listener(path: Path) -> socket.socket:
    """A Unix socket for its owner only. The path may be longer than a socket address's 107 bytes."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    path.unlink(missing_ok=True)
    before = os.umask(0o177)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.umask(before)
        os.close(folder)
    return listener


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every failure as a Status; a bug is logged with its traceback and told as one sentence."""
    try:
        return await handler(request)
    except SluicegateError as error:
        body = status_of(error)
        return reply(body, code=body["code"])
    except web.HTTPRequestEntityTooLarge:
        text = f"the request is larger than {MAX_BODY} bytes"
        return reply(status(413, "RequestEntityTooLarge", text), code=413)
    except web.HTTPException as error:
        text = f"{request.method} {request.path}: {error.reason}"
        return reply(status(error.status, error.reason.replace(" ", ""), text), code=error.status)
    except orjson.JSONDecodeError as error:
        return reply(status(400, "BadRequest", f"the body is not JSON: {error}"), code=400)
    except (asyncio.CancelledError, ConnectionResetError):
        raise
    except Exception:  # the top of a request: no traceback may reach the client
        log.exception("api_request_failed", method=request.method, path=request.path)
        text = "internal error; the server's log has the details"
        return reply(status(500, "InternalError", text), code=500)
