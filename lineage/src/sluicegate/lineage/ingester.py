"""Moves spools into the store, exactly once, whatever is killed when.

The positions in the segments are committed in the transaction of the entries before them, so a restart goes on
after the last commit. Units are closed only when everything that was in the spool at a moment is stored; the
moment is then `now` of the closing rule, and a backlog cannot close a session before its runs are read.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import orjson

from sluicegate.lineage import documents, segments
from sluicegate.lineage.documents import Parsed
from sluicegate.lineage.entries import MalformedError
from sluicegate.lineage.evidence import CLOSE_AT_ONCE
from sluicegate.lineage.ports import OnEntry
from sluicegate.lineage.segments import Line, Segment
from sluicegate.lineage.spool import POSITIONS
from sluicegate.lineage.store import Batch, LineageStore

DEAD_LETTERS: Final = "dead-letters.ndjson"
_DEAD_LETTERS_BYTES: Final = 16 << 20
_DEAD_LINE_BYTES: Final = 64 << 10
_PUBLISH_EVERY: Final = timedelta(seconds=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What one step did. lag_bytes: what is left in the spool, complete or not; rejected: torn and dead lines."""

    entries: int = 0
    bytes: int = 0
    lag_bytes: int = 0
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class _Mark:
    """A moment, and how long each segment was at it."""

    now: datetime
    sizes: dict[str, int]


@dataclass(slots=True)
class _Gathered:
    """Lines on their way into one transaction."""

    entries: list[Parsed] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


