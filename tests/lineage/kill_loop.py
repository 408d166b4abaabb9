"""Run as a program: writers and an ingester are killed (SIGKILL) at random moments, over and over.

Prints one JSON object: what writers were told is written, and what disagreed on the way. Processes are forked
from this one, which has imported everything, so that a kill costs milliseconds.
"""

import json
import os
import select
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from sluicegate.contracts.adapters.system import now, seeded
from sluicegate.contracts.runs import Arm, RunOutcome
from sluicegate.lineage import entries, retention
from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.retention import Policy, Tiers, sweep
from sluicegate.lineage.spool import SpoolLimits, SpoolWriter
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import SHADOW, facts, observed, run


def write(spool: Path, prefix: str, told: int) -> None:
    """Append runs until killed; each acknowledged id goes to the pipe `told`."""
    writer = SpoolWriter(spool, "w0", limits=SpoolLimits(segment=40_000))
    for number in range(1_000_000):
        name = f"{prefix}-{number:05d}"
        start = now()
        raw = observed(name, candidate=facts(), expects_reward=number % 2 == 0, window_seconds=0.2)
        ok = writer.append(
            entries.encode_run(run(name, input={"text": "x" * 300}, started_at=start.isoformat())),
            entries.encode_run(run(name, Arm.CANDIDATE, started_at=start.isoformat())),
            entries.encode_observation(replace(raw, at=start)),
            entries.encode_outcome(name, at=now(), reward=0.5, outcome=RunOutcome.FAILED),
        )
        if ok:
            os.write(told, f"{name}\n".encode())
        if number % 20 == 19:
            time.sleep(0.004)


def ingest(root: Path, sweeping: bool) -> None:
    """Step until killed, in small transactions so that kills fall everywhere. sweeping: every run is old enough
    to be moved to the cold tier.
    """
    setattr(retention, "BATCH", 40)  # noqa: B010 - a constant elsewhere
    policy = Policy(default=Tiers(hot_days=1e-6, cold_days=36500))
    store = LineageStore(root / "lineage.db")
    ingester = Ingester(root / "spool", store, batch=13, step_bytes=30_000)
    while True:
        ingester.step(now())
        if sweeping:
            sweep(store, policy, now())


def fork(target: object, *args: object) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            target(*args)  # type: ignore[operator]
        finally:
            os._exit(1)
    return pid


def kill(pid: int) -> bool:
    """Whether it was alive until now."""
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def sequences(root: Path) -> dict[str, int]:
    store = LineageStore(root / "lineage.db")
    found = {o.unit: o.sequence for o in store.observations(SHADOW, after=0, limit=10**6)}
    store.close()
    return found


def moved(root: Path) -> int:
    store = LineageStore(root / "lineage.db")
    found = store.counts().get("cold_documents", 0)
    store.close()
    return found


def sweeps_again(root: Path, before: int) -> bool:
    """However slow the machine is; False: nothing moves any more."""
    deadline = time.monotonic() + 60
    while moved(root) <= before and time.monotonic() < deadline:
        time.sleep(0.01)
    return moved(root) > before


def drain(told: int) -> list[str]:
    text = b""
    while select.select([told], [], [], 0)[0]:
        text += os.read(told, 1 << 20)
    return text.decode().split()


def main(root: Path, kills: int, seed: int, sweeping: bool) -> None:
    chance = seeded(seed)
    told, tell = os.pipe()
    acknowledged: list[str] = []
    wrong: list[str] = []
    known: dict[str, int] = {}
    writer = fork(write, root / "spool", "writer-000", tell)
    for number in range(kills):
        before = moved(root) if sweeping else 0
        ingester = fork(ingest, root, sweeping)
        if sweeping and number % 5 == 4 and not sweeps_again(root, before):
            wrong.append(f"nothing was moved before kill {number}")
        time.sleep(chance.uniform(0.0, 0.12))
        if chance.random() < 0.4:
            if not kill(writer):
                wrong.append("the writer died by itself")
            writer = fork(write, root / "spool", f"writer-{number + 1:03d}", tell)
        if not kill(ingester):
            wrong.append("the ingester died by itself")
        acknowledged += drain(told)
        seen = sequences(root)
        if any(seen.get(unit) != sequence for unit, sequence in known.items()):
            wrong.append(f"a sequence changed at kill {number}")
        known = seen
    kill(writer)
    acknowledged += drain(told)
    print(json.dumps({"acknowledged": acknowledged, "wrong": wrong, "known": known}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "sweeping")
