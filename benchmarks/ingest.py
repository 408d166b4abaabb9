"""How fast runs go from a worker's spool into the store.

Each run is a document of about 1.6 kB and an observation, as a gateway writes them; the store is on the temporary
directory's disk.
"""

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


def ingest(runs: int = 20_000) -> dict[str, float]:
    """Appending to a spool, taking it into the store, and looking a run up. A step: one look of the ingester."""
    pairs = [lines() for _ in range(runs)]
    asked = [entries.decode(run)["run_id"] for run, _ in pairs[:: max(1, runs // 500)]]
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as name:
        root = Path(name)
        appended = _append(root / "spool", pairs)
        store = LineageStore(root / "lineage.db")
        cpu = time.process_time()
        steps = _take_in(root / "spool", store)
        cpu = time.process_time() - cpu
        begun = time.perf_counter()
        for run_id in asked:
            store.run(run_id)
        looked = time.perf_counter() - begun
        counts = store.counts()
        store.close()
        assert (counts["runs"], counts["observations"]) == (runs, runs)
        stored = (root / "lineage.db").stat().st_size
    return {
        "runs, each with an observation": runs,
        "runs appended per second": round(runs / appended),
        "runs taken in per second": round(runs / sum(steps)),
        "runs taken in per CPU second": round(runs / cpu),
        "longest step, ms": round(max(steps) * 1000, 1),
        "spool bytes per run": sum(map(len, pairs[0])),
        "stored bytes per run": round(stored / runs),
        "look up one run, ms": round(looked / len(asked) * 1000, 3),
    }


def _append(spool: Path, pairs: list[tuple[bytes, bytes]]) -> float:
    """Seconds."""
    writer = SpoolWriter(spool, "w0")
    begun = time.perf_counter()
    for pair in pairs:
        writer.append(*pair)
    seconds = time.perf_counter() - begun
    writer.close()
    return seconds


def _take_in(spool: Path, store: LineageStore) -> list[float]:
    """Seconds of every step until nothing is left."""
    ingester, steps, lag = Ingester(spool, store), [], 1
    while lag:
        begun = time.perf_counter()
        lag = ingester.step(now() + timedelta(seconds=1)).lag_bytes
        steps.append(time.perf_counter() - begun)
    ingester.close()
    return steps
