"""A resource store in memory, for simulations: the behaviour of the real ones without disk or threads.

Written on its own (plain dictionaries, no SQL), so that the contract suite compares two implementations.
"""

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime

from sluicegate.contracts.errors import Conflict, NotFound
from sluicegate.operator.ports import Change, ChangeType, Json, Listing, ref_of
from sluicegate.operator.resources import objects
from sluicegate.operator.resources.store import HISTORY, Expired
from sluicegate.rollout.model import Ref


class MemoryStore:
    """`ports.ResourceStore`. clock: for timestamps; uids are counted."""

    def __init__(self, clock: Callable[[], datetime], *, history: int = HISTORY) -> None:
        self._clock, self._history = clock, history
        self._items: dict[Ref, Json] = {}
        self._changes: list[Change] = []
        self._compacted = 0
        self._uids = itertools.count(1)
        self._moved = asyncio.Event()
        self.version = 0

    async def get(self, ref: Ref) -> Json:
        """The object, or NotFound."""
        return copy.deepcopy(self._held(ref))

    async def listing(
        self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """Objects of a kind."""
        found = [
            copy.deepcopy(item)
            for ref, item in sorted(self._items.items())
            if ref.kind == kind and namespace in {None, ref.namespace} and objects.has_labels(item, labels)
        ]
        return Listing(items=tuple(found), version=self.version)

    async def owned(self, kind: str, owner: str) -> tuple[Json, ...]:
        """Objects of a kind that belong to `owner`."""
        return tuple(
            copy.deepcopy(item)
            for ref, item in sorted(self._items.items())
            if ref.kind == kind and owner in objects.owners_of(item)
        )

    async def create(self, item: Json) -> Json:
        """As stored."""
        ref = ref_of(item)
        if ref in self._items:
            raise Conflict(f"{ref} exists already")
        if owners := objects.owners_of(item):
            self._expect_owner(ref, owners)
        fresh = objects.created(
            copy.deepcopy(item), uid=f"uid-{next(self._uids)}", version=self.version + 1, at=self._clock()
        )
        return self._put(ref, fresh, ChangeType.ADDED)

    async def update(self, item: Json) -> Json:
        """Spec and metadata."""
        return self._change(item, objects.updated)

    async def update_status(self, item: Json) -> Json:
        """Status."""
        return self._change(item, objects.with_status)

    async def finalizer(self, ref: Ref, uid: str, name: str, *, present: bool) -> None:
        """Put one finalizer on, or take it off."""
        self._change(objects.with_finalizer(self._held(ref), uid, name, present=present), objects.updated)

    async def delete(self, ref: Ref, *, uid: str | None = None) -> None:
        """Ask for deletion."""
        held = self._held(ref)
        if uid and held["metadata"]["uid"] != uid:
            raise Conflict(f"{ref} was made again meanwhile")
        self._delete(ref, held)

    async def watch(self, kinds: frozenset[str], after: int) -> AsyncIterator[Change]:
        """Changes after `after`."""
        while True:
            if after < self._compacted:
                raise Expired(f"resourceVersion {after} is too old")
            moved = self._moved
            for change in [one for one in self._changes if one.version > after]:
                after = change.version
                if change.item["kind"] in kinds:
                    yield copy.deepcopy(change)
            if not self._changes or self._changes[-1].version <= after:
                await moved.wait()

    def _held(self, ref: Ref) -> Json:
        try:
            return self._items[ref]
        except KeyError:
            raise NotFound(f"{ref} does not exist") from None

    def _change(self, item: Json, change: Callable[..., Json | None]) -> Json:
        ref = ref_of(item)
        held = self._held(ref)
        fresh = change(held, copy.deepcopy(item), version=self.version + 1)
        if fresh is None:
            return copy.deepcopy(held)
        if objects.is_removable(fresh):
            self._remove(ref, fresh)
            return fresh
        return self._put(ref, fresh, ChangeType.MODIFIED)

    def _delete(self, ref: Ref, held: Json) -> None:
        marked = objects.deleting(held, version=self.version + 1, at=self._clock())
        if marked is None:
            return
        if objects.is_removable(marked):
            self._remove(ref, marked)
        else:
            self._put(ref, marked, ChangeType.MODIFIED)

    def _remove(self, ref: Ref, item: Json) -> None:
        del self._items[ref]
        item["metadata"]["resourceVersion"] = str(self.version + 1)
        self._log(ChangeType.DELETED, item)
        uid = item["metadata"]["uid"]
        for child, held in list(self._items.items()):
            owners = objects.owners_of(held)
            if uid in owners and not self._alive(owners):
                self._delete(child, held)

    def _put(self, ref: Ref, item: Json, kind: ChangeType) -> Json:
        self._items[ref] = item
        self._log(kind, item)
        return copy.deepcopy(item)

    def _log(self, kind: ChangeType, item: Json) -> None:
        self.version += 1
        self._changes.append(Change(version=self.version, type=kind, item=copy.deepcopy(item)))
        if len(self._changes) > self._history:
            self._compacted = self._changes.pop(0).version
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _alive(self, owners: tuple[str, ...]) -> bool:
        return any(item["metadata"]["uid"] in owners for item in self._items.values())

    def _expect_owner(self, ref: Ref, owners: tuple[str, ...]) -> None:
        if not self._alive(owners):
            raise Conflict(f"the owner of {ref} is gone")
