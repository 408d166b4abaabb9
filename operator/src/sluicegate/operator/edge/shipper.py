"""Brings the workers' spools to the lineage process: every byte at least once there, in order, deleted here only then.

    spool/<worker>-<id>-<n>.spool ── PUT at the size that is safe there ──► lineage process
         deleted when its writer is gone, all of it is safe there, and it was told that nothing follows

Where a segment stands is the lineage process's to say, so a kill on either side needs no repair. Workers are told
how far the store is (`ingested.json`), which is what their pressure levels count by. One chunk is in memory at a time.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import orjson
import structlog

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Conflict, Refused, SluicegateError
from sluicegate.lineage import segments
from sluicegate.lineage.segments import Segment
from sluicegate.lineage.spool import POSITIONS
from sluicegate.operator.cluster.remote import refused_gap
from sluicegate.operator.lineage_server import wire
from sluicegate.operator.lineage_server.wire import Received
from sluicegate.operator.ports import LoopClock

PAUSE: Final = 0.2
"""Seconds between two looks at spools without anything new."""
WORST: Final = 10.0
SPEAK: Final = 1800.0
"""A living segment without news is spoken of so often, so that nobody takes it for abandoned."""
LOST: Final = ".lost"
"""Suffix of a segment that the lineage process will not take any more; it is kept for people."""
log = structlog.get_logger(__name__)


class Client(Protocol):
    """`remote.LineageClient`."""

    async def call(
        self, method: str, path: str, body: bytes = b"", *, query: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Status (2xx or 409) and body."""
        ...


@dataclass(slots=True)
class _Place:
    """Of one segment at the lineage process. size None: it was not asked yet. stuck: why it is not taken; tried `again`."""

    size: int | None = None
    spoken: float = 0.0
    stuck: str | None = None
    failures: int = 0
    again: float = float("-inf")


