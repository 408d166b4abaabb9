"""How fast spooled entries reach SQLite."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from benchmarks import stack
from benchmarks.component import DEFAULT_BODY
from sluicegate.contracts.adapters import system
from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, RawObservation
from sluicegate.contracts.runs import Arm, Attempt, RunOutcome, RunRecord, StepOutcome, StepRecord
from sluicegate.contracts.stages import Stage
from sluicegate.lineage.entries import encode_observation, encode_run
from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.spool import SpoolWriter
from sluicegate.lineage.store import LineageStore

RUNS = 20_000


def ingest() -> dict[str, Any]:
    """20,000 one-step runs, every other one with an observation, from the spool into the store."""
    with TemporaryDirectory(prefix="sluicegate-bench-") as folder:
        spool, store = Path(folder) / "spool", LineageStore(Path(folder) / "lineage.db")
        entries = _fill(spool)
        size = sum(path.stat().st_size for path in spool.glob("*.spool"))
        ingester = Ingester(spool, store, None)
        begun, stored = time.perf_counter(), 0
        while stored < entries:
            progress = ingester.step(system.now())
            stored += progress.entries
        seconds = time.perf_counter() - begun
        on_disk = sum(path.stat().st_size for path in Path(folder).glob("lineage.db*"))
        store.close()
    return {
        "entries": entries,
        "seconds": round(seconds, 3),
        "entries_per_second": round(entries / seconds),
        "spool_bytes_per_entry": round(size / entries),
        "stored_bytes_per_entry": round(on_disk / entries),
    }


def _fill(spool: Path) -> int:
    writer, entries = SpoolWriter(spool, "w0"), 0
    value, output = orjson.loads(stack.BODY), orjson.loads(DEFAULT_BODY)["output"]
    attempt = Attempt(number=1, started_ms=0.1, service_ms=12.0, status=200)
    step = StepRecord(
        name="agent", component="agent", version="1", outcome=StepOutcome.OK, request=value, response=output, attempts=(attempt,)
    )  # fmt: skip
    facts = ArmFacts(success=1.0, latencies_ms=(12.0,))
    now = system.now()
    for number in range(RUNS):
        run_id = system.uuid7()
        record = RunRecord(
            run_id=run_id, arm=Arm.STABLE, serving=True, namespace="default", workflow="bot", revision="bot-1", version="1",
            components={"agent": "1"}, started_at=now.isoformat(), latency_ms=12.0, outcome=RunOutcome.SUCCEEDED,
            unit=run_id, input=value, input_hash="h", output=output, steps=(step,), worker="w0",
        )  # fmt: skip
        lines = [encode_run(record)]
        if number % 2:
            key = EvidenceKey("bench", Stage.CONTROLLED, 1)
            lines.append(
                encode_observation(RawObservation(key=key, unit=run_id, run_id=run_id, at=now, stable=facts))
            )
        writer.append(*lines)
        entries += len(lines)
    writer.close()
    return entries
