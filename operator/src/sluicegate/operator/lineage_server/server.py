"""The lineage process over HTTP. Objects and errors have the shape of local mode's API (`api.server`).

| method and path | who | what it does |
|---|---|---|
| GET /healthz, /readyz | anybody | alive; ready, or why not |
| GET /v1/spools/{gateway}/{worker}/{segment} | gateways | ``{"size", "finished"}``: how far the segment is here |
| PUT /v1/spools/{gateway}/{worker}/{segment}?offset=N&final=1 | gateways | take bytes in; the same answer, once they are on disk; 409 with it when there is a gap |
| POST /v1/evidence | operator | a key and questions: the folded evidence of a stage |
| POST /v1/watch | operator | a version that serves: the folded watch over it |
| POST /v1/drills | operator | a workflow and a window: how the drill in it went |
| POST /v1/fallbacks | operator | a key: the fallbacks to review, ``<run id>/<component>`` |
| GET /v1/runs | people | filters of local mode's /lineage/runs; without `namespace` those of all |
| GET /v1/runs/{id} | people | the documents of a run; a beginning of the id needs the right in all namespaces |
| GET /v1/fallbacks | people | filters of local mode's /lineage/fallbacks |
| GET /v1/ablated | people | filters of local mode's /lineage/ablated; `attempt` is 1 unless given |
| GET /v1/units | people | as local mode's /lineage/units; `attempt` is 1 unless given |
| GET /v1/counts | people | what is stored, of all namespaces |

People: the bearer token, of ``Authorization`` or (through the API server's proxy) ``Sluicegate-Authorization``, is reviewed
by the API server; they need `get` on ``workflowruns.sluicegate.io`` in the namespace of the runs.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import orjson
import structlog
from aiohttp import web

from sluicegate.contracts.errors import NotFound, Problem, Refused, SluicegateError, Unavailable
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.api.lineage_view import StoredLineage
from sluicegate.operator.api.statuses import status, status_of
from sluicegate.operator.lineage_server import wire
from sluicegate.operator.lineage_server.identity import Identity
from sluicegate.operator.lineage_server.receiver import Receiver
from sluicegate.operator.lineage_server.wire import Received
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.operator.ports import Json

PROXIED = "Sluicegate-Authorization"
"""A token as in `Authorization`, of who comes through the API server's service proxy."""
FULL_ID = 36
"""Characters of a run's whole id."""
_RUN_FILTERS = frozenset(
    {"namespace", "workflow", "arm", "outcome", "stage", "rollout", "revision", "fallback", "since"}
)
_ABLATED_FILTERS = frozenset({"namespace", "rollout", "stage", "attempt"})
_UNIT_FILTERS = _ABLATED_FILTERS | {"after"}
_FALLBACK_FILTERS = frozenset({"namespace", "workflow", "rollout", "component", "stage", "attempt"})

