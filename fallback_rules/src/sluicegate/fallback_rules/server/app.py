"""The rules server over HTTP. Bodies are JSON, at most 1 MiB; errors are application/problem+json (RFC 9457).

| method and path | what it does |
|---|---|
| GET /healthz | alive |
| GET /readyz | 200 once a rule set answers, else 503; with the reasons why a file is not used |
| GET /metrics | Prometheus text, or OpenMetrics |
| GET /v1/rulesets | what answers: version, digest, columns; and what is refused |
| POST /v1/rulesets/{namespace}/{name}/answer | ``{"values": {column: value}}``, or ``{"context": {"input": …, "steps": …, "run": …}}`` |

An answer has `answer`, `outcome` (Rule or Default), `rule`, `rules`, `reason`, `values` and `ruleSet`. Where the table has no
answer the status is 422 and `outcome` says why: an input that is not understood is never the default's.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web
from prometheus_client.exposition import choose_encoder

from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.fallback_rules.server.shelf import Key, Served, Shelf
from sluicegate.fallback_rules.server.telling import Telling, document_of
from sluicegate.fallback_rules.table import Answered

MAX_BODY = 1024 * 1024
_PROBLEM = "application/problem+json"

Ask = Callable[[Mapping[str, Any]], Answered]


@dataclass(slots=True, kw_only=True)
class Rules:
    """Behind the server; `shelf` is exchanged as a whole."""

    shelf: Shelf
    telling: Telling
    monotonic: Callable[[], float]


RULES = web.AppKey("rules", Rules)


def application(rules: Rules) -> web.Application:
    """As an aiohttp application."""
    app = web.Application(client_max_size=MAX_BODY, middlewares=[_errors])
    app[RULES] = rules
    app.add_routes(
        [
            web.get("/healthz", _healthz),
            web.get("/readyz", _readyz),
            web.get("/metrics", _metrics),
            web.get("/v1/rulesets", _listing),
            web.post("/v1/rulesets/{namespace}/{name}/answer", _answer),
        ]
    )
    return app


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")


async def _readyz(request: web.Request) -> web.Response:
    shelf = request.app[RULES].shelf
    reasons = [str(problem) for problem in shelf.problems]
    if not shelf.sets:
        reasons.insert(0, "no rule set answers")
    return _json({"ready": bool(shelf.sets), "reasons": reasons}, status=200 if shelf.sets else 503)


async def _metrics(request: web.Request) -> web.Response:
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return web.Response(
        body=encode(request.app[RULES].telling.registry), headers={"Content-Type": content_type}
    )


async def _listing(request: web.Request) -> web.Response:
    shelf = request.app[RULES].shelf
    items = [_identity(one) | {"columns": _columns(one)} for one in shelf.sets.values()]
    return _json({"items": items, "problems": [asdict(problem) for problem in shelf.problems]})


def _columns(one: Served) -> dict[str, str]:
    return {column.name: column.type.value for column in one.table.spec.columns}


def _identity(one: Served) -> dict[str, Any]:
    return {
        "namespace": one.key.namespace,
        "name": one.key.name,
        "version": one.version,
        "digest": one.table.digest,
        "source": one.source,
    }


async def _answer(request: web.Request) -> web.Response:
    rules = request.app[RULES]
    key = Key(request.match_info["namespace"], request.match_info["name"])
    served = rules.shelf.sets.get(key)
    if served is None:
        rules.telling.unknown()
        return _unknown(key, rules.shelf)
    asked = _asked(await request.read(), served)
    if isinstance(asked, str):
        return _problem(400, asked)
    ask, value = asked
    started = rules.monotonic()
    told = ask(value)
    rules.telling.answered(key, told, rules.monotonic() - started)
    document = {**document_of(told), "ruleSet": _identity(served)}
    if told.problem is not None:
        del document["answer"]
        document["values"] = _short(told.values, served)
        return _problem(422, told.problem, **document)
    return _json(document)


def _short(values: Mapping[str, Any], served: Served) -> dict[str, Any]:
    """What was looked at, as far as it is one of the columns and no tree."""
    return {
        name: value if isinstance(value, bool | int | float | None) else shown(value)
        for name, value in values.items()
        if name in _columns(served)
    }


def _asked(body: bytes, served: Served) -> tuple[Ask, Mapping[str, Any]] | str:
    """What to ask of the table with what; or why that cannot be said."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return f"the body is no JSON: {error}"
    ways: dict[str, Ask] = {"values": served.table.decide, "context": served.table.answer}
    given = [name for name in ways if isinstance(data, dict) and name in data]
    if len(given) != 1 or len(data) != 1 or not isinstance(data[given[0]], dict):
        return (
            'the body is one object with one field: {"values": {column: value}} or {"context": {"input": …}}; '
            f"columns: {listed(_columns(served))}"
        )
    return ways[given[0]], data[given[0]]


def _unknown(key: Key, shelf: Shelf) -> web.Response:
    known = [str(one) for one in shelf.sets]
    hint = did_you_mean(str(key), known) or (f"there is {listed(known)}" if known else "there is none")
    return _problem(404, f"there is no rule set {str(key)[:127]}; {hint}")


@web.middleware
async def _errors(request: web.Request, handler: Any) -> web.StreamResponse:
    """What aiohttp raises of itself (404, 405, 413), in the form of our own."""
    try:
        answer: web.StreamResponse = await handler(request)
    except web.HTTPException as error:
        return _problem(error.status, error.reason)
    return answer


def _problem(status: int, detail: str, **more: Any) -> web.Response:
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return _json(body, status=status, content_type=_PROBLEM)


def _json(
    document: Mapping[str, Any], *, status: int = 200, content_type: str = "application/json"
) -> web.Response:
    return web.Response(body=orjson.dumps(document, default=str), status=status, content_type=content_type)
