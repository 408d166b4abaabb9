"""The store for the event loop: the same calls awaited, and watches that resume by resourceVersion."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping

from sluicegate.operator.ports import Change, Json, Listing
from sluicegate.operator.resources.serial import SerialThread
from sluicegate.operator.resources.store import SqliteStore, Write
from sluicegate.rollout.model import Ref


class LocalStore:
    """`ports.ResourceStore` over `SqliteStore`. Belongs to the event loop that made it."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._thread = SerialThread("resources")
        self._loop = asyncio.get_running_loop()
        self._moved = asyncio.Event()
        store.on_commit.append(self._committed)

    async def get(self, ref: Ref) -> Json:
        """The object, or NotFound."""
        return await self._thread.call(self._store.get, ref)

    async def listing(
        self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """Objects of a kind, by namespace and name."""
        return await self._thread.call(self._store.listing, kind, namespace, labels)

    async def owned(self, kind: str, owner: str) -> tuple[Json, ...]:
        """Objects of a kind that belong to `owner`."""
        return await self._thread.call(self._store.owned, kind, owner)

    async def create(self, item: Json) -> Json:
        """The object as stored."""
        return await self._thread.call(self._store.create, item)

    async def update(self, item: Json) -> Json:
        """Replace spec and metadata."""
        return await self._thread.call(self._store.update, item)

    async def update_status(self, item: Json) -> Json:
        """Replace status."""
        return await self._thread.call(self._store.update_status, item)

    async def finalizer(self, ref: Ref, uid: str, name: str, *, present: bool) -> None:
        """Put one finalizer on, or take it off."""
        await self._thread.call(self._store.finalizer, ref, uid, name, present=present)

    async def delete(self, ref: Ref, *, uid: str | None = None) -> None:
        """Ask for deletion."""
        await self._thread.call(self._store.delete, ref, uid=uid)

    async def write(self, batch: Iterable[Write], *, dry_run: bool = False) -> tuple[Json, ...]:
        """All writes or none; only local mode can."""
        return await self._thread.call(self._store.write, tuple(batch), dry_run=dry_run)

    async def version(self) -> int:
        """The newest resourceVersion."""
        return await self._thread.call(self._store.version)

    async def check_history(self, kinds: frozenset[str], after: int) -> None:
        """store.Expired when a watch from `after` would miss something."""
        await self._thread.call(self._store.changes, kinds, after, 1)

    async def watch(self, kinds: frozenset[str], after: int) -> AsyncGenerator[Change, None]:
        """Changes after `after`, for ever; store.Expired when the history does not reach back."""
        while True:
            moved = self._moved
            changes, after = await self._thread.call(self._store.changes, kinds, after)
            for change in changes:
                yield change
            if not changes:
                await moved.wait()

    def close(self) -> None:
        """Finish what began, then close the file."""
        self._thread.close()
        self._store.on_commit.remove(self._committed)
        self._store.close()

    def _committed(self) -> None:
        """In the committing thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()
