"""Where the informer's objects go: our kinds into the cache, other kinds to whoever wants to be told of them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import structlog

from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.ports import Json

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Highest:
    """The highest epoch that any status showed."""

    highest: int = 0

    def seen(self, item: Json) -> None:
        """A status may show one."""
        epoch = (item.get("status") or {}).get("epoch")
        if isinstance(epoch, int):
            self.highest = max(self.highest, epoch)


@dataclass(frozen=True, slots=True)
class CacheSink:
    """Objects of one of our kinds."""

    kind: str
    cache: Cache
    epochs: Highest

    def listed(self, items: Iterable[Json], version: str, namespace: str | None) -> None:
        """All there are."""
        self.cache.sync(self.kind, self._noted(items), version, namespace)

    def _noted(self, items: Iterable[Json]) -> Iterator[Json]:
        for item in items:
            self.epochs.seen(item)
            yield item

    def seen(self, item: Json, *, deleted: bool) -> None:
        """One that changed, or is gone."""
        self.epochs.seen(item)
        if deleted:
            self.cache.remove(item)
        else:
            self.cache.put(item)


Told = Callable[[Json, bool], None]


@dataclass(slots=True)
class TellingSink:
    """Tells of each object; also of the deletion of what a list lacks."""

    tell: Told
    _known: dict[tuple[str, str], Json] = field(default_factory=dict)

    def listed(self, items: Iterable[Json], version: str, namespace: str | None) -> None:
        """All there are. What was seen after the list was made stays."""
        uids = {item["metadata"]["uid"] for item in items}
        for known in list(self._known.values()):
            metadata = known["metadata"]
            inside = namespace is None or metadata["namespace"] == namespace
            if inside and metadata["uid"] not in uids and int(metadata["resourceVersion"]) <= int(version):
                self.seen(known, deleted=True)
        for item in items:
            self.seen(item, deleted=False)

    def seen(self, item: Json, *, deleted: bool) -> None:
        """One that changed, or is gone."""
        metadata = item["metadata"]
        key = (metadata["namespace"], metadata["name"])
        if deleted:
            self._known.pop(key, None)
        else:
            kept = ("namespace", "name", "uid", "resourceVersion", "labels")
            self._known[key] = {"metadata": {name: metadata[name] for name in kept if name in metadata}}
        try:
            self.tell(item, deleted)
        except (
            Exception
        ):  # objects of others: one that is not as anybody thought must not hide the rest of a list
            log.exception("object_not_told", kind=item.get("kind"), namespace=key[0], name=key[1])
