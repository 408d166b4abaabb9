"""How fast runs go from a worker's spool into the store: `python -m benchmarks.ingest [runs]` prints JSON.

Each run is a document of about 1.6 kB and an observation, as a gateway writes them; the store is on the temporary
directory's disk.
"""

import json
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from sluicegate.contracts.adapters.system import now, seeded, uuid7
from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, RawObservation
from sluicegate.contracts.runs import Arm, Attempt, RunOutcome, RunRecord, StepOutcome, StepRecord
from sluicegate.contracts.stages import Stage
from sluicegate.lineage import entries
from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.spool import SpoolWriter
from sluicegate.lineage.store import LineageStore

KEY = EvidenceKey("rollout", Stage.CANARY, 1)
WORDS = (
    "where is my parcel",
    "please refund",
    "cancel the order",
    "now",
    "thank you",
    "it came late",
    "broken",
)
CHANCE = seeded("ingest")


def words(count: int) -> str:
    return " ".join(CHANCE.choices(WORDS, k=count))


def step(name: str) -> StepRecord:
    attempt = Attempt(number=1, started_ms=CHANCE.random(), service_ms=5 * CHANCE.random(), status=200)
    return StepRecord(
        name=name,
        component=name,
        version="1.0.0",
        outcome=StepOutcome.OK,
        latency_ms=6 * CHANCE.random(),
        request={"text": words(5)},
        response={"text": words(5)},
        attempts=(attempt,),
    )


def lines() -> tuple[bytes, bytes]:
    """A run and its observation."""
    at = now()
    record = RunRecord(
        run_id=uuid7(),
        arm=Arm.STABLE,
        serving=True,
        namespace="shop",
        workflow="support-bot",
        revision="support-bot-1",
        version="1.0.0",
        components={"planner": "1.0.0", "writer": "1.0.0"},
        started_at=at.isoformat(),
        latency_ms=12 * CHANCE.random(),
        outcome=RunOutcome.SUCCEEDED,
        unit=uuid7(),
        input={"user_query": words(20)},
        output={"response": words(20)},
        rollout=KEY.rollout,
        stage=KEY.stage,
        attempt=KEY.attempt,
        steps=(step("planner"), step("writer")),
    )
    facts = ArmFacts(success=1.0, latencies_ms=(record.latency_ms,))
    raw = RawObservation(key=KEY, unit=record.unit, run_id=record.run_id, at=at, stable=facts)
    return entries.encode_run(record), entries.encode_observation(raw)


def measure(runs: int = 20_000) -> dict[str, float]:
    """Runs and entries per second, bytes per run, longest step."""
    pairs = [lines() for _ in range(runs)]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        writer = SpoolWriter(root / "spool", "w0")
        start = time.perf_counter()
        for pair in pairs:
            writer.append(*pair)
        appended = time.perf_counter() - start
        writer.close()
        store = LineageStore(root / "lineage.db")
        ingester = Ingester(root / "spool", store)
        stored, longest, lag, cpu = 0.0, 0.0, 1, time.process_time()
        while lag:
            start = time.perf_counter()
            lag = ingester.step(now() + timedelta(seconds=1)).lag_bytes
            took = time.perf_counter() - start
            stored, longest = stored + took, max(longest, took)
        cpu = time.process_time() - cpu
        start = time.perf_counter()
        for pair in pairs[:: max(1, runs // 500)]:
            store.run(entries.decode(pair[0])["run_id"])
        looked = (time.perf_counter() - start) / len(pairs[:: max(1, runs // 500)])
        counts = store.counts()
        ingester.close()
        store.close()
        assert (counts["runs"], counts["observations"]) == (runs, runs)
        return {
            "lineage_append_runs_per_s": runs / appended,
            "lineage_ingest_runs_per_s": runs / stored,
            "lineage_ingest_runs_per_cpu_s": runs / cpu,
            "lineage_ingest_entries_per_s": 2 * runs / stored,
            "lineage_longest_step_ms": longest * 1000,
            "lineage_bytes_per_run_in": sum(map(len, pairs[0])),
            "lineage_bytes_per_run_stored": (root / "lineage.db").stat().st_size / runs,
            "lineage_one_run_ms": looked * 1000,
        }


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:])), indent=2))
