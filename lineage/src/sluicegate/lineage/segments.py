"""The reading side of a spool: whole lines from a position on, and whether more can come."""

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sluicegate.lineage.spool import SUFFIX

_CHUNK: Final = 64 << 10


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its newline, and the position after it. torn: nothing will ever complete it."""

    data: bytes
    end: int
    torn: bool = False


class Segment:
    """One open segment. `position` moves only when the store has what lies before it."""

    def __init__(self, path: Path, position: int) -> None:
        self.name = path.name
        self.path = path
        self.writer = self.name.rpartition("-")[0]
        self.position = position
        self.final = False
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @property
    def size(self) -> int:
        """Bytes in the file now."""
        return os.fstat(self._fd).st_size

    @property
    def finished(self) -> bool:
        """Everything is read and nothing can follow."""
        return self.final and self.position >= self.size

    def look(self, *, followed: bool) -> None:
        """Find out whether its writer has gone: it holds a lock while it lives, and fills one segment at a time.
        To be called before `lines`, so that a final segment is read to its true end.
        """
        self.final = self.final or followed or self._unlocked()

    def lines(self, budget: int) -> Iterator[Line]:
        """About `budget` bytes of whole lines after `position`; the torn end of a final segment comes as torn."""
        start, size = self.position, self.size
        data = b""
        want = max(budget, _CHUNK)
        while start + len(data) < size:
            data += os.pread(self._fd, want, start + len(data))
            if b"\n" in data:
                break
            want *= 2
        whole = data.rfind(b"\n") + 1
        end = start
        for piece in data[:whole].split(b"\n")[:-1]:
            end += len(piece) + 1
            yield Line(piece, end)
        if self.final and whole < len(data) and start + len(data) >= size:
            yield Line(data[whole:], start + len(data), torn=True)

    def has_line_after(self, position: int) -> bool:
        """Whether a whole line follows `position`."""
        while chunk := os.pread(self._fd, _CHUNK, position):
            if b"\n" in chunk:
                return True
            position += len(chunk)
        return False

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _unlocked(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        return True


def discover(directory: Path, known: dict[str, Segment], positions: dict[str, int]) -> None:
    """Open segments that `known` lacks; positions: where to begin."""
    try:
        with os.scandir(directory) as entries:
            names = {entry.name for entry in entries if _is_segment(entry)}
    except FileNotFoundError:
        return
    for name in sorted(names - known.keys()):
        try:
            known[name] = Segment(directory / name, positions.get(name, 0))
        except FileNotFoundError:
            continue


def _is_segment(entry: os.DirEntry[str]) -> bool:
    """A folder or link of that name is not a writer's, and must not hold up the others."""
    return entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)


def in_turn(segments: dict[str, Segment]) -> list[list[Segment]]:
    """Segments by writer, each writer's in the order of writing."""
    groups: dict[str, list[Segment]] = {}
    for name in sorted(segments):
        groups.setdefault(segments[name].writer, []).append(segments[name])
    return list(groups.values())
