"""What the watches told, compressed; every read of the control loop comes from here.

`put` and `remove` take what a watch or the answer to a write says, in any order: an object never goes back to an older
resourceVersion, and one that is known to be gone (by uid) never comes back. So a late event cannot undo our own write.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
import zstandard

from sluicegate.operator.cluster.edge import LAST_APPLIED
from sluicegate.operator.ports import Change, ChangeType, Json, Listing, ref_of
from sluicegate.operator.resources.objects import has_labels, owners_of
from sluicegate.operator.resources.store import Expired
from sluicegate.rollout.model import Ref

HISTORY: Final = 4_096
GONE: Final = 8_192
"""How many changes and how many uids of gone objects are remembered."""


@dataclass(frozen=True, slots=True)
class _Held:
    uid: str
    version: int
    owners: tuple[str, ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Change:
    sequence: int
    type: ChangeType
    kind: str
    body: bytes


class Cache:
    """Objects by reference and by owner, and the changes of them. Belongs to one event loop."""

    def __init__(self, *, history: int = HISTORY) -> None:
        self._kinds: dict[str, dict[Ref, _Held]] = {}
        self._owned: dict[str, set[Ref]] = {}
        self._uids: dict[str, Ref] = {}
        self._gone: dict[str, None] = {}
        self._changes: deque[_Change] = deque(maxlen=history)
        self._pack = zstandard.ZstdCompressor(level=3, write_checksum=False, write_content_size=True)
        self._unpack = zstandard.ZstdDecompressor()
        self._moved = asyncio.Event()
        self.sequence = 0
        """Grows by one with every change; local, not a resourceVersion."""

    # What is told

    def put(self, item: Mapping[str, Any]) -> bool:
        """The object as it is now. False when that is not news: as old as what is held, or older, or known to be gone."""
        ref, uid, version = ref_of(item), item["metadata"]["uid"], _version(item)
        held = self._held(ref)
        if uid in self._gone or (held is not None and held.version >= version):
            return False
        if held is not None and held.uid != uid:
            self._drop(ref, held)
            self._tell(ChangeType.DELETED, ref, held.body)
            held = None
        body = self._packed(item)
        if held is not None:
            self._unlink(ref, held)
        owners = _owners(item)
        self._kinds.setdefault(ref.kind, {})[ref] = _Held(uid, version, owners, body)
        self._uids[uid] = ref
        for owner in owners:
            self._owned.setdefault(owner, set()).add(ref)
        self._tell(ChangeType.ADDED if held is None else ChangeType.MODIFIED, ref, body)
        return True

    def remove(self, item: Mapping[str, Any]) -> bool:
        """The object, by its uid, is gone for good. False when another object of that name is held, or none."""
        ref, uid = ref_of(item), item["metadata"]["uid"]
        self._bury(uid)
        held = self._held(ref)
        if held is None or held.uid != uid:
            return False
        self._drop(ref, held)
        last = item if "spec" in item or "data" in item else None
        self._tell(ChangeType.DELETED, ref, held.body if last is None else self._packed(last))
        return True

    def sync(
        self, kind: str, items: Iterable[Mapping[str, Any]], version: str, namespace: str | None = None
    ) -> None:
        """A whole list as of `version`: what it lacks and is not newer has gone without a word."""
        listed = set()
        for item in items:
            listed.add(item["metadata"]["uid"])
            self.put(item)
        for ref, held in list(self._kinds.get(kind, {}).items()):
            inside = namespace is None or ref.namespace == namespace
            if inside and held.uid not in listed and held.version <= int(version):
                self._bury(held.uid)
                self._drop(ref, held)
                self._tell(ChangeType.DELETED, ref, held.body)

    # What is asked

    def get(self, ref: Ref) -> Json | None:
        """A copy of the object."""
        held = self._held(ref)
        return None if held is None else self.unpacked(held.body)

    def has(self, uid: str) -> bool:
        """Whether the object with this uid is held."""
        return uid in self._uids

    def uid(self, ref: Ref) -> str | None:
        """Of what is held under this name."""
        held = self._held(ref)
        return None if held is None else held.uid

    def listing(
        self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """Objects of a kind, by namespace and name; `version` is the present sequence."""
        items = map(self.unpacked, self.packed(kind, namespace))
        return Listing(items=tuple(item for item in items if has_labels(item, labels)), version=self.sequence)

    def packed(self, kind: str, namespace: str | None = None) -> list[bytes]:
        """The same, for who unpacks them one by one, in its own time."""
        held = self._kinds.get(kind, {})
        refs = sorted(ref for ref in held if namespace is None or ref.namespace == namespace)
        return [held[ref].body for ref in refs]

    def owned(self, kind: str, uid: str) -> tuple[Json, ...]:
        """Objects of a kind that belong to `uid`, by ownerReferences or, a Decision, by its target."""
        held = self._kinds.get(kind, {})
        refs = sorted(ref for ref in self._owned.get(uid, ()) if ref.kind == kind)
        return tuple(self.unpacked(held[ref].body) for ref in refs)

    def counts(self) -> dict[str, int]:
        """Objects by kind."""
        return {kind: len(held) for kind, held in sorted(self._kinds.items()) if held}

    def size(self) -> int:
        """Bytes of the objects as they are held."""
        return sum(len(one.body) for held in self._kinds.values() for one in held.values())

    # Watches

    def changes(self, kinds: frozenset[str], after: int) -> list[Change]:
        """Changes of `kinds` after the sequence `after`, in order; Expired when some of them are forgotten."""
        forgotten = self._changes[0].sequence - 1 if self._changes else self.sequence
        if after < forgotten:
            raise Expired(
                f"changes after {after} are forgotten up to {forgotten}; list again and watch from there"
            )
        return [
            Change(version=change.sequence, type=change.type, item=self.unpacked(change.body))
            for change in self._after(after)
            if change.kind in kinds
        ]

    async def wait(self, after: int) -> int:
        """Returns the sequence as soon as it is past `after`."""
        while self.sequence <= after:
            await self._moved.wait()
        return self.sequence

    def _after(self, after: int) -> Iterator[_Change]:
        missing = min(self.sequence - after, len(self._changes))
        for number in range(len(self._changes) - missing, len(self._changes)):
            yield self._changes[number]

    def _held(self, ref: Ref) -> _Held | None:
        return self._kinds.get(ref.kind, {}).get(ref)

    def _drop(self, ref: Ref, held: _Held) -> None:
        del self._kinds[ref.kind][ref]
        self._uids.pop(held.uid, None)
        self._unlink(ref, held)

    def _unlink(self, ref: Ref, held: _Held) -> None:
        for owner in held.owners:
            refs = self._owned[owner]
            refs.discard(ref)
            if not refs:
                del self._owned[owner]

    def _bury(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > GONE:
            del self._gone[next(iter(self._gone))]

    def _tell(self, kind: ChangeType, ref: Ref, body: bytes) -> None:
        self.sequence += 1
        self._changes.append(_Change(self.sequence, kind, ref.kind, body))
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _packed(self, item: Mapping[str, Any]) -> bytes:
        """A copy of its own: the compressor's buffer is as large as the input was, and shrinking it leaves holes."""
        return bytes(memoryview(self._pack.compress(orjson.dumps(_kept(item)))))

    def unpacked(self, body: bytes) -> Json:
        """A copy of what was packed."""
        item: Json = orjson.loads(self._unpack.decompress(body))
        return item


def _version(item: Mapping[str, Any]) -> int:
    return int(item["metadata"]["resourceVersion"])


def _kept(item: Mapping[str, Any]) -> Json:
    """Without the two parts that nobody decides on and that may be longer than the rest."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    if LAST_APPLIED in (metadata.get("annotations") or {}):
        metadata["annotations"] = {
            key: value for key, value in metadata["annotations"].items() if key != LAST_APPLIED
        }
    return {**item, "metadata": metadata}


def _owners(item: Mapping[str, Any]) -> tuple[str, ...]:
    owners = owners_of(dict(item))
    target = item["spec"]["target"].get("uid") if item["kind"] == "Decision" else None
    return owners if not target or target in owners else (*owners, target)