class Ingester:
    """One per store, used by one thread. `step` never waits: call it again at once while it has lag, else after
    a short pause. `on_entry` sees each entry at most once, after its commit; a kill between the two leaves
    entries of that one transaction unseen.
    """

    def __init__(
        self,
        spool: Path,
        store: LineageStore,
        on_entry: OnEntry | None = None,
        *,
        step_bytes: int = 1 << 20,
        batch: int = 500,
    ) -> None:
        self._spool, self._store, self._on_entry = spool, store, on_entry
        self._step_bytes, self._batch = step_bytes, batch
        self._segments: dict[str, Segment] = {}
        self._positions: dict[str, int] | None = None
        self._mark: _Mark | None = None
        self._turn = 0
        self._published: tuple[datetime | None, dict[str, int]] = (None, {})

    def step(self, now: datetime) -> Progress:
        """Read what is new (bounded, every writer in turn), store it, close units that are due at `now`."""
        self._open()
        if self._mark is None:
            self._mark = _Mark(now, {name: segment.size for name, segment in self._segments.items()})
        before = self._read_total()
        gathered = _Gathered()
        entries = rejected = 0
        for segment, line in self._lines():
            self._take(gathered, segment, line, now)
            if len(gathered.entries) >= self._batch:
                entries, rejected = entries + len(gathered.entries), rejected + gathered.counts.total()
                self._commit(gathered, None)
                gathered = _Gathered()
        entries, rejected = entries + len(gathered.entries), rejected + gathered.counts.total()
        self._finish(gathered)
        read = self._read_total() - before
        self._delete()
        self._publish(now)
        return Progress(entries=entries, bytes=read, lag_bytes=self._lag(), rejected=rejected)

    def close(self) -> None:
        """Close the segments' files."""
        for segment in self._segments.values():
            segment.close()
        self._segments.clear()
        self._positions = None

    def _open(self) -> None:
        if self._positions is None:
            self._positions = self._store.positions()
            segments.discover(self._spool, self._segments, self._positions)
            gone = self._positions.keys() - self._segments.keys()
            if gone:  # killed between deleting the file and forgetting it
                self._store.forget_segments(gone)
        else:
            segments.discover(self._spool, self._segments, {})

    def _lines(self) -> Iterator[tuple[Segment, Line]]:
        groups = segments.in_turn(self._segments)
        if not groups:
            return
        self._turn = (self._turn + 1) % len(groups)
        left = self._step_bytes
        share = max(left // len(groups), 1)
        for group in groups[self._turn :] + groups[: self._turn]:
            used = 0
            for place, segment in enumerate(group):
                segment.look(followed=place + 1 < len(group))
                start = end = segment.position  # which moves with every commit
                for line in segment.lines(share - used):
                    end = line.end
                    yield segment, line
                used += end - start
                if used >= share or end < segment.size:  # the next one is the same writer's later work
                    break

    def _take(self, gathered: _Gathered, segment: Segment, line: Line, now: datetime) -> None:
        gathered.positions[segment.name] = line.end
        if not line.data:  # a writer ends a torn line with a newline of its own
            return
        if line.torn:
            gathered.counts["torn"] += 1
            return
        try:
            gathered.entries.append(documents.parse(line.data))
        except MalformedError as error:
            torn = str(error).startswith("not JSON")
            gathered.counts["torn" if torn else "dead_letters"] += 1
            self._bury(segment.name, line, str(error), now)

    def _finish(self, gathered: _Gathered) -> None:
        """The last transaction of a step; closes units when the mark is reached."""
        mark = self._mark
        reached = mark is not None and all(
            gathered.positions.get(name, self._segments[name].position) >= size
            for name, size in mark.sizes.items()
            if name in self._segments and not self._is_tail(name, gathered)
        )
        if mark is None or not reached:
            if gathered.positions:
                self._commit(gathered, None)
            return
        self._mark = None
        if not gathered.positions and not self._store.has_due(mark.now):
            return
        closed = self._commit(gathered, mark.now)
        while closed >= CLOSE_AT_ONCE:
            closed = self._commit(_Gathered(), mark.now)

    def _is_tail(self, name: str, gathered: _Gathered) -> bool:
        """What is left of the segment is one line that its writer has not ended: nothing to wait for."""
        segment = self._segments[name]
        return not segment.has_line_after(gathered.positions.get(name, segment.position))

    def _commit(self, gathered: _Gathered, close_at: datetime | None) -> int:
        counts = self._store.commit(
            Batch(
                entries=gathered.entries,
                positions=gathered.positions,
                counts=gathered.counts,
                close=close_at is not None,
                now=close_at,
            )
        )
        for name, position in gathered.positions.items():
            self._segments[name].position = position
        if self._on_entry is not None:
            for parsed in gathered.entries:
                self._on_entry(parsed.entry)
        return counts["units"]

    def _delete(self) -> None:
        """File first, then its position: the other way round a kill would read it again from the start."""
        finished = [segment for segment in self._segments.values() if segment.finished]
        for segment in finished:
            segment.path.unlink(missing_ok=True)
            segment.close()
            del self._segments[segment.name]
        if finished:
            self._store.forget_segments([segment.name for segment in finished])

    def _read_total(self) -> int:
        return sum(segment.position for segment in self._segments.values())

    def _lag(self) -> int:
        return sum(max(0, segment.size - segment.position) for segment in self._segments.values())

    def _publish(self, now: datetime) -> None:
        """Tell writers how far the store is; they need it for back-pressure only, so errors do not matter."""
        at, last = self._published
        positions = {name: segment.position for name, segment in self._segments.items()}
        if positions == last or (at is not None and timedelta(0) <= now - at < _PUBLISH_EVERY):
            return
        self._published = (now, positions)
        draft = self._spool / f".{POSITIONS}"
        try:
            draft.write_bytes(orjson.dumps(positions))
            draft.replace(self._spool / POSITIONS)
        except OSError:
            self._published = (now, {})

    def _bury(self, segment: str, line: Line, reason: str, now: datetime) -> None:
        """Keep a line that cannot be stored, for people; at least once, bounded, never in the way."""
        record = {
            "at": now,
            "segment": segment,
            "end": line.end,
            "reason": reason,
            "line": line.data[:_DEAD_LINE_BYTES].decode(errors="replace"),
        }
        path = self._spool / DEAD_LETTERS
        try:
            fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return
        try:
            if os.fstat(fd).st_size < _DEAD_LETTERS_BYTES:
                os.write(fd, orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        except OSError:
            return
        finally:
            os.close(fd)
