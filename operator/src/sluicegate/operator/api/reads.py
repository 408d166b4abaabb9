"""Handlers of what is only read: events, runs, and the server itself."""

from aiohttp import web

from sluicegate.contracts.errors import NotFound, Problem, Refused
from sluicegate.operator.api.context import api_of, caller_of, number, reply
from sluicegate.operator.api.statuses import status

RUN_FILTERS = ("namespace", "workflow", "arm", "outcome", "stage", "rollout", "revision", "fallback", "since")
ABLATED_FILTERS = ("namespace", "rollout", "stage", "attempt")
UNIT_FILTERS = (*ABLATED_FILTERS, "after")
FALLBACK_FILTERS = ("namespace", "workflow", "rollout", "component", "stage", "attempt")


async def healthz(_: web.Request) -> web.Response:
    """Alive."""
    return reply({"status": "ok"})


async def readyz(request: web.Request) -> web.Response:
    """Ready, or why not."""
    reasons = await api_of(request).unready()
    if reasons:
        return reply(status(503, "ServiceUnavailable", "; ".join(reasons)), code=503)
    return reply({"status": "ok"})


async def version(request: web.Request) -> web.Response:
    """What this server is."""
    return reply(api_of(request).about())


async def whoami(request: web.Request) -> web.Response:
    """Who the caller is."""
    peer = caller_of(request)
    return reply({"name": peer.name, "user": peer.user, "uid": peer.uid})


async def events(request: web.Request) -> web.Response:
    """Events."""
    query = request.query
    found = await api_of(request).events.find(
        namespace=query.get("namespace"),
        kind=query.get("kind"),
        name=query.get("name"),
        workflow=query.get("workflow"),
        limit=number(request, "limit", 200, most=5_000),
    )
    return reply({"kind": "EventList", "items": found})


async def runs(request: web.Request) -> web.Response:
    """Summaries of runs."""
    filters = _filters(request, RUN_FILTERS)
    found = await api_of(request).lineage.runs(filters, number(request, "limit", 50, most=10_000))
    return reply({"kind": "RunList", "items": found})


async def run(request: web.Request) -> web.Response:
    """One run."""
    run_id = request.match_info["run_id"]
    found = await api_of(request).lineage.run(run_id)
    if not found:
        raise NotFound(f"no run {run_id[:80]!r}; it may not be stored yet, or its retention is over")
    return reply({"kind": "RunDocumentList", "items": found})


async def fallbacks(request: web.Request) -> web.Response:
    """Fallbacks to review."""
    filters = _filters(request, FALLBACK_FILTERS)
    if "rollout" in filters and "attempt" not in filters:
        filters["attempt"] = await _attempt(request, filters["rollout"])
    found = await api_of(request).lineage.fallbacks(filters, number(request, "limit", 50, most=1_000))
    return reply({"kind": "FallbackList", "items": found})


async def ablated(request: web.Request) -> web.Response:
    """Ablated and mixed units by coalition."""
    filters = _filters(request, ABLATED_FILTERS)
    if "attempt" not in filters:
        filters["attempt"] = await _attempt(request, filters.get("rollout", ""))
    return reply({"kind": "AblatedUnitsList", "items": await api_of(request).lineage.ablated(filters)})


async def units(request: web.Request) -> web.Response:
    """Closed units, in the order of the store."""
    filters = _filters(request, UNIT_FILTERS)
    if "attempt" not in filters:
        filters["attempt"] = await _attempt(request, filters.get("rollout", ""))
    after = number(request, "after", 0, most=2**53)
    limit = number(request, "limit", 1_000, most=10_000)
    return reply({"kind": "UnitList", "items": await api_of(request).lineage.units(filters, after, limit)})


async def _attempt(request: web.Request, uid: str) -> str:
    """The present attempt of the rollout; 1 when it is gone."""
    found = await api_of(request).store.listing("WorkflowRollout")
    mine = [item for item in found.items if item["metadata"]["uid"] == uid]
    return str((mine[0].get("status") or {}).get("attempt", 1)) if mine else "1"


async def counts(request: web.Request) -> web.Response:
    """What the lineage store holds."""
    return reply(await api_of(request).lineage.counts())


def _filters(request: web.Request, allowed: tuple[str, ...]) -> dict[str, str]:
    unknown = sorted(set(request.query) - set(allowed) - {"limit"})
    if unknown:
        raise Refused(
            tuple(
                Problem(path=name[:80], message="unknown filter", allowed=", ".join(allowed))
                for name in unknown
            )
        )
    return {name: request.query[name] for name in allowed if name in request.query}
