"""A watch that outlives its streams: API servers end them, restart, and forget old versions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import sleep
from typing import Any, Protocol

from sluicegate.console.client import Object, items_of
from sluicegate.contracts.errors import Conflict, SluicegateError, Unavailable

FIRST_SECONDS = 0.5
LAST_SECONDS = 10.0


class Source(Protocol):
    """What a watch needs of a client."""

    def request(self, method: str, path: str, *, query: Any = None) -> Object:
        """One request."""
        ...

    def changes(
        self, path: str, version: str | None, *, labels: str | None = None, silence: float | None = None
    ) -> Iterator[tuple[str, Object]]:
        """One stream."""
        ...


@dataclass(slots=True)
class Watching:
    """Of one path. silence: seconds without a change after which it ends; None: never."""

    source: Source
    path: str
    labels: str | None
    silence: float | None
    tell: Callable[[str], None]
    known: dict[tuple[str, str], Object] = field(default_factory=dict)
    version: str | None = None
    waits: float = 0.0

    def run(self) -> Iterator[tuple[str, Object]]:
        """(ADDED | MODIFIED | DELETED, object): what exists first, then every change, also over a lost connection."""
        yield from self._listed()
        while True:
            try:
                if self.version is None:
                    yield from self._listed()
                for change in self._stream():
                    self.waits = 0.0
                    yield change
                if self.silence is not None:
                    return
                sleep(FIRST_SECONDS)
            except Conflict:
                self.version = None  # 410: too long ago; what changed meanwhile is told by comparing
            except SluicegateError as error:
                self._pause(error)

    def _pause(self, error: SluicegateError) -> None:
        """Before the next try. A server that starts knows neither kinds nor roles for a while: only then a refusal is borne,
        for some seconds.
        """
        transient = type(error) in {Unavailable, SluicegateError}
        if not transient and not 0 < self.waits < LAST_SECONDS:
            raise error
        if not self.waits:
            self.tell(f"the connection was lost and is tried again: {str(error).splitlines()[0]}")
        self.waits = min(self.waits * 2 or FIRST_SECONDS, LAST_SECONDS)
        sleep(self.waits)

    def _stream(self) -> Iterator[tuple[str, Object]]:
        for change, item in self.source.changes(
            self.path, self.version, labels=self.labels, silence=self.silence
        ):
            self.version = item["metadata"]["resourceVersion"]
            if change == "BOOKMARK":
                continue
            if change == "DELETED":
                self.known.pop(_key(item), None)
            else:
                self.known[_key(item)] = item
            yield change, item

    def _listed(self) -> Iterator[tuple[str, Object]]:
        """What is there, told as what differs from what was known."""
        answer = self.source.request("GET", self.path, query={"labelSelector": self.labels})
        found = {_key(item): item for item in items_of(answer)}
        before, self.known = self.known, found
        self.version = (answer.get("metadata") or {}).get("resourceVersion")
        for key, item in found.items():
            if key not in before:
                yield "ADDED", item
            elif _version(before[key]) != _version(item):
                yield "MODIFIED", item
        yield from (("DELETED", item) for key, item in before.items() if key not in found)


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _version(item: Object) -> Any:
    return item["metadata"].get("resourceVersion")
