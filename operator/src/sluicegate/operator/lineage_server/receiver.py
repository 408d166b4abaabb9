"""Takes segments of spools in, byte for byte as gateways have them.

A segment lies in the ingester's folder under the name that it has at the gateway, held under flock until the gateway says
that nothing follows: to the ingester this process is its living writer. What is answered as received is on disk (fsync),
so a gateway may delete a finished segment. A segment that is finished is remembered when the ingester has long deleted
it; the same bytes again change nothing.
"""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sluicegate.contracts.errors import Conflict
from sluicegate.lineage.spool import SUFFIX
from sluicegate.operator.lineage_server.wire import Received

DAY: Final = 86_400.0
ABANDONED: Final = 7 * DAY
"""A segment of which its gateway said nothing for so long is finished; a living gateway speaks of each every hour."""
REMEMBERED: Final = 90 * DAY


class Ledger:
    """Finished segments and their sizes, on disk before the call returns."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA synchronous = FULL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS finished"
            " (name TEXT PRIMARY KEY, size INTEGER NOT NULL, at REAL NOT NULL) WITHOUT ROWID"
        )

    def size(self, name: str) -> int | None:
        """Of a finished segment; None when it is not."""
        with self._lock:
            found = self._file.execute("SELECT size FROM finished WHERE name = ?", (name,)).fetchone()
        return found[0] if found else None

    def finish(self, name: str, size: int, at: float) -> None:
        """Remember, and forget what is very old."""
        with self._lock:
            self._file.execute("INSERT OR IGNORE INTO finished VALUES (?, ?, ?)", (name, size, at))
            self._file.execute("DELETE FROM finished WHERE at < ?", (at - REMEMBERED,))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


@dataclass(slots=True)
class _Open:
    """A segment that may grow. One thread at a time works on it."""

    fd: int
    size: int
    spoken: float
    lock: threading.Lock = field(default_factory=threading.Lock)


class Receiver:
    """One per folder. Safe to use from any thread. seconds: Unix time."""

    def __init__(self, spool: Path, ledger: Ledger, seconds: Callable[[], float]) -> None:
        self._spool, self._ledger, self._seconds = spool, ledger, seconds
        self._open: dict[str, _Open] = {}
        self._lock = threading.Lock()

    def adopt(self) -> int:
        """Take up what an earlier process left, before an ingester looks at the folder. How many may still grow."""
        self._spool.mkdir(parents=True, exist_ok=True)
        for draft in self._spool.glob("*.new"):
            draft.unlink()
        for path in sorted(self._spool.glob(f"*{SUFFIX}")):
            if self._ledger.size(path.name) is None:
                fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.fsync(fd)
                found = os.fstat(fd)
                self._open[path.name] = _Open(fd, found.st_size, found.st_mtime)
        return len(self._open)

    def received(self, name: str) -> Received:
        """How far the segment is here."""
        with self._lock:
            held = self._open.get(name)
        if held is not None:
            return Received(held.size)
        size = self._ledger.size(name)
        return Received(0) if size is None else Received(size, finished=True)

    def take(self, name: str, offset: int, data: bytes, *, final: bool) -> Received:
        """Append what is new of `data`, which stands at `offset` in the segment. Nothing is written when there is a gap
        (the answer's size is below `offset`). final: nothing follows it. Conflict when a finished segment has more.
        """
        held = self._held(name, opens=offset == 0)
        if held is None:
            return Received(0) if self._is_unknown(name) else self._again(name, offset + len(data))
        with held.lock:
            if self._open.get(name) is not held:  # finished meanwhile by the same request, sent twice
                return self._again(name, offset + len(data))
            held.spoken = self._seconds()
            if offset > held.size:
                return Received(held.size)
            self._append(held, data[held.size - offset :])
            if final and held.size == offset + len(data):
                self._finish(name, held)
                return Received(held.size, finished=True)
            return Received(held.size)

    def expire(self) -> tuple[str, ...]:
        """Finish segments whose gateway is gone for good; their names."""
        until = self._seconds() - ABANDONED
        with self._lock:
            old = [(name, held) for name, held in self._open.items() if held.spoken < until]
        finished = []
        for name, held in old:
            with held.lock:
                if (
                    self._open.get(name) is held and held.spoken < until
                ):  # its gateway may have come back just now
                    self._finish(name, held)
                    finished.append(name)
        return tuple(finished)

    def growing(self) -> int:
        """Segments that may grow."""
        return len(self._open)

    def close(self) -> None:
        """Let go of the files; another process may adopt them."""
        with self._lock:
            for held in self._open.values():
                os.close(held.fd)
            self._open.clear()

    def _again(self, name: str, end: int) -> Received:
        size = self._ledger.size(name) or 0
        if end > size:
            raise Conflict(f"segment {name} was finished with {size} bytes; {end - size} more are not taken")
        return Received(size, finished=True)

    def _is_unknown(self, name: str) -> bool:
        with self._lock:
            return name not in self._open and self._ledger.size(name) is None

    def _held(self, name: str, *, opens: bool) -> _Open | None:
        with self._lock:
            held = self._open.get(name)
            if held is None and opens and self._ledger.size(name) is None:
                held = self._open[name] = self._made(name)
            return held

    def _made(self, name: str) -> _Open:
        """Locked before it has its name: the ingester never sees it without its writer."""
        path = self._spool / name
        draft = path.with_suffix(".new")
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.rename(path)
            _sync(self._spool)
        except OSError:
            os.close(fd)
            raise
        return _Open(fd, 0, self._seconds())

    def _append(self, held: _Open, data: bytes) -> None:
        """At the end of what is safe: what a failed write left behind it is written over with the same bytes."""
        if not data:
            return
        view, end = memoryview(data), held.size
        while view:
            written = os.pwrite(held.fd, view, end)
            view, end = view[written:], end + written
        os.fsync(held.fd)
        held.size = end

    def _finish(self, name: str, held: _Open) -> None:
        """What a failed write left behind the safe end goes: the gateway was never told of it."""
        os.ftruncate(held.fd, held.size)
        self._ledger.finish(name, held.size, self._seconds())
        with self._lock:
            del self._open[name]
        os.close(held.fd)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