log = structlog.get_logger(__name__)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Behind the server. unready: reasons; full: why no bytes are taken just now, None when they are."""

    identity: Identity
    receiver: Receiver
    store: LineageStore
    view: StoredLineage
    evidence: FoldedEvidence
    unready: Callable[[], list[str]]
    full: Callable[[], str | None]


PARTS = web.AppKey("parts", Parts)


def application(parts: Parts) -> web.Application:
    """As an aiohttp application."""
    app = web.Application(middlewares=[_errors], client_max_size=wire.CHUNK + 4096)
    app[PARTS] = parts
    app.add_routes(
        [
            web.get("/healthz", _healthz),
            web.get("/readyz", _readyz),
            web.get(wire.PATH, _received),
            web.put(wire.PATH, _take),
            web.post("/v1/evidence", _evidence),
            web.post("/v1/watch", _watch),
            web.post("/v1/drills", _drill),
            web.post("/v1/fallbacks", _sampled),
            web.get("/v1/runs", _runs),
            web.get("/v1/runs/{run_id}", _run),
            web.get("/v1/fallbacks", _fallbacks),
            web.get("/v1/ablated", _ablated),
            web.get("/v1/units", _units),
            web.get("/v1/counts", _counts),
        ]
    )
    return app


async def _healthz(_: web.Request) -> web.Response:
    return _json({"status": "ok"})


async def _readyz(request: web.Request) -> web.Response:
    reasons = request.app[PARTS].unready()
    if reasons:
        return _json(status(503, "ServiceUnavailable", "; ".join(reasons)), code=503)
    return _json({"status": "ok"})


async def _received(request: web.Request) -> web.Response:
    parts = request.app[PARTS]
    await parts.identity.gateway(_token(request))
    return _size(await asyncio.to_thread(parts.receiver.received, _segment(request)))


async def _take(request: web.Request) -> web.Response:
    parts = request.app[PARTS]
    await parts.identity.gateway(_token(request))
    name, offset = _segment(request), _number(request, "offset", 0, most=2**50)
    full = parts.full()
    if full is not None:
        raise Unavailable(full, retry_after=5.0)
    data, final = await request.read(), request.query.get("final") == "1"
    found = await asyncio.to_thread(parts.receiver.take, name, offset, data, final=final)
    return _size(found, code=409 if found.size < offset else 200)


async def _evidence(request: web.Request) -> web.Response:
    parts = request.app[PARTS]
    await parts.identity.operator(_token(request))
    wanted = wire.decode(wire.LOOK, await request.read())
    return _body(wire.encode(wire.EVIDENCE, await parts.evidence.evidence(wanted)))


async def _watch(request: web.Request) -> web.Response:
    parts = request.app[PARTS]
    await parts.identity.operator(_token(request))
    wanted = wire.decode(wire.WATCH_LOOK, await request.read())
    return _body(wire.encode(wire.WATCH, await parts.evidence.watch(wanted)))


async def _drill(request: web.Request) -> web.Response:
    parts = request.app[PARTS]
    await parts.identity.operator(_token(request))
    wanted = wire.decode(wire.DRILL_LOOK, await request.read())
    return _body(wire.encode(wire.DRILL, await parts.evidence.drill(wanted)))


async def _sampled(request: web.Request) -> web.Response:
    parts = request.app[PARTS]
    await parts.identity.operator(_token(request))
    key = wire.decode(wire.KEY, await request.read())
    found = await asyncio.to_thread(parts.store.fallbacks, *key)
    return _body(wire.encode(wire.NAMES, [f"{one['run_id']}/{one['component']}" for one in found]))


async def _runs(request: web.Request) -> web.Response:
    parts, filters = request.app[PARTS], _filters(request, _RUN_FILTERS)
    await parts.identity.reader(_token(request), filters.get("namespace"))
    found = await parts.view.runs(filters, _number(request, "limit", 50, most=10_000))
    return _json({"kind": "RunList", "items": found})


async def _run(request: web.Request) -> web.Response:
    parts, run_id = request.app[PARTS], request.match_info["run_id"]
    caller = await parts.identity.caller(_token(request))
    if len(run_id) < FULL_ID and not await parts.identity.may_read(caller, None):
        raise Refused(
            (
                Problem(
                    path="id",
                    message="only the beginning of an id",
                    value=run_id[:80],
                    allowed="the whole id; or its beginning, for who may read the runs of all namespaces",
                ),
            )
        )
    found = await parts.view.run(run_id)
    if not found:
        raise NotFound(f"no run {run_id[:80]!r}; it may not be stored yet, or its retention is over")
    await parts.identity.reader(_token(request), found[0]["namespace"])
    return _json({"kind": "RunDocumentList", "items": found})


async def _fallbacks(request: web.Request) -> web.Response:
    parts, filters = request.app[PARTS], _filters(request, _FALLBACK_FILTERS)
    namespace = filters.get("namespace")
    await parts.identity.reader(_token(request), namespace)
    if namespace and "rollout" in filters and not await _is_of(parts, filters["rollout"], namespace):
        return _json({"kind": "FallbackList", "items": []})
    found = await parts.view.fallbacks(filters, _number(request, "limit", 50, most=1_000))
    return _json({"kind": "FallbackList", "items": found})


async def _ablated(request: web.Request) -> web.Response:
    parts, filters = request.app[PARTS], _filters(request, _ABLATED_FILTERS)
    namespace = filters.get("namespace")
    await parts.identity.reader(_token(request), namespace)
    found = await parts.view.ablated(filters)
    if namespace and not await _is_of(parts, filters["rollout"], namespace):
        found = []
    return _json({"kind": "AblatedUnitsList", "items": found})


async def _units(request: web.Request) -> web.Response:
    parts, filters = request.app[PARTS], _filters(request, _UNIT_FILTERS)
    namespace = filters.get("namespace")
    await parts.identity.reader(_token(request), namespace)
    after = _number(request, "after", 0, most=2**53)
    found = await parts.view.units(filters, after, _number(request, "limit", 1_000, most=10_000))
    if namespace and not await _is_of(parts, filters["rollout"], namespace):
        found = []
    return _json({"kind": "UnitList", "items": found})


async def _is_of(parts: Parts, rollout: str, namespace: str) -> bool:
    """Whether the rollout's runs belong to the namespace; a rollout's are all of one."""
    return bool(await parts.view.runs({"rollout": rollout, "namespace": namespace}, 1))


async def _counts(request: web.Request) -> web.Response:
    parts = request.app[PARTS]
    await parts.identity.reader(_token(request), None)
    return _json(await parts.view.counts())


def _token(request: web.Request) -> str | None:
    """The API server, which passes requests of people on, keeps `Authorization` to itself."""
    return request.headers.get("Authorization") or request.headers.get(PROXIED)


def _segment(request: web.Request) -> str:
    where = request.match_info
    return wire.file_name(where["gateway"], where["worker"], where["segment"])


def _number(request: web.Request, name: str, default: int, *, most: int) -> int:
    text = request.query.get(name, str(default))
    if not (text.isdecimal() and len(text) < 19 and int(text) <= most):
        raise Refused(
            (Problem(path=name, message="is no such number", value=text[:40], allowed=f"0 to {most}"),)
        )
    return int(text)


def _filters(request: web.Request, allowed: frozenset[str]) -> dict[str, str]:
    unknown = sorted(set(request.query) - allowed - {"limit"})
    if unknown:
        known = ", ".join(sorted(allowed))
        raise Refused(
            tuple(Problem(path=name[:80], message="unknown filter", allowed=known) for name in unknown)
        )
    return {name: value for name, value in request.query.items() if name in allowed}


def _json(body: Json, *, code: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return _body(orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE), code=code, headers=headers)


def _size(found: Received, *, code: int = 200) -> web.Response:
    return _body(wire.encode(wire.RECEIVED, found), code=code)


def _body(data: bytes, *, code: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=data, status=code, content_type="application/json", headers=headers)


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every failure as a Status; a bug is logged and told as one sentence."""
    try:
        return await handler(request)
    except SluicegateError as error:
        return _failed(error)
    except (sqlite3.Error, OSError) as error:
        log.warning("lineage_request_failed", path=request.path, error=repr(error))
        return _failed(Unavailable(f"the store cannot be used just now: {error}", retry_after=1.0))
    except web.HTTPRequestEntityTooLarge:
        text = f"the request is larger than {wire.CHUNK} bytes"
        return _json(status(413, "RequestEntityTooLarge", text), code=413)
    except web.HTTPException as error:
        text = f"{request.method} {request.path}: {error.reason}"
        return _json(status(error.status, error.reason.replace(" ", ""), text), code=error.status)
    except asyncio.CancelledError:
        raise
    except Exception:  # the top of a request: no traceback may reach the client
        log.exception("lineage_request_crashed", path=request.path)
        text = "internal error; the server's log has the details"
        return _json(status(500, "InternalError", text), code=500)


def _failed(error: SluicegateError) -> web.Response:
    after = error.retry_after if isinstance(error, Unavailable) else None
    headers = {"Retry-After": f"{max(1, round(after))}"} if after is not None else {}
    if error.http_status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return _json(status_of(error), code=error.http_status, headers=headers)
