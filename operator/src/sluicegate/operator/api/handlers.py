"""Handlers of objects: get, list, watch, create, put, delete, apply."""

import asyncio
from contextlib import aclosing
from typing import Any

import orjson
from aiohttp import web

from sluicegate.contracts.errors import Forbidden, Problem, Refused, SluicegateError
from sluicegate.contracts.resources import Kind
from sluicegate.contracts.resources.base import API_VERSION
from sluicegate.operator.api.context import Api, api_of, caller_of, is_dry, json_body, kind_at, number, reply
from sluicegate.operator.api.intake import Applied, Mode, Operation
from sluicegate.operator.api.statuses import status_of
from sluicegate.operator.ports import ChangeType, Json
from sluicegate.operator.resources import objects
from sluicegate.rollout.model import Ref

MAX_DOCUMENTS = 500
HEARTBEAT = 5.0
"""Seconds of silence after which a watch gets a blank line."""


async def get(request: web.Request) -> web.Response:
    """One object."""
    return reply(await api_of(request).store.get(_ref(request)))


async def listing(request: web.Request) -> web.StreamResponse:
    """List, or watch with ?watch=1."""
    kind, api = kind_at(request), api_of(request)
    namespace, labels = request.match_info.get("namespace"), _labels(request)
    if request.query.get("watch") in {"1", "true"}:
        return await _watch(request, kind, namespace, labels)
    found = await api.store.listing(kind.name, namespace, labels)
    return reply(
        {
            "apiVersion": API_VERSION,
            "kind": f"{kind.name}List",
            "metadata": {"resourceVersion": str(found.version)},
            "items": found.items,
        }
    )


async def create(request: web.Request) -> web.Response:
    """POST of one object."""
    document = _placed(request, await json_body(request), named=False)
    return await _put_one(request, document, Mode.CREATE)


async def put(request: web.Request) -> web.Response:
    """PUT: replace, or create-or-update with ?apply=1."""
    document = _placed(request, await json_body(request), named=True)
    mode = Mode.APPLY if request.query.get("apply") in {"1", "true"} else Mode.REPLACE
    return await _put_one(request, document, mode)


async def delete(request: web.Request) -> web.Response:
    """DELETE."""
    uid = request.query.get("uid")
    return reply(
        await api_of(request).intake.delete(
            _ref(request), caller_of(request), uid=uid, dry_run=is_dry(request)
        )
    )


async def put_status(request: web.Request) -> web.Response:
    """Nobody but the operator writes status."""
    problem = Problem(
        path="status", message="status is written by the operator only", value=str(_ref(request))
    )
    raise Forbidden((problem,))


async def apply_all(request: web.Request) -> web.Response:
    """POST BASE/apply."""
    body = await json_body(request)
    documents = body.get("documents") if isinstance(body, dict) else None
    if not isinstance(documents, list) or not 1 <= len(documents) <= MAX_DOCUMENTS:
        allowed = f"a list of 1 to {MAX_DOCUMENTS} objects"
        raise Refused((Problem(path="documents", message="nothing to apply", allowed=allowed),))
    dry = is_dry(request)
    applied = await api_of(request).intake.put(documents, caller_of(request), dry_run=dry)
    return reply({"kind": "ApplyResult", "dryRun": dry, "items": [_result(one) for one in applied]})


async def _put_one(request: web.Request, document: Any, mode: Mode) -> web.Response:
    (applied,) = await api_of(request).intake.put(
        [document], caller_of(request), mode=mode, dry_run=is_dry(request)
    )
    code = 201 if applied.operation is Operation.CREATED else 200
    response = reply(applied.item, code=code, warnings=applied.warnings)
    response.headers["Sluicegate-Operation"] = applied.operation
    return response


def _result(applied: Applied) -> Json:
    return {
        "operation": applied.operation,
        "object": applied.item,
        "previous": applied.previous,
        "warnings": list(applied.warnings),
    }


async def _watch(
    request: web.Request, kind: Kind, namespace: str | None, labels: dict[str, str]
) -> web.StreamResponse:
    api = api_of(request)
    after = number(request, "resourceVersion", 0, most=2**62)
    limit = number(request, "timeoutSeconds", 0, most=86_400)
    first = None if after else await api.store.listing(kind.name, namespace, labels)
    if first is None:
        await _expect_history(api, kind, after)
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    for item in first.items if first else ():
        await _line(response, ChangeType.ADDED, item)
    try:
        async with asyncio.timeout(limit or None):
            await _follow(
                response, api, kind, after=first.version if first else after, keep=(namespace, labels)
            )
    except (TimeoutError, ConnectionResetError):
        pass
    except SluicegateError as error:
        await _line(response, "ERROR", status_of(error))
    return response


async def _expect_history(api: Api, kind: Kind, after: int) -> None:
    """Before the stream begins, so that the client gets a plain 410."""
    async with asyncio.timeout(5):
        await api.store.check_history(frozenset({kind.name}), after)


async def _follow(
    response: web.StreamResponse, api: Api, kind: Kind, *, after: int, keep: tuple[str | None, dict[str, str]]
) -> None:
    namespace, labels = keep
    async with aclosing(api.store.watch(frozenset({kind.name}), after)) as changes:
        pending = asyncio.ensure_future(anext(changes))
        try:
            while True:
                done, _ = await asyncio.wait({pending}, timeout=HEARTBEAT)
                if not done:
                    await response.write(b"\n")
                    continue
                change = pending.result()
                pending = asyncio.ensure_future(anext(changes))
                here = namespace in {None, change.item["metadata"]["namespace"]}
                if here and objects.has_labels(change.item, labels):
                    await _line(response, change.type, change.item)
        finally:
            pending.cancel()
            await asyncio.wait({pending})


async def _line(response: web.StreamResponse, kind: str, item: Json) -> None:
    await response.write(orjson.dumps({"type": kind, "object": item}, option=orjson.OPT_APPEND_NEWLINE))


def _ref(request: web.Request) -> Ref:
    return Ref(kind_at(request).name, request.match_info["namespace"], request.match_info["name"])


def _labels(request: web.Request) -> dict[str, str]:
    text = request.query.get("labelSelector", "")
    pairs = [part.split("=", 1) for part in text.replace("==", "=").split(",") if part]
    if any(len(pair) != 2 for pair in pairs):
        raise Refused(
            (Problem(path="labelSelector", message="cannot be read", value=text[:200], allowed="a=b,c=d"),)
        )
    return {key.strip(): value.strip() for key, value in pairs}


def _placed(request: web.Request, document: Any, *, named: bool) -> Any:
    """The document; what it says of itself must be what the path says."""
    if not isinstance(document, dict) or not isinstance(document.get("metadata", {}), dict):
        return document
    metadata = document.get("metadata", {})
    expected = {"namespace": request.match_info["namespace"]}
    if named:
        expected["name"] = request.match_info["name"]
    for field, value in expected.items():
        if metadata.get(field, value) != value:
            found = str(metadata[field])[:80]
            raise Refused(
                (
                    Problem(
                        path=f"metadata.{field}", message="differs from the path", value=found, allowed=value
                    ),
                )
            )
    kind = kind_at(request).name
    if document.get("kind", kind) != kind:
        found = str(document["kind"])[:80]
        raise Refused((Problem(path="kind", message="differs from the path", value=found, allowed=kind),))
    return {"apiVersion": API_VERSION, **document, "kind": kind, "metadata": {**metadata, **expected}}
