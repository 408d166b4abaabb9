"""Where the tracks of escalations are kept: one SQLite file of a host, shared by its workers, outliving them.

While nothing fails it is neither read nor written: a worker holds the tracks that are not clean, and a mapped file of
eight bytes tells it when another worker has changed one. A run that changes a track is
one transaction: read both tracks, `escalation.arrive` or `end`, write what changed. Failures that were told are in the
kernel then, so kill -9 loses none. Without the file (a full disk, a damaged one, a writer that was stopped) a worker
counts for itself, leaves the file alone for a second each time, and tells what it counted when it can write again.
"""

import mmap
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from struct import Struct
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

import orjson
import structlog

from sluicegate.contracts.runs import Trigger
from sluicegate.gateway.escalation import (
    OFF,
    Count,
    Decision,
    Ended,
    Settings,
    Track,
    Tracks,
    arrive,
    end,
)
from sluicegate.lineage import sqlite_files

MOST_TRACKS: Final = 10_000
"""Of a host; beyond it the oldest are forgotten."""
LOOK_SECONDS: Final = 1.0
"""How long a change may go unseen whose writer was killed before it could tell."""
TELL_SECONDS: Final = 1.0
"""While a version fails, how often a worker tells what succeeded."""
WAIT_MS: Final = 50
ALONE_SECONDS: Final = 1.0
"""After a change that could not be written: how long a worker leaves the file alone."""
_PRUNE_EVERY: Final = 512
VERSION: Final = ""
"""The session of a version's own track; those of sessions are never empty."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS tracks (
  scope TEXT NOT NULL, session TEXT NOT NULL, body BLOB, at REAL NOT NULL, changed INTEGER NOT NULL,
  PRIMARY KEY (scope, session)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tracks_changed ON tracks (changed);
CREATE INDEX IF NOT EXISTS tracks_at ON tracks (at);
"""
_READ = "SELECT body, at FROM tracks WHERE scope = ? AND session = ?"
_WRITE = """
INSERT INTO tracks (scope, session, body, at, changed)
VALUES (?, ?, ?, ?, (SELECT COALESCE(MAX(changed), 0) + 1 FROM tracks))
ON CONFLICT (scope, session) DO UPDATE SET body = excluded.body, at = excluded.at, changed = excluded.changed
"""
_NEWS = "SELECT scope, session, body, at, changed FROM tracks WHERE changed > ? ORDER BY changed"
_PRUNE = "DELETE FROM tracks WHERE (scope, session) IN (SELECT scope, session FROM tracks ORDER BY at DESC LIMIT -1 OFFSET ?)"

_NUMBER = Struct("<Q")
_T = TypeVar("_T")
log = structlog.get_logger("sluicegate.gateway")


class Key(NamedTuple):
    """A session of one version of a workflow. scope: ``namespace/workflow/revision``."""

    scope: str
    session: str


class _Untold(NamedTuple):
    """A track that changed while nothing could be written. since: when that began."""

    track: Track
    since: float


