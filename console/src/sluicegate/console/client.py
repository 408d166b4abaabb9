"""What commands need of a server. Objects are read and written the same way in local mode and on a cluster.

Standard library only, so that every command starts fast. `LocalClient` speaks to `sluicegate up`, `ClusterClient` to a
Kubernetes API server; both are made by `session`.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import quote

from sluicegate.console.answers import decode, error_of, status_error
from sluicegate.console.transport import JSON, Answer, Call, Transport
from sluicegate.contracts.errors import SluicegateError, Unavailable

__all__ = [
    "DECISIONS",
    "ROLLOUTS",
    "ROOT",
    "WORKFLOWS",
    "Applied",
    "Client",
    "Identity",
    "Object",
    "error_of",
]

ROOT = "/apis/sluicegate.io/v1alpha1"
WORKFLOWS = "agentworkflows"
ROLLOUTS = "workflowrollouts"
DECISIONS = "decisions"

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What an apply did, or would do, to one object.

    operation: created, configured or unchanged. previous: the object as stored before, None when new.
    """

    operation: str
    object: Object
    previous: Object | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whom the server takes the caller for, and the verbs of decisions that they hold in a namespace."""

    user: str
    groups: tuple[str, ...] = ()
    verbs: Mapping[str, bool] = field(default_factory=dict)


class Client(ABC):
    """Requests to one server.

    Every method raises the errors of contracts.errors: NotFound, Conflict, Refused, Forbidden, and
    Unavailable when nothing answers.
    """

    poll_seconds: ClassVar[float] = 0.5
    """How often what moves may be looked at."""
    watch_query: ClassVar[Mapping[str, str]] = {}
    """Of every watch."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Object:
        """One request, one JSON object as answer."""
        return self.exchange(method, path, query=query, body=body, content_type=content_type)[0]

    def exchange(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> tuple[Object, tuple[str, ...]]:
        """One request: the JSON object that was answered, and the server's warnings."""
        raw = None if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        call = Call(method=method, path=path, query=_kept(query), body=raw, content_type=content_type)
        with self._transport.open(call) as answer:
            decoded = decode(answer.read())
        if answer.status >= 400:
            raise self.error(answer.status, decoded)
        if not isinstance(decoded, dict):
            raise Unavailable(
                f"the server answered with {type(decoded).__name__} where an object was expected"
            )
        return decoded, answer.warnings

    def error(self, status: int, body: Any) -> SluicegateError:
        """The error that an answer means."""
        return status_error(status, body)

    def get(self, plural: str, namespace: str, name: str) -> Object:
        """One object."""
        return self.request("GET", path_of(plural, namespace, name))

    def listing(self, plural: str, namespace: str | None, *, labels: str | None = None) -> list[Object]:
        """All objects of a kind in a namespace, or in all (None), by namespace and name."""
        return items_of(self.request("GET", path_of(plural, namespace), query={"labelSelector": labels}))

    def create(self, plural: str, obj: Object) -> Object:
        """Create; Conflict when the name is taken."""
        return self.request("POST", path_of(plural, obj["metadata"]["namespace"]), body=obj)

    def delete(self, plural: str, namespace: str, name: str, *, dry_run: bool = False) -> Object:
        """Mark for deletion; gone when its finalizers are."""
        query = {"dryRun": "All"} if dry_run else None
        return self.request("DELETE", path_of(plural, namespace, name), query=query)

    def watch(
        self,
        plural: str,
        namespace: str | None,
        *,
        labels: str | None = None,
        silence: float | None = None,
    ) -> Iterator[tuple[str, Object]]:
        """(ADDED | MODIFIED | DELETED, object): what exists now first, then every change, until the server ends.

        silence: seconds without any change after which the watch ends; None: never.
        """
        path = path_of(plural, namespace)
        listed = self.request("GET", path, query={"labelSelector": labels})
        yield from (("ADDED", item) for item in items_of(listed))
        version = listed.get("metadata", {}).get("resourceVersion")
        yield from self.changes(path, version, labels=labels, silence=silence)

    def changes(
        self, path: str, version: str | None, *, labels: str | None = None, silence: float | None = None
    ) -> Iterator[tuple[str, Object]]:
        """One stream of changes after `version`, until it ends."""
        query = {"watch": "1", "resourceVersion": version, "labelSelector": labels, **self.watch_query}
        call = Call(method="GET", path=path, query=_kept(query), streams=True, silence=silence)
        with self._transport.open(call) as answer:
            if answer.status >= 400:
                raise self.error(answer.status, decode(answer.read()))
            yield from self._events(answer)

    def _events(self, answer: Answer) -> Iterator[tuple[str, Object]]:
        for line in answer.lines():
            if not line.strip():
                continue  # a heartbeat
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise self.error(int(event["object"].get("code", 500)), event["object"])
            yield event["type"], event["object"]

    @abstractmethod
    def apply(
        self, documents: Sequence[Object], *, dry_run: bool = False, force: bool = False
    ) -> tuple[Applied, ...]:
        """Create or update all of them, or none when one is refused; with dry_run nothing is stored. force: also
        fields that another program owns.
        """

    @abstractmethod
    def events(self, namespace: str | None, *, limit: int = 20, **about: str | None) -> list[Object]:
        """Events, newest first. about: workflow, or kind and name."""

    @abstractmethod
    def runs(self, query: Mapping[str, Any]) -> list[Object]:
        """Summaries of runs, newest first."""

    @abstractmethod
    def run(self, run_id: str) -> list[Object]:
        """The documents of one run, one per arm."""

    @abstractmethod
    def fallbacks(self, query: Mapping[str, Any]) -> list[Object]:
        """Fallbacks that wait for a review."""

    @abstractmethod
    def ablated(self, query: Mapping[str, Any]) -> list[Object]:
        """Units of a rollout's stage and attempt by coalition; an item per arm and game."""

    @abstractmethod
    def units(self, query: Mapping[str, Any]) -> list[Object]:
        """Closed units of a rollout's stage and attempt above the sequence `after`, at most `limit`."""

    @abstractmethod
    def gateway_url(self) -> str:
        """Where the gateway is, for the outcome of a run."""

    @abstractmethod
    def whoami(self, namespace: str) -> Identity:
        """The caller."""

    @abstractmethod
    def server_version(self) -> Object:
        """What the server says of itself."""


def path_of(plural: str, namespace: str | None, name: str | None = None) -> str:
    """Of a kind in a namespace or in all, or of one object."""
    scope = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{ROOT}{scope}/{plural}" + (f"/{quote(name, safe='')}" if name else "")


def items_of(answer: Object) -> list[Object]:
    """The items of a list."""
    return list(answer.get("items") or ())


def _kept(query: Mapping[str, Any] | None) -> dict[str, str]:
    return {key: str(value) for key, value in (query or {}).items() if value is not None}