@dataclass(slots=True, kw_only=True)
class Shipper:
    """One per spool folder; `run` until cancelled. on_lag: bytes that are here only; on_failure: a try failed.

    A writer whose runs are not taken pauses alone.
    """

    spool: Path
    gateway: str
    client: Client
    clock: LoopClock
    on_lag: Callable[[int], None]
    on_failure: Callable[[], None]
    failing: str | None = None
    _is_away: bool = False
    _segments: dict[str, Segment] = field(default_factory=dict)
    _places: dict[str, _Place] = field(default_factory=dict)
    _published: dict[str, int] = field(default_factory=dict)

    async def run(self) -> None:
        """Ship for ever; a failure is told once, and tried again with growing pauses."""
        failures = 0
        while True:
            moved = await self.step()
            failures = failures + 1 if self._is_away else 0
            if failures:
                await self.clock.sleep(_pause(failures))
            elif not moved:
                await self.clock.sleep(PAUSE)

    async def drain(self, seconds: float) -> bool:
        """Ship what is left, for `seconds` at most. Whether all is there."""
        try:
            async with asyncio.timeout(seconds):
                while (moved := await self.step()) or self._segments:
                    if not moved:
                        await self.clock.sleep(PAUSE)
        except TimeoutError:
            return False
        return True

    async def step(self) -> bool:
        """One chunk of every writer that has news. Whether there may be more at once; `failing` says what went wrong."""
        moved, away = False, None
        try:
            segments.discover(self.spool, self._segments, {})
            for group in segments.in_turn(self._segments):
                moved = await self._try_first(group) or moved
        except (SluicegateError, OSError) as error:
            moved, away = False, str(error)
            self.on_failure()
        self._is_away = away is not None
        self._say(away or self._stuck())
        self._tell()
        return moved

    def close(self) -> None:
        """Close the files."""
        for segment in self._segments.values():
            segment.close()
        self._segments.clear()

    def _stuck(self) -> str | None:
        """Why a writer's runs are not taken."""
        places = [self._places.get(name) for name in self._segments]
        return next((place.stuck for place in places if place and place.stuck), None)

    def _say(self, failing: str | None) -> None:
        if failing is not None and self.failing is None:
            log.warning("runs_not_shipped", error=failing)
        if failing is None and self.failing is not None:
            log.info("runs_shipped_again")
        self.failing = failing

    async def _try_first(self, group: list[Segment]) -> bool:
        """Unless it failed a moment ago."""
        place = self._places.setdefault(group[0].name, _Place())
        if self.clock.monotonic() < place.again:
            return False
        try:
            moved = await self._ship_first(group)
        except (Refused, OSError) as error:  # of this writer alone; the others go on
            place.stuck, place.failures = str(error), place.failures + 1
            place.again = self.clock.monotonic() + _pause(place.failures)
            self.on_failure()
            return False
        place.stuck, place.failures = None, 0
        return moved

    async def _ship_first(self, group: list[Segment]) -> bool:
        """The writer's oldest segment: a later one waits until it is finished there."""
        segment = group[0]
        worker = wire.parts_of(segment.name)
        if worker is None:
            log.error("segment_not_shipped", segment=segment.name, reason="its name is none of a worker's")
            self._set_aside(segment)
            return True
        path = wire.PATH.format(gateway=self.gateway, worker=worker[0], segment=worker[1])
        place = self._places.setdefault(segment.name, _Place())
        segment.look(followed=len(group) > 1)
        if place.size is None:
            found = await self._asked("GET", path)
            if found.finished:
                return self._finished(segment, found)
            place.size, place.spoken = found.size, self.clock.monotonic()
        size = segment.size  # after `look`, so that a segment without a writer is taken to its true end
        data = await asyncio.to_thread(_chunk, segment.path, place.size, size)
        final = segment.final and place.size + len(data) >= size
        quiet = self.clock.monotonic() - place.spoken < SPEAK
        if not data and not final and quiet:
            return False
        return await self._put(segment, path, place, data, final=final)

    async def _put(self, segment: Segment, path: str, place: _Place, data: bytes, *, final: bool) -> bool:
        offset = place.size or 0
        query = {"offset": str(offset)} | ({"final": "1"} if final else {})
        try:
            found = await self._asked("PUT", path, data, query)
        except Conflict as error:
            log.error("runs_refused", segment=segment.name, reason=str(error))  # noqa: TRY400 - expected
            self._set_aside(segment)
            return True
        if found.finished:
            return self._finished(segment, found)
        place.size, place.spoken = found.size, self.clock.monotonic()
        segment.position = min(found.size, segment.size)
        return bool(data)

    async def _asked(
        self, method: str, path: str, body: bytes = b"", query: dict[str, str] | None = None
    ) -> Received:
        code, answer = await self.client.call(method, path, body, query=query)
        refused_gap(code, answer)
        return wire.decode(wire.RECEIVED, answer)

    def _finished(self, segment: Segment, found: Received) -> bool:
        if found.size < segment.size:
            reason = f"finished there with {found.size} of {segment.size} bytes"
            log.error("runs_refused", segment=segment.name, reason=reason)
            self._set_aside(segment)
            return True
        segment.path.unlink(missing_ok=True)
        self._forget(segment)
        return True

    def _set_aside(self, segment: Segment) -> None:
        segment.path.replace(segment.path.with_suffix(LOST))
        self._forget(segment)

    def _forget(self, segment: Segment) -> None:
        segment.close()
        del self._segments[segment.name]
        self._places.pop(segment.name, None)

    def _tell(self) -> None:
        """Writers need it for back-pressure only, so errors do not matter."""
        self.on_lag(sum(max(0, one.size - one.position) for one in self._segments.values()))
        positions = {name: one.position for name, one in self._segments.items()}
        if positions == self._published:
            return
        draft = self.spool / f".{POSITIONS}"
        try:
            draft.write_bytes(orjson.dumps(positions))
            draft.replace(self.spool / POSITIONS)
            self._published = positions
        except OSError:
            self._published = {}


def _pause(failures: int) -> float:
    """Seconds."""
    return system.jitter(min(WORST, PAUSE * 2.0 ** min(failures, 10))) + 0.05


def _chunk(path: Path, start: int, size: int) -> bytes:
    """The next bytes, at most a request full."""
    wanted = min(wire.CHUNK, size - start)
    if wanted <= 0:
        return b""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, wanted, start)
    finally:
        os.close(fd)