class Ledger:
    """One per worker; belongs to one thread. path None: nothing is shared, nothing outlives the process."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._held: OrderedDict[Key, Track] = OrderedDict()  # what is not clean
        self._untold: OrderedDict[Key, _Untold] = OrderedDict()
        self._succeeded: dict[str, _Successes] = {}
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._signal: mmap.mmap | None = None
        self._seen_signal = -1
        self._seen = -1
        self._looked = float("-inf")
        self._written = 0
        self._is_alone = path is None
        self._alone_since = self._failed = float("-inf")

    def arrive(self, key: Key, settings: Settings, now: float) -> Decision:
        """Whether a run goes through the workflow."""
        self._look(now)
        held = self._tracks(key)
        after, decision = arrive(held, settings, now)
        if after == held:
            return decision
        return self._change(key, lambda tracks: arrive(tracks, settings, now), held, now)

    def end(self, key: Key, settings: Settings, ended: Ended, now: float) -> Trigger | None:
        """Count a run; the trigger when rules answer its user."""
        self._look(now)
        held = self._tracks(key)
        successes = self._successes(key.scope)
        is_plain = not ended.failed and held.session.is_clean and not held.version.is_on
        if is_plain and (held.version.is_clean or now - successes.told < TELL_SECONDS):
            successes.add(settings.slot(now))
            return None
        told = Ended(ended.failed, ended.probe, successes.take(now))
        return self._change(key, lambda tracks: end(tracks, settings, told, now), held, now)

    def close(self) -> None:
        """Close the files."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        signal, self._signal = self._signal, None
        if signal is not None:
            signal.close()

    def _tracks(self, key: Key) -> Tracks:
        held = self._held
        if not held:
            return _CLEAN
        return Tracks(held.get(Key(key.scope, VERSION), OFF), held.get(key, OFF))

    def _successes(self, scope: str) -> "_Successes":
        found = self._succeeded.get(scope)
        if found is None:
            if len(self._succeeded) >= MOST_TRACKS:
                self._succeeded.clear()
            found = self._succeeded[scope] = _Successes()
        return found

    def _look(self, now: float) -> None:
        """Take over what other workers changed; a read of memory when they did not."""
        if self._is_resting(now):
            return
        signal = -1 if self._signal is None else _NUMBER.unpack_from(self._signal)[0]
        if signal == self._seen_signal and 0.0 <= now - self._looked < LOOK_SECONDS:
            return
        self._looked, self._seen_signal = now, signal
        with suppress(sqlite3.Error, OSError):  # the next change tells it
            for scope, session, body, at, changed in self._open().execute(_NEWS, (self._seen,)):
                key = Key(scope, session)
                if key not in self._untold or at > self._untold[key].since:
                    self._keep(key, _track(body))
                self._seen = changed

    def _is_resting(self, now: float) -> bool:
        """Whether the file is left alone: a change failed just now. abs: the clock may have been set back."""
        return self._path is None or abs(now - self._failed) < ALONE_SECONDS

    def _change(self, key: Key, step: Callable[[Tracks], tuple[Tracks, _T]], held: Tracks, now: float) -> _T:
        """One transition, in one transaction; in memory alone when there is no file."""
        shared = None if self._is_resting(now) else self._shared(key, step, now)
        before, (after, answer) = shared or (held, step(held))
        for name, _, new in _pairs(key, before, after):
            self._keep(name, new)
            self._remember(name, None if shared or self._path is None else new)
        if before.version.is_on is not after.version.is_on:
            log.warning(
                "escalation", version=key.scope, answered_by="rules" if after.version.is_on else "workflow"
            )
        return answer

    def _shared(
        self, key: Key, step: Callable[[Tracks], tuple[Tracks, _T]], now: float
    ) -> tuple[Tracks, tuple[Tracks, _T]] | None:
        """`_transact`; None when it cannot be."""
        try:
            found = self._transact(key, step)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error, now)
            return None
        if self._is_alone:
            log.info("escalations_shared_again", path=str(self._path))
        self._is_alone = False
        return found

    def _transact(
        self, key: Key, step: Callable[[Tracks], tuple[Tracks, _T]]
    ) -> tuple[Tracks, tuple[Tracks, _T]]:
        connection = self._open()
        connection.execute("BEGIN IMMEDIATE")
        try:
            names = (Key(key.scope, VERSION), key)
            rows = [connection.execute(_READ, name).fetchone() or (None, 0.0) for name in names]
            stored = Tracks(*(_track(body) for body, _ in rows))
            before = Tracks(*(self._newest(name, *row) for name, row in zip(names, rows, strict=True)))
            after, answer = step(before)
            changed = [(name, new) for name, old, new in _pairs(key, stored, after) if new != old]
            for name, new in changed:
                connection.execute(_WRITE, (*name, _body(new), new.at))
            self._written += len(changed)
            if changed and self._written >= _PRUNE_EVERY:
                self._written = 0
                connection.execute(_PRUNE, (MOST_TRACKS,))
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        if changed:
            self._tell()
        return before, (after, answer)

    def _tell(self) -> None:
        """After the commit: who sees the number sees the change."""
        if self._signal is not None:
            number = _NUMBER.unpack_from(self._signal)[0]
            _NUMBER.pack_into(self._signal, 0, (number + 1) % (1 << 64))

    def _keep(self, key: Key, track: Track) -> None:
        if track.is_clean:
            self._held.pop(key, None)
            return
        self._held[key] = track
        self._held.move_to_end(key)
        if len(self._held) > MOST_TRACKS:
            self._held.popitem(last=False)

    def _newest(self, key: Key, body: bytes | None, at: float) -> Track:
        """As stored, or as changed here when nobody could write it since."""
        mine = self._untold.get(key)
        return _track(body) if mine is None or at > mine.since else mine.track

    def _remember(self, key: Key, track: Track | None) -> None:
        """What the file does not know yet; None: it does."""
        before = self._untold.pop(key, None)
        if track is not None:
            self._untold[key] = _Untold(track, self._alone_since if before is None else before.since)
            if len(self._untold) > MOST_TRACKS:
                self._untold.popitem(last=False)

    def _open(self) -> sqlite3.Connection:
        """The connection; a new one when the path leads to another file by now."""
        path = self._path
        if path is None:
            raise OSError("this process keeps its escalations to itself")
        if self._connection is not None and _identity(path) != self._opened:
            self.close()
        if self._connection is None:
            uri = f"file:{quote(str(path.absolute()))}?mode=rwc"
            connection = sqlite3.connect(uri, uri=True, timeout=WAIT_MS / 1000, isolation_level=None)
            self._opened = _identity(path)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.executescript(_SCHEMA)
                self._signal = _mapped(path.with_suffix(".signal"))
            except (sqlite3.Error, OSError):
                connection.close()
                raise
            self._connection = connection
            self._seen, self._seen_signal = -1, -1
        return self._connection

    def _give_up(self, error: Exception, now: float) -> None:
        """Count alone for a while; a file that is damaged is set aside, unless another worker did so before.

        The connection stays where it can: opened anew, it would give back rows that are older than what is held.
        """
        if self._path is None:
            return
        self._failed = now
        if not self._is_alone:
            self._alone_since = now
            log.warning("escalations_not_shared", path=str(self._path), error=str(error) or repr(error))
        self._is_alone = True
        is_broken = sqlite_files.is_broken(error)
        # Asked while the file is open: its number is not given to another one.
        is_same = _identity(self._path) == self._opened
        if is_broken or (self._connection is not None and self._connection.in_transaction):
            with suppress(sqlite3.Error):
                self.close()
        if is_broken and is_same:
            with suppress(OSError):
                sqlite_files.set_aside(self._path)


