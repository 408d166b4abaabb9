"""The resource store of local mode: SQLite, every commit on disk before it is answered.

Tables: `objects` (the state), `changes` (bounded history for watches), `counters`. One connection; calls
are serialised by a lock, so that the resourceVersion is one global sequence.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import orjson

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Conflict, NotFound, Unavailable
from sluicegate.operator.ports import Change, ChangeType, Json, Listing, ref_of
from sluicegate.operator.resources import objects
from sluicegate.rollout.model import Ref

HISTORY = 2_000
"""Changes kept for watches that resume."""
_SCHEMA = 1
_TABLES = """
CREATE TABLE IF NOT EXISTS objects (
  kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (kind, namespace, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS owners (owner TEXT NOT NULL, uid TEXT NOT NULL, PRIMARY KEY (owner, uid)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
  version INTEGER PRIMARY KEY, type TEXT NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO counters VALUES ('version', 0), ('compacted', 0);
"""


class Expired(Conflict):
    """The wanted point of a watch is older than the history; list again and watch from there."""

    http_status = 410
    reason = "Expired"


class Verb(StrEnum):
    """Kinds of a write."""

    CREATE = "Create"
    UPDATE = "Update"
    STATUS = "Status"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write of a batch. `item` is the object; for DELETE kind and metadata are enough."""

    verb: Verb
    item: Json


class SqliteStore:
    """Objects with resourceVersion, generation, finalizers and owners. Safe from any thread.

    on_commit is called after each commit that changed something, in the committing thread.
    """

    def __init__(
        self, path: Path | str, *, clock: Callable[[], datetime] = system.now, history: int = HISTORY
    ) -> None:
        self._clock = clock
        self._history = history
        self._lock = threading.RLock()
        self._path = path
        self.on_commit: list[Callable[[], None]] = []
        try:
            self._base = _opened(str(path))
        except sqlite3.DatabaseError as error:
            raise Unavailable(f"{path} cannot be used as resource store: {error}") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

    # Reads

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.DatabaseError as error:
                raise Unavailable(f"{self._path} cannot be read: {error}") from error

    def get(self, ref: Ref) -> Json:
        """The object, or NotFound."""
        with self._reading():
            row = self._base.execute(
                "SELECT body FROM objects WHERE kind=? AND namespace=? AND name=?", ref
            ).fetchone()
        if row is None:
            raise NotFound(f"{ref} does not exist")
        return _object(row[0])

    def listing(
        self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Listing:
        """Objects of a kind, by namespace and name."""
        with self._reading():
            rows = self._base.execute(
                "SELECT body FROM objects WHERE kind=?1 AND (?2 IS NULL OR namespace=?2) ORDER BY namespace, name",
                (kind, namespace),
            ).fetchall()
            version = self._counter("version")
        items = (_object(row[0]) for row in rows)
        return Listing(
            items=tuple(item for item in items if objects.has_labels(item, labels)), version=version
        )

    def owned(self, kind: str, owner: str) -> tuple[Json, ...]:
        """Objects of a kind that belong to `owner`, by namespace and name."""
        with self._reading():
            rows = self._base.execute(
                "SELECT o.body FROM owners w JOIN objects o ON o.uid=w.uid WHERE w.owner=? AND o.kind=? "
                "ORDER BY o.namespace, o.name",
                (owner, kind),
            ).fetchall()
        return tuple(_object(row[0]) for row in rows)

    def version(self) -> int:
        """The newest resourceVersion."""
        with self._reading():
            return self._counter("version")

    def changes(self, kinds: frozenset[str], after: int, limit: int = 500) -> tuple[list[Change], int]:
        """Changes of `kinds` after `after`, ascending, and the version up to which nothing was left out."""
        marks = ",".join("?" * len(kinds))
        with self._reading():
            if after < self._counter("compacted"):
                raise Expired(f"resourceVersion {after} is too old; list again and watch from there")
            rows = self._base.execute(
                f"SELECT version, type, body FROM changes WHERE version>? AND kind IN ({marks}) "  # noqa: S608 - marks
                "ORDER BY version LIMIT ?",
                (after, *sorted(kinds), limit),
            ).fetchall()
            seen = rows[-1][0] if len(rows) == limit else max(after, self._counter("version"))
        return [Change(version=row[0], type=ChangeType(row[1]), item=_object(row[2])) for row in rows], seen

    # Writes

    def create(self, item: Json) -> Json:
        """The object as stored; Conflict when the name is taken or its owner is gone."""
        return self.write((Write(verb=Verb.CREATE, item=item),))[0]

    def update(self, item: Json) -> Json:
        """Replace spec and metadata."""
        return self.write((Write(verb=Verb.UPDATE, item=item),))[0]

    def update_status(self, item: Json) -> Json:
        """Replace status."""
        return self.write((Write(verb=Verb.STATUS, item=item),))[0]

    def finalizer(self, ref: Ref, uid: str, name: str, *, present: bool) -> None:
        """Put one finalizer on, or take it off; the others stay."""
        with self._lock:
            self.update(objects.with_finalizer(self.get(ref), uid, name, present=present))

    def delete(self, ref: Ref, *, uid: str | None = None) -> None:
        """Mark or remove."""
        metadata = {"namespace": ref.namespace, "name": ref.name, "uid": uid}
        self.write((Write(verb=Verb.DELETE, item={"kind": ref.kind, "metadata": metadata}),))

    def write(self, batch: Iterable[Write], *, dry_run: bool = False) -> tuple[Json, ...]:
        """All writes of the batch or none, in one commit. dry_run: what would be stored, and nothing is."""
        with self._transaction(dry_run=dry_run):
            return tuple(self._one(write) for write in batch)

    @contextmanager
    def _transaction(self, *, dry_run: bool) -> Iterator[None]:
        with self._lock:
            try:
                self._base.execute("BEGIN IMMEDIATE")
                before = self._counter("version")
                yield
                moved = self._counter("version") != before
                if not dry_run:
                    self._compact()
                self._base.execute("ROLLBACK" if dry_run else "COMMIT")
            except sqlite3.IntegrityError:  # ours
                self._base.rollback()
                raise
            except (
                sqlite3.DatabaseError
            ) as error:  # the disk is full or broken, or another program holds the file
                self._base.rollback()
                raise Unavailable(f"the resource store cannot be written: {error}") from error
            except BaseException:
                self._base.rollback()
                raise
        if moved and not dry_run:
            for call in self.on_commit:
                call()

    def _one(self, write: Write) -> Json:
        ref = ref_of(write.item)
        if write.verb is Verb.CREATE:
            return self._create(ref, write.item)
        held = self.get(ref)
        if write.verb is Verb.DELETE:
            objects.expect_current(held, write.item)
            return self._delete(ref, held)
        change = objects.updated if write.verb is Verb.UPDATE else objects.with_status
        fresh = change(held, write.item, version=self._counter("version") + 1)
        if fresh is None:
            return held
        if objects.is_removable(fresh):
            self._remove(ref, fresh)
        else:
            self._put(ref, fresh, ChangeType.MODIFIED)
        return fresh

    def _create(self, ref: Ref, item: Json) -> Json:
        if self._base.execute(
            "SELECT 1 FROM objects WHERE kind=? AND namespace=? AND name=?", ref
        ).fetchone():
            raise Conflict(f"{ref} exists already")
        owners = objects.owners_of(item)
        if owners and not any(self._is_alive(owner) for owner in owners):
            raise Conflict(f"the owner of {ref} is gone")
        fresh = objects.created(
            item, uid=system.new_uid(), version=self._counter("version") + 1, at=self._clock()
        )
        self._put(ref, fresh, ChangeType.ADDED)
        return fresh

    def _delete(self, ref: Ref, held: Json) -> Json:
        marked = objects.deleting(held, version=self._counter("version") + 1, at=self._clock())
        if marked is None:
            return held
        if objects.is_removable(marked):
            self._remove(ref, marked)
        else:
            self._put(ref, marked, ChangeType.MODIFIED)
        return marked

    def _remove(self, ref: Ref, item: Json) -> None:
        """Drop the object, then whatever belongs to nobody any more, in the same commit."""
        version = self._tick()
        item["metadata"]["resourceVersion"] = str(version)
        uid = item["metadata"]["uid"]
        self._base.execute("DELETE FROM objects WHERE uid=?", (uid,))
        self._base.execute("DELETE FROM owners WHERE uid=?", (uid,))
        self._log(version, ChangeType.DELETED, ref, item)
        orphans = self._base.execute(
            "SELECT o.body FROM owners w JOIN objects o ON o.uid=w.uid WHERE w.owner=?", (uid,)
        ).fetchall()
        for (body,) in orphans:
            child = _object(body)
            if not any(self._is_alive(owner) for owner in objects.owners_of(child)):
                self._delete(ref_of(child), child)

    def _put(self, ref: Ref, item: Json, kind: ChangeType) -> None:
        version = self._tick()
        uid = item["metadata"]["uid"]
        self._base.execute(
            "INSERT INTO objects VALUES (?,?,?,?,?,?) ON CONFLICT (kind, namespace, name) "
            "DO UPDATE SET version=excluded.version, body=excluded.body",
            (*ref, uid, version, orjson.dumps(item)),
        )
        self._base.execute("DELETE FROM owners WHERE uid=?", (uid,))
        self._base.executemany(
            "INSERT OR IGNORE INTO owners VALUES (?,?)", [(owner, uid) for owner in objects.owners_of(item)]
        )
        self._log(version, kind, ref, item)

    def _log(self, version: int, kind: ChangeType, ref: Ref, item: Json) -> None:
        self._base.execute(
            "INSERT INTO changes VALUES (?,?,?,?)", (version, kind, ref.kind, orjson.dumps(item))
        )

    def _is_alive(self, uid: str) -> bool:
        return self._base.execute("SELECT 1 FROM objects WHERE uid=?", (uid,)).fetchone() is not None

    def _counter(self, name: str) -> int:
        return int(self._base.execute("SELECT value FROM counters WHERE name=?", (name,)).fetchone()[0])

    def _tick(self) -> int:
        self._base.execute("UPDATE counters SET value=value+1 WHERE name='version'")
        return self._counter("version")

    def _compact(self) -> None:
        edge = self._counter("version") - self._history
        if edge - self._counter("compacted") > self._history // 4:
            self._base.execute("DELETE FROM changes WHERE version<=?", (edge,))
            self._base.execute("UPDATE counters SET value=? WHERE name='compacted'", (edge,))


def _opened(path: str) -> sqlite3.Connection:
    base = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
    try:
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=FULL")
        found = base.execute("PRAGMA user_version").fetchone()[0]
        if found in {0, _SCHEMA}:
            base.executescript(_TABLES + f"PRAGMA user_version={_SCHEMA};")
    except sqlite3.Error:
        base.close()
        raise
    if found not in {0, _SCHEMA}:
        base.close()
        raise Unavailable(
            f"{path} was written by another version of sluicegate (schema {found}, not {_SCHEMA})"
        )
    return base


def _object(body: bytes) -> Json:
    loaded: Json = orjson.loads(body)
    return loaded
