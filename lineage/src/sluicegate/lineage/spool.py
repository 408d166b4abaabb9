"""The writing side of a spool: a worker appends lines, an ingester moves them to the store.

A segment is `<worker>-<uuid>-<n>.spool`, opened O_APPEND and held under flock as long as its writer lives: the
lock is the sign of life (kill -9 releases it). One append call is one write(2): what it returned True for is
in the kernel and survives kill -9 of the process (not a power cut: there is no fsync). A kill inside of it may leave
its first part: the kernel stops between two pages. Single threaded.

Nothing here raises or waits for the ingester: an error of the disk is counted and the next append tries again.
"""

import fcntl
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

import orjson

from sluicegate.contracts.adapters.system import uuid7

SUFFIX: Final = ".spool"
POSITIONS: Final = "ingested.json"
"""Written by the ingester: segment -> bytes that are safely in the store."""


class Pressure(IntEnum):
    """How far ingestion is behind; a higher level gives up more, facts last."""

    NORMAL = 0
    DROP_BODIES = 1  # encode runs with bodies=False
    DROP_RUNS = 2  # run documents are dropped here; observations and outcomes are kept
    DROP_ALL = 3  # everything is dropped and counted


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolLimits:
    """Bytes. The pressure levels count what is in the spool directory and not yet in the store."""

    segment: int = 16 << 20
    drop_bodies: int = 256 << 20
    drop_runs: int = 512 << 20
    drop_all: int = 1 << 30
    look_seconds: float = 1.0  # how often the directory is looked at, at most


@dataclass(slots=True)
class SpoolCounts:
    """What this writer did: lines written, dropped under pressure, lost to errors; errors of the disk."""

    written: int = 0
    dropped: int = 0
    lost: int = 0
    errors: int = 0


class SpoolWriter:
    """One worker's way to the store. See the module for what is promised."""

    def __init__(
        self,
        directory: Path,
        worker: str,
        *,
        limits: SpoolLimits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts = SpoolCounts()
        self._directory = directory
        self._name = f"{worker.replace('/', '_')}-{uuid7().replace('-', '')}"
        self._limits = limits or SpoolLimits()
        self._monotonic = monotonic
        self._looked = float("-inf")
        self._pressure = Pressure.NORMAL
        self._fd: int | None = None
        self._number = 0
        self._size = 0
        self._torn = False  # the last write stopped in the middle of a line

    @property
    def pressure(self) -> Pressure:
        """The level now; looks at the directory at most every `look_seconds`."""
        now = self._monotonic()
        if now - self._looked >= self._limits.look_seconds:
            self._looked = now
            self._pressure = self._level(backlog(self._directory))
        return self._pressure

    def append(self, *lines: bytes) -> bool:
        """Write encoded entries with one write(2). True: all that pressure allows is in the kernel."""
        kept = self._admitted(lines)
        if not kept:
            return not lines
        data = b"".join(kept)
        try:
            self._write(data)
        except OSError:
            self.counts.errors += 1
            self.counts.lost += len(kept)
            return False
        self.counts.written += len(kept)
        if self._size >= self._limits.segment:
            self.close()
        return True

    def close(self) -> None:
        """Give up the segment; the ingester may finish and delete it. A later append opens the next one."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _admitted(self, lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
        level = self.pressure
        if level < Pressure.DROP_RUNS:
            return lines
        kept = () if level is Pressure.DROP_ALL else tuple(x for x in lines if not x.startswith(_RUN))
        self.counts.dropped += len(lines) - len(kept)
        return kept

    def _write(self, data: bytes) -> None:
        fd = self._segment()
        if self._torn:  # end the torn line, so that it cannot swallow this one
            data = b"\n" + data
        view = memoryview(data)
        try:
            while view:
                written = os.write(fd, view)
                self._size += written
                view = view[written:]
        finally:
            if len(view) < len(data):  # all, or the first part of it, is in the file
                self._torn = len(view) > 0

    def _segment(self) -> int:
        if self._fd is not None:
            return self._fd
        self._directory.mkdir(parents=True, exist_ok=True)
        path = self._directory / f"{self._name}-{self._number:06d}{SUFFIX}"
        # Locked before it has its name: an ingester never sees a living writer's segment unlocked.
        hidden = path.with_suffix(".new")
        fd = os.open(hidden, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            hidden.rename(path)
        except OSError:
            os.close(fd)
            raise
        self._fd, self._size, self._torn = fd, 0, False
        self._number += 1
        return fd

    def _level(self, waiting: int) -> Pressure:
        limits = self._limits
        steps = (limits.drop_bodies, limits.drop_runs, limits.drop_all)
        return Pressure(sum(waiting > step for step in steps))


_RUN: Final = b'{"t":"run"'


def backlog(directory: Path) -> int:
    """Bytes in the directory's segments that the ingester has not yet reported as stored; 0 on any error."""
    try:
        with os.scandir(directory) as entries:
            sizes = {entry.name: entry.stat().st_size for entry in entries if entry.name.endswith(SUFFIX)}
    except OSError:
        return 0
    done = read_positions(directory)
    return sum(max(0, size - done.get(name, 0)) for name, size in sizes.items())


def read_positions(directory: Path) -> dict[str, int]:
    """What the ingester reported last; empty when it never did."""
    try:
        data = orjson.loads((directory / POSITIONS).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return {str(k): int(v) for k, v in data.items()} if isinstance(data, dict) else {}
