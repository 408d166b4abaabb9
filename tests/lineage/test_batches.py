"""However a spool is cut into steps, transactions and restarts, the same observations come out."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sluicegate.contracts.evidence import Observation
from sluicegate.contracts.runs import Arm, RunOutcome
from sluicegate.lineage import entries, segments
from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.spool import SpoolLimits, SpoolWriter
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import SHADOW, at, facts, observed, run

WINDOW = 4.0
KINDS = ("instant", "session", "expects", "outcome", "after", "pair")

events = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=25
)
plans = st.lists(
    st.tuples(
        st.integers(1, 6),  # lines to append
        st.sampled_from(("step", "step", "restart", "nothing")),
    ),
    min_size=1,
    max_size=25,
)


def lines_of(story: Sequence[tuple[str, int, int]]) -> list[bytes]:
    """One line per second: what happened, of which session or run, with what success or reward."""
    lines = []
    for second, (kind, which, grade) in enumerate(story):
        lines.append(_line(kind, f"run-{second:06d}", second, which, grade / 4))
    return lines


def _line(kind: str, run_id: str, second: int, which: int, grade: float) -> bytes:
    earlier = f"run-{max(0, second - 1 - which):06d}"
    waiting: dict[str, Any] = {"window_seconds": WINDOW}
    match kind:
        case "outcome":
            failed = RunOutcome.FAILED if which == 0 else None
            return entries.encode_outcome(earlier, at=at(second), reward=grade, outcome=failed)
        case "after":
            return entries.encode_after(earlier, Arm.STABLE, reward=grade, at=at(second))
        case "instant":
            return entries.encode_observation(observed(run_id, second, stable=facts(grade)))
        case "session":
            raw = observed(
                run_id, second, stable=facts(grade), unit=f"session-{which}", session=True, **waiting
            )
            return entries.encode_observation(raw)
        case "expects":
            raw = observed(run_id, second, stable=facts(grade), expects_reward=True, **waiting)
            return entries.encode_observation(raw)
        case _:
            return entries.encode_run(run(run_id)) + entries.encode_observation(
                observed(
                    run_id, second, stable=facts(1.0), candidate=facts(grade), expects_reward=True, **waiting
                )
            )


def ingest(
    lines: list[bytes], plan: Sequence[tuple[int, str]], *, batch: int, step_bytes: int
) -> list[Observation]:
    """Append and read as `plan` says, `now` being the time of the last line written; then to the end."""
    with tempfile.TemporaryDirectory() as name:
        spool = Path(name) / "spool"
        store = LineageStore(Path(name) / "lineage.db")
        writer = SpoolWriter(spool, "w0", limits=SpoolLimits(segment=2000))
        ingester = Ingester(spool, store, batch=batch, step_bytes=step_bytes)
        written = 0
        for count, action in plan:
            for line in lines[written : written + count]:
                writer.append(line)
            written = min(written + count, len(lines))
            if action == "restart":
                ingester.close()
                store.close()
                store = LineageStore(Path(name) / "lineage.db")
                ingester = Ingester(spool, store, batch=batch, step_bytes=step_bytes)
            elif action == "step":
                ingester.step(at(written - 1))
        for line in lines[written:]:
            writer.append(line)
        writer.close()
        for _ in range(3):  # the mark of an unfinished step, then the end
            while ingester.step(at(len(lines) + 2 * WINDOW)).lag_bytes:
                pass
        found = store.observations(SHADOW, after=0)
        assert store.counts()["open_units"] == 0
        ingester.close()
        store.close()
        return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(events, plans, st.integers(1, 5), st.sampled_from((1, 1000, 1 << 20)))
def test_cutting_does_not_matter(
    story: list[tuple[str, int, int]], plan: list[tuple[int, str]], batch: int, step_bytes: int
) -> None:
    """A step of 1 byte reads one line of each segment, so that closing has to wait for its moment."""
    lines = lines_of(story)
    reference = ingest(lines, [(1, "step")] * len(lines), batch=500, step_bytes=1 << 20)
    with mock.patch.object(segments, "_CHUNK", 64):
        found = ingest(lines, plan, batch=batch, step_bytes=step_bytes)
    assert found == reference
    at_once = ingest(lines, [], batch=500, step_bytes=1 << 20)
    assert [replace(o, sequence=0) for o in at_once] == [replace(o, sequence=0) for o in reference]
