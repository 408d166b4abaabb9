"""`ports.ResourceStore` on Kubernetes: reads from the cache, writes to the API server, each answer into the cache at once."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping
from typing import Final, TypeVar

from sluicegate.contracts.errors import Conflict, NotFound, Problem, Refused
from sluicegate.contracts.resources import KINDS
from sluicegate.operator.cluster import edge
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.names import CHILDREN, FINALIZERS, STATUS
from sluicegate.operator.cluster.ports import JOBS, Api, Fence, KubeApi, own
from sluicegate.operator.ports import Change, Json, Listing, ref_of
from sluicegate.operator.resources.objects import (
    expect_current,
    has_labels,
    is_deleting,
    is_removable,
    owners_of,
)
from sluicegate.rollout.model import Ref

T = TypeVar("T")
_TURN: Final = 100
_ROUNDS: Final = 5
"""How often an update without a version is made again when another writer was faster."""


class KubernetesStore:
    """Every write asks the fence first. watched: kinds whose every object is in the cache; others are read by a GET each."""

    def __init__(
        self, api: KubeApi, cache: Cache, fence: Fence, *, watched: frozenset[str] = frozenset(KINDS)
    ) -> None:
        self._api, self._cache, self._fence, self._watched = api, cache, fence, watched

    async def get(self, ref: Ref) -> Json:
        """The object, or NotFound."""
        return edge.inward(await self._known(ref))

    async def listing(
        self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """Objects of a kind, by namespace and name, as they are now; others may work while they are unpacked."""
        packed, version = self._cache.packed(kind, namespace), self._cache.sequence
        items = []
        for number, body in enumerate(packed, 1):
            item = self._cache.unpacked(body)
            if has_labels(item, labels):
                items.append(edge.inward(item))
            if number % _TURN == 0:
                await asyncio.sleep(0)
        return Listing(items=tuple(items), version=version)

    async def owned(self, kind: str, owner: str) -> tuple[Json, ...]:
        """Objects of a kind that belong to the object with uid `owner`."""
        return tuple(map(edge.inward, self._cache.owned(kind, owner)))

    async def watch(self, kinds: frozenset[str], after: int) -> AsyncGenerator[Change, None]:
        """Changes after the sequence `after` (of a Listing or a Change), for ever; store.Expired."""
        while True:
            changes = self._cache.changes(kinds, after)
            after = self._cache.sequence
            for change in changes:
                yield Change(version=change.version, type=change.type, item=edge.inward(change.item))
            await self._cache.wait(after)

    async def create(self, item: Json) -> Json:
        """The object as stored; Conflict when the name is taken, or when all its owners are gone."""
        self._fence.epoch()
        api = own(item["kind"])
        owners = owners_of(item)
        if owners and not any(map(self._cache.has, owners)):
            raise Conflict(f"the owner of {ref_of(item)} is gone")
        return self._stored(await self._api.create(api, edge.created(item, api), manager=CHILDREN))

    async def update(self, item: Json) -> Json:
        """Replace spec and metadata, from what the server holds now."""
        api, ref = own(item["kind"]), ref_of(item)
        for left in reversed(range(_ROUNDS)):
            self._fence.epoch()
            held = await self._present(ref, self._api.get(api, ref.namespace, ref.name))
            expect_current(held, item)
            wanted = edge.updated(held, item, api)
            try:
                return self._stored(
                    await self._present(ref, self._api.replace(api, wanted, manager=CHILDREN))
                )
            except Conflict:
                if not left or item["metadata"].get("resourceVersion"):
                    raise
        raise AssertionError

    async def update_status(self, item: Json) -> Json:
        """Replace status, marked with the epoch of this leadership; one that differs in nothing else makes no write."""
        epoch = self._fence.epoch()
        ref = ref_of(item)
        held = await self._known(ref)
        expect_current(held, item)
        if _without_epoch(held.get("status")) == _without_epoch(item.get("status")):
            return edge.inward(held)
        metadata = {
            "name": ref.name,
            "namespace": ref.namespace,
            "uid": held["metadata"]["uid"],
            "resourceVersion": item["metadata"].get("resourceVersion"),
        }
        wanted: Json = {
            "metadata": {key: value for key, value in metadata.items() if value},
            "status": {**_without_epoch(item.get("status")), "epoch": epoch},
        }
        written = self._api.apply(own(ref.kind), wanted, manager=STATUS, subresource="status")
        return self._stored(await self._present(ref, written))

    async def finalizer(self, ref: Ref, uid: str, name: str, *, present: bool) -> None:
        """Put one finalizer on exactly this object, or take it off."""
        self._fence.epoch()
        held = await self._known(ref)
        if held["metadata"]["uid"] != uid:
            raise Conflict(f"{ref} was deleted and made again meanwhile; read it again")
        finalizers = held["metadata"].get("finalizers") or []
        if present == (name in finalizers):
            return
        if present and is_deleting(held):
            message = "an object that is being deleted takes no new finalizer"
            raise Refused((Problem(path="metadata.finalizers", message=message, value=name),))
        write = self._put_on(ref, held, name) if present else self._take_off(ref, held, name)
        self._stored(await self._present(ref, write))

    async def delete(self, ref: Ref, *, uid: str | None = None) -> None:
        """Ask for deletion of what the cache holds under this name, unless `uid` says which."""
        self._fence.epoch()
        held = self._cache.get(ref)
        seen = held["metadata"]["uid"] if held else None
        left = await self._present(
            ref, self._api.delete(_deletable(ref.kind), ref.namespace, ref.name, uid=uid or seen)
        )
        if left is not None and ref.kind in KINDS:
            self._cache.put(left)
        elif held is not None and seen == (uid or seen):
            self._cache.remove(held)

    def _put_on(self, ref: Ref, held: Json, name: str) -> Awaitable[Json]:
        """An apply of this finalizer alone. With uid and version it can neither make an object nor meet another."""
        metadata = {
            "name": ref.name,
            "namespace": ref.namespace,
            "uid": held["metadata"]["uid"],
            "resourceVersion": held["metadata"]["resourceVersion"],
            "finalizers": [name],
        }
        return self._api.apply(own(ref.kind), {"metadata": metadata}, manager=FINALIZERS)

    def _take_off(self, ref: Ref, held: Json, name: str) -> Awaitable[Json]:
        """A JSON patch: an apply would leave a finalizer that another manager (kubectl replace, edit) also set."""
        place = f"/metadata/finalizers/{held['metadata']['finalizers'].index(name)}"
        operations: list[Json] = [
            {"op": "test", "path": "/metadata/uid", "value": held["metadata"]["uid"]},
            {"op": "test", "path": place, "value": name},
            {"op": "remove", "path": place},
        ]
        return self._api.patch(own(ref.kind), ref.namespace, ref.name, operations, manager=FINALIZERS)

    async def _known(self, ref: Ref) -> Json:
        held = self._cache.get(ref)
        if held is None and ref.kind not in self._watched:
            held = await self._api.get(own(ref.kind), ref.namespace, ref.name)
        if held is None:
            raise NotFound(f"{ref} does not exist")
        return held

    async def _present(self, ref: Ref, call: Awaitable[T]) -> T:
        """The answer; when the object turns out to be gone, what the cache held of it when asked goes too."""
        held = self._cache.get(ref)
        try:
            return await call
        except NotFound:
            if held is not None:
                self._cache.remove(held)
            raise

    def _stored(self, answer: Json) -> Json:
        """What was written is what the next read sees."""
        if is_removable(answer):
            self._cache.remove(answer)
        else:
            self._cache.put(answer)
        return edge.inward(answer)


def _deletable(kind: str) -> Api:
    """Also what gates made beside our kinds."""
    return JOBS if kind == JOBS.kind else own(kind)


def _without_epoch(status: Json | None) -> Json:
    return {key: value for key, value in (status or {}).items() if key != "epoch"}
