"""Who calls, and what they may read: asked of the API server, remembered for a short while.

| who | may |
|---|---|
| accounts of gateways | write spools |
| accounts of the operator | ask for evidence |
| people with `get` on workflowruns.sluicegate.io | read the runs of that namespace |
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Generic, Protocol, TypeVar

from sluicegate.contracts.errors import Forbidden, Problem
from sluicegate.contracts.resources.base import GROUP
from sluicegate.operator.cluster.ports import ACCESS_REVIEWS, TOKEN_REVIEWS, Api
from sluicegate.operator.ports import Json

RUNS: Final = "workflowruns"
"""A resource that exists in RBAC only."""
REMEMBERED: Final = 60.0
"""Seconds."""
MOST: Final = 2_000

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Unknown(Forbidden):
    """The caller did not say, or not truly, who they are."""

    http_status = 401
    reason = "Unauthorized"


class Reviewer(Protocol):
    """`cluster.ports.KubeWriter.review`."""

    async def review(self, api: Api, item: Json) -> Json:
        """POST that stores nothing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """As the API server knows them."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(slots=True)
class _Memory(Generic[K, V]):
    """Answers, for REMEMBERED seconds, the newest MOST."""

    monotonic: Callable[[], float]
    kept: OrderedDict[K, tuple[float, V]] = field(default_factory=OrderedDict)

    def get(self, key: K) -> V | None:
        found = self.kept.get(key)
        return found[1] if found is not None and self.monotonic() < found[0] else None

    def put(self, key: K, value: V) -> V:
        self.kept[key] = (self.monotonic() + REMEMBERED, value)
        self.kept.move_to_end(key)
        while len(self.kept) > MOST:
            self.kept.popitem(last=False)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """User names that may do what people may not."""

    gateways: frozenset[str]
    operators: frozenset[str]


class Identity:
    """Reviews bearer tokens. audiences: those that a token must name one of; none: the API server's own."""

    def __init__(
        self,
        reviewer: Reviewer,
        accounts: Accounts,
        monotonic: Callable[[], float],
        audiences: tuple[str, ...] = (),
    ) -> None:
        self._reviewer, self._accounts, self._audiences = reviewer, accounts, audiences
        self._callers: _Memory[bytes, Caller] = _Memory(monotonic)
        self._readers: _Memory[tuple[Caller, str], bool] = _Memory(monotonic)

    async def gateway(self, header: str | None) -> Caller:
        """The caller, who is a gateway. Unknown, Forbidden; Unavailable when the API server does not answer."""
        return _one_of(await self.caller(header), self._accounts.gateways, "write spools")

    async def operator(self, header: str | None) -> Caller:
        """The caller, who is the operator."""
        return _one_of(await self.caller(header), self._accounts.operators, "ask for evidence")

    async def reader(self, header: str | None, namespace: str | None) -> Caller:
        """The caller, who may read the runs of `namespace`; of all when None."""
        caller = await self.caller(header)
        if not await self.may_read(caller, namespace):
            where = f"namespace {namespace}" if namespace else "all namespaces"
            raise Forbidden(
                (
                    Problem(
                        path="authorization",
                        message=f"{caller.user} may not read runs of {where}",
                        allowed=f"who has the verb get on {RUNS}.{GROUP} there",
                        hint="ask for a namespace that you may read, ?namespace=…" if not namespace else None,
                    ),
                )
            )
        return caller

    async def caller(self, header: str | None) -> Caller:
        """Whose token it is."""
        kind, _, token = (header or "").partition(" ")
        token = token.strip()
        if kind.lower() != "bearer" or not token:
            raise _unknown("there is no bearer token", "Authorization: Bearer <token>")
        digest = sha256(token.encode("utf-8", "surrogateescape")).digest()
        known = self._callers.get(digest)
        if known is not None:
            return known
        spec: Json = {"token": token} | ({"audiences": list(self._audiences)} if self._audiences else {})
        answer = await self._reviewer.review(TOKEN_REVIEWS, {"spec": spec})
        status = answer.get("status") or {}
        if not status.get("authenticated"):
            allowed = f"a token for {' or '.join(self._audiences)}" if self._audiences else "a valid token"
            raise _unknown("the API server does not know this token", allowed)
        return self._callers.put(digest, _caller(status.get("user") or {}))

    async def may_read(self, caller: Caller, namespace: str | None) -> bool:
        """Whether the caller may read the runs of `namespace`; of all when None."""
        key = (caller, namespace or "")
        known = self._readers.get(key)
        if known is not None:
            return known
        attributes = {"verb": "get", "group": GROUP, "resource": RUNS} | (
            {"namespace": namespace} if namespace else {}
        )
        spec = {
            "user": caller.user,
            "uid": caller.uid,
            "groups": list(caller.groups),
            "extra": {name: list(values) for name, values in caller.extra},
            "resourceAttributes": attributes,
        }
        answer = await self._reviewer.review(ACCESS_REVIEWS, {"spec": spec})
        return self._readers.put(key, (answer.get("status") or {}).get("allowed") is True)


def _one_of(caller: Caller, allowed: frozenset[str], act: str) -> Caller:
    if caller.user not in allowed:
        message = f"{caller.user} may not {act}"
        raise Forbidden((Problem(path="authorization", message=message, allowed=", ".join(sorted(allowed))),))
    return caller


def _caller(user: Json) -> Caller:
    extra = user.get("extra") or {}
    return Caller(
        user=user.get("username", ""),
        uid=user.get("uid", ""),
        groups=tuple(user.get("groups") or ()),
        extra=tuple((name, tuple(values)) for name, values in sorted(extra.items())),
    )


def _unknown(message: str, allowed: str) -> Unknown:
    return Unknown((Problem(path="authorization", message=message, allowed=allowed),))
