"""What commands need, from a Kubernetes API server."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from sluicegate.console import output
from sluicegate.console.client import DECISIONS, Applied, Client, Identity, Object, items_of, path_of
from sluicegate.console.cluster import happenings, refusals
from sluicegate.console.cluster.applying import MANAGER, Applying, owned
from sluicegate.console.cluster.people import Caller
from sluicegate.console.cluster.watching import Watching
from sluicegate.console.transport import Transport
from sluicegate.contracts.errors import Forbidden, Problem, Refused, SluicegateError

if TYPE_CHECKING:
    from sluicegate.console.cluster.access import Access
    from sluicegate.console.cluster.lineage import Lineage

PAGE = 500
"""Objects in one answer."""


class ClusterClient(Client):
    """Requests of one caller to one API server."""

    poll_seconds = 1.0
    watch_query: ClassVar[Mapping[str, str]] = {"allowWatchBookmarks": "true"}

    def __init__(self, transport: Transport, access: "Access", lineage: "Lineage") -> None:
        super().__init__(transport)
        self._access, self._lineage = access, lineage
        self._told: set[str] = set()

    @cached_property
    def caller(self) -> Caller:
        """Whom the server takes the caller for; asked once."""
        return Caller(lambda path, body: self.request("POST", path, body=body))

    def error(self, status: int, body: Any) -> SluicegateError:
        """The error that a Status means."""
        return refusals.error(status, body, user=self._access.user, context=self._access.context)

    def listing(self, plural: str, namespace: str | None, *, labels: str | None = None) -> list[Object]:
        """All objects of a kind, page by page."""
        return [*self._pages(path_of(plural, namespace), {"labelSelector": labels})]

    def create(self, plural: str, obj: Object) -> Object:
        """Create; a decision is made the caller's, and belongs to what it is about."""
        if plural == DECISIONS:
            obj = owned({**obj, "spec": {"decidedBy": self.caller.name, **obj["spec"]}})
        query = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
        stored, warnings = self.exchange(
            "POST", path_of(plural, obj["metadata"]["namespace"]), query=query, body=obj
        )
        for text in warnings:
            output.note(f"warning: {text}")
        return stored

    def delete(self, plural: str, namespace: str, name: str, *, dry_run: bool = False) -> Object:
        """Mark for deletion; the object as marked, or its name when it is gone at once."""
        gone = super().delete(plural, namespace, name, dry_run=dry_run)
        return {} if gone.get("kind") == "Status" else gone

    def apply(
        self, documents: Sequence[Object], *, dry_run: bool = False, force: bool = False
    ) -> tuple[Applied, ...]:
        """Rehearse all, then write all."""
        applying = Applying(server=self, caller=lambda: self.caller.name, force=force)
        rehearsed = applying.rehearse(documents)
        if dry_run:
            return tuple(expected for _, expected in rehearsed)
        return tuple(applying.carry_out(rehearsed))

    def watch(
        self,
        plural: str,
        namespace: str | None,
        *,
        labels: str | None = None,
        silence: float | None = None,
    ) -> Iterator[tuple[str, Object]]:
        """What exists, then every change; a stream that ends is taken up again where it ended."""
        return Watching(self, path_of(plural, namespace), labels, silence, tell=output.note).run()

    def events(self, namespace: str | None, *, limit: int = 20, **about: str | None) -> list[Object]:
        """Events of our kinds, newest first. Who may not read events sees none, and is told once."""
        scope = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        path = f"/api/v1{scope}/events"
        try:
            found = [
                happenings.told(event)
                for selector in happenings.selectors(about)
                for event in self._pages(path, {"fieldSelector": selector})
                if happenings.wanted(event, about)
            ]
        except Forbidden:
            self._note_once("events are not shown: you may not list them here")
            return []
        return sorted(found, key=lambda event: str(event["lastAt"]), reverse=True)[:limit]

    def runs(self, query: Mapping[str, Any]) -> list[Object]:
        """Summaries of runs, newest first."""
        return self._lineage.runs(query)

    def run(self, run_id: str) -> list[Object]:
        """The documents of one run, one per arm."""
        return self._lineage.run(run_id)

    def fallbacks(self, query: Mapping[str, Any]) -> list[Object]:
        """Fallbacks that wait for a review."""
        return self._lineage.fallbacks(query)

    def ablated(self, query: Mapping[str, Any]) -> list[Object]:
        """Ablated units by coalition."""
        return self._lineage.ablated(query)

    def units(self, query: Mapping[str, Any]) -> list[Object]:
        """Closed units, in the order of the store."""
        return self._lineage.units(query)

    def gateway_url(self) -> str:
        """Refused: a cluster may have many, and none is reached through the API server."""
        hint = "the address to which you send runs"
        raise Refused((Problem(path="--gateway-url", message="is needed on a cluster", hint=hint),))

    def whoami(self, namespace: str) -> Identity:
        """Name, groups and verbs."""
        return self.caller.identity(namespace)

    def server_version(self) -> Object:
        """The API server's, and where it is."""
        found = self.request("GET", "/version")
        return {
            "kubernetes": found.get("gitVersion"),
            "server": self._access.host,
            "context": self._access.context,
            "user": self._access.user,
        }

    def _pages(self, path: str, query: Mapping[str, Any]) -> Iterator[Object]:
        token: str | None = None
        while True:
            answer = self.request("GET", path, query={**query, "limit": PAGE, "continue": token})
            yield from items_of(answer)
            token = (answer.get("metadata") or {}).get("continue") or None
            if token is None:
                return

    def _note_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            output.note(text)
