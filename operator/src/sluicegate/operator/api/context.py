"""What the handlers of the API share: their parts, the caller, the query, answers."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
from aiohttp import web

from sluicegate.contracts.errors import NotFound, Problem, Refused
from sluicegate.contracts.resources import KINDS, Kind
from sluicegate.operator.api.callers import Peer, acting, peer_of
from sluicegate.operator.api.intake import Intake
from sluicegate.operator.ports import Json
from sluicegate.operator.resources.watch import LocalStore

BASE = "/apis/sluicegate.io/v1alpha1"
AS_HEADERS = ("Impersonate-User", "Sluicegate-As")


class EventLog(Protocol):
    """Events for people."""

    async def find(
        self,
        *,
        namespace: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        workflow: str | None = None,
        limit: int = 200,
    ) -> list[Json]:
        """Newest `limit`, oldest first."""
        ...


class LineageView(Protocol):
    """Runs for people."""

    async def runs(self, filters: dict[str, str], limit: int) -> list[Json]:
        """Summaries, newest first."""
        ...

    async def run(self, run_id: str) -> list[Json]:
        """Documents of one run, one per arm."""
        ...

    async def fallbacks(self, filters: dict[str, str], limit: int) -> list[Json]:
        """Fallbacks that users got, newest first."""
        ...

    async def ablated(self, filters: dict[str, str]) -> list[Json]:
        """Units of a rollout's stage and attempt by coalition; an item per arm and game."""
        ...

    async def units(self, filters: dict[str, str], after: int, limit: int) -> list[Json]:
        """Closed units of a rollout's stage and attempt above the sequence `after`, in the order of the store."""
        ...

    async def counts(self) -> Json:
        """What is stored."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The parts behind the API. about: facts for /version; unready: reasons why not ready, empty when ready."""

    store: LocalStore
    intake: Intake
    events: EventLog
    lineage: LineageView
    about: Callable[[], Json]
    unready: Callable[[], Awaitable[list[str]]]


API = web.AppKey("api", Api)


def api_of(request: web.Request) -> Api:
    """The parts."""
    return request.app[API]


def caller_of(request: web.Request) -> Peer:
    """The caller: the socket's peer, perhaps in another name. Forbidden when it may not act in that name."""
    connection = request.transport.get_extra_info("socket") if request.transport else None
    if connection is None:
        raise ConnectionResetError("the caller is gone")
    wanted = next((request.headers[name] for name in AS_HEADERS if name in request.headers), None)
    return acting(peer_of(connection), wanted)


def kind_at(request: web.Request) -> Kind:
    """The kind that the path names by its plural."""
    plural = request.match_info["plural"]
    for kind in KINDS.values():
        if kind.plural == plural:
            return kind
    raise NotFound(
        f"no resource {plural!r}; there are {', '.join(sorted(kind.plural for kind in KINDS.values()))}"
    )


async def json_body(request: web.Request) -> Any:
    """The body."""
    return orjson.loads(await request.read())


def is_dry(request: web.Request) -> bool:
    """dryRun=All; any other value is refused, since writing would surprise."""
    value = request.query.get("dryRun")
    if value not in {None, "", "All"}:
        raise Refused((Problem(path="dryRun", message="unknown value", value=value, allowed="All"),))
    return value == "All"


def number(request: web.Request, name: str, default: int, *, most: int) -> int:
    """A whole number of the query in [0, most]."""
    text = request.query.get(name)
    if text is None:
        return default
    if not (text.isdecimal() and len(text) < 19 and int(text) <= most):
        raise Refused(
            (
                Problem(
                    path=name, message="not a whole number in range", value=text[:40], allowed=f"0 to {most}"
                ),
            )
        )
    return int(text)


def reply(body: Any, *, code: int = 200, warnings: Iterable[str] = ()) -> web.Response:
    """JSON; warnings as RFC 9111 Warning headers, the way the Kubernetes API gives them."""
    response = web.Response(
        body=orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE),
        status=code,
        content_type="application/json",
    )
    for text in warnings:
        clean = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")
        response.headers.add("Warning", f'299 - "{clean}"')
    return response