@dataclass(slots=True)
class _Successes:
    """Runs of a version that succeeded here, by part of the window. told: when they were told last."""

    by_slot: dict[int, int] = field(default_factory=dict)
    told: float = float("-inf")
    _latest: int = -1

    def add(self, slot: int) -> None:
        if slot != self._latest:
            self._latest = slot
            self.by_slot = {old: ran for old, ran in self.by_slot.items() if 0 <= slot - old < 16}
        self.by_slot[slot] = self.by_slot.get(slot, 0) + 1

    def take(self, now: float) -> tuple[Count, ...]:
        found = tuple(Count(slot, 0, ran) for slot, ran in self.by_slot.items())
        self.by_slot, self.told = {}, now
        return found


_CLEAN: Final = Tracks()


def _pairs(key: Key, before: Tracks, after: Tracks) -> tuple[tuple[Key, Track, Track], ...]:
    return (
        (Key(key.scope, VERSION), before.version, after.version),
        (key, before.session, after.session),
    )


def _body(track: Track) -> bytes | None:
    if track.is_clean:
        return None
    return orjson.dumps(asdict(track) | {"counts": [tuple(one) for one in track.counts]})


def _track(body: bytes | None) -> Track:
    """As it was written; what cannot be read holds nothing against anybody."""
    if body is None:
        return OFF
    try:
        values: dict[str, Any] = orjson.loads(body)
        return Track(**values | {"counts": tuple(Count(*one) for one in values["counts"])})
    except (ValueError, KeyError, TypeError):
        return OFF


def _mapped(path: Path) -> mmap.mmap:
    """Eight bytes that all workers see. They say when to look and nothing else."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.posix_fallocate(handle, 0, _NUMBER.size)  # a hole could not be filled on a full disk: SIGBUS
        return mmap.mmap(handle, _NUMBER.size)
    finally:
        os.close(handle)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file the path leads to."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
