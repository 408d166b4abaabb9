"""A writer never fails an answer: it writes whole lines with one write, or counts what it could not."""

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from sluicegate.lineage import entries, segments, spool
from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.spool import Pressure, SpoolLimits, SpoolWriter
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import at, observed, run

RUN, OBS = entries.encode_run(run()), entries.encode_observation(observed())
OUTCOME = entries.encode_outcome("run-000001", at=at(1), reward=1.0)


def files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.spool"))


def test_lines_of_one_append_are_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    real = os.write

    def counted(fd: int, data: memoryview) -> int:
        writes.append(len(data))
        return real(fd, data)

    monkeypatch.setattr(os, "write", counted)
    writer = SpoolWriter(tmp_path, "w0")
    assert writer.append(RUN, OBS)
    assert writes == [len(RUN) + len(OBS)]
    assert files(tmp_path)[0].read_bytes() == RUN + OBS
    writer.close()


def test_a_full_segment_is_followed_by_the_next(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path, "w0", limits=SpoolLimits(segment=3 * len(OBS)))
    for _ in range(7):
        assert writer.append(OBS)
    writer.close()
    assert [path.read_bytes() for path in files(tmp_path)] == [OBS * 3, OBS * 3, OBS]
    assert [path.name[-13:] for path in files(tmp_path)] == [f"-{n:06d}.spool" for n in range(3)]


def test_two_writers_of_one_worker_never_share_a_segment(tmp_path: Path) -> None:
    writers = [SpoolWriter(tmp_path, "w0") for _ in range(2)]
    for writer in writers:
        writer.append(OBS)
        writer.close()
    assert [path.read_bytes() for path in files(tmp_path)] == [OBS, OBS]


def test_the_lock_is_the_sign_of_life(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path, "w0")
    writer.append(OBS)
    segment = segments.Segment(files(tmp_path)[0], 0)
    segment.look(followed=False)
    assert not segment.final
    writer.close()
    segment.look(followed=False)
    assert segment.final
    segment.close()


LEVELS = {
    "nothing waits": (0, Pressure.NORMAL, (True, True, True)),
    "a little waits": (10, Pressure.NORMAL, (True, True, True)),
    "bodies are too much": (11, Pressure.DROP_BODIES, (True, True, True)),
    "documents are too much": (21, Pressure.DROP_RUNS, (False, True, True)),
    "everything is too much": (31, Pressure.DROP_ALL, (False, False, False)),
}


@pytest.mark.parametrize(("waiting", "level", "written"), LEVELS.values(), ids=LEVELS.keys())
def test_pressure_gives_up_bodies_then_documents_then_facts(
    tmp_path: Path, waiting: int, level: Pressure, written: tuple[bool, ...]
) -> None:
    (tmp_path / "other-1-000000.spool").write_bytes(b"x" * (waiting + 5))
    (tmp_path / "other-1-000001.spool").write_bytes(b"x" * 7)
    (tmp_path / spool.POSITIONS).write_bytes(
        orjson.dumps({"other-1-000000.spool": 5, "other-1-000001.spool": 7})
    )
    writer = SpoolWriter(tmp_path, "w0", limits=SpoolLimits(drop_bodies=10, drop_runs=20, drop_all=30))
    assert writer.pressure is level
    writer.append(RUN, OBS, OUTCOME)
    writer.close()
    found = b"".join(path.read_bytes() for path in files(tmp_path) if path.name.startswith("w0"))
    assert found == b"".join(line for line, kept in zip((RUN, OBS, OUTCOME), written, strict=True) if kept)
    assert writer.counts.written == sum(written)
    assert writer.counts.dropped == 3 - sum(written)


def test_the_directory_is_looked_at_once_a_second_at_most(tmp_path: Path) -> None:
    clock = [0.0]
    writer = SpoolWriter(tmp_path, "w0", limits=SpoolLimits(drop_bodies=10), monotonic=lambda: clock[0])
    seen = [writer.pressure]
    (tmp_path / "other-1-000000.spool").write_bytes(b"x" * 11)
    for clock[0] in (0.9, 1.0):
        seen.append(writer.pressure)
    assert seen == [Pressure.NORMAL, Pressure.NORMAL, Pressure.DROP_BODIES]


def test_no_directory_is_counted_and_tried_again(tmp_path: Path) -> None:
    directory = tmp_path / "spool"
    directory.write_text("in the way")
    writer = SpoolWriter(directory, "w0")
    assert not writer.append(RUN, OBS)
    assert (writer.counts.errors, writer.counts.lost) == (1, 2)
    directory.unlink()
    assert writer.append(OBS)
    writer.close()
    assert files(directory)[0].read_bytes() == OBS


FULL_DISK = """
import resource, sys
from pathlib import Path
from sluicegate.lineage.spool import SpoolWriter
lines = [line + b"\\n" for line in sys.stdin.buffer.read().splitlines()]
writer = SpoolWriter(Path(sys.argv[1]), "w0")
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (len(lines[0]) * 5 // 2, hard))  # the kernel writes short, then refuses
answers = [writer.append(line) for line in lines[:4]]
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
answers += [writer.append(line) for line in lines[4:]]
print(*map(int, answers), writer.counts.lost)
"""


def test_a_disk_that_fills_in_the_middle_of_a_line_costs_no_acknowledged_line(tmp_path: Path) -> None:
    lines = [entries.encode_observation(observed(f"run-{n:06d}")) for n in range(6)]
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        input=b"".join(lines),
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"1", b"1", b"0", b"0", b"1", b"1", b"2"]
    store = LineageStore(tmp_path / "lineage.db")
    ingester = Ingester(tmp_path, store)
    ingester.step(at(10))
    found = store.observations(observed().key, after=0)
    assert [observation.unit for observation in found] == [
        "run-000000",
        "run-000001",
        "run-000004",
        "run-000005",
    ]
    assert store.counts()["torn_total"] == 1
    ingester.close()
    store.close()
