"""kill -9 of writers and ingesters at random moments: nothing acknowledged is missing, nothing is there twice."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import SHADOW, at

ROOT = Path(__file__).parents[2]
KILLS = 30


@pytest.mark.parametrize("seed", [1, 2])
def test_kill_minus_nine(tmp_path: Path, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.lineage.kill_loop", str(tmp_path), str(KILLS), str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["wrong"] == []
    acknowledged = result["acknowledged"]
    assert len(acknowledged) > 100

    store = LineageStore(tmp_path / "lineage.db")
    told: Counter[tuple[str, str]] = Counter()
    ingester = Ingester(tmp_path / "spool", store, lambda entry: told.update([(entry["t"], entry["run_id"])]))
    ingester.step(at(10**7))
    while ingester.step(at(10**7)).lag_bytes:
        pass
    assert list((tmp_path / "spool").glob("*.spool")) == []
    stored = Counter(summary["run_id"] for summary in pages(store))
    assert set(acknowledged) - stored.keys() == set()
    # A writer killed between write(2) and its word to us has stored one run more.
    assert len(stored) - len(set(acknowledged)) <= KILLS
    for run_id in acknowledged[:: max(1, len(acknowledged) // 50)]:
        stable, candidate = store.run(run_id)
        assert (stable["arm"], candidate["arm"], stable["outcome"]) == ("stable", "candidate", "Failed")
        assert len(stable["outcomes"]) == 1
    observations = store.observations(SHADOW, after=0, limit=10**6)
    assert set(acknowledged) <= {o.unit for o in observations}
    assert [o.sequence for o in observations] == list(range(1, len(observations) + 1))
    assert {o.unit: o.sequence for o in observations}.items() >= result["known"].items()
    for o in observations[::20]:
        assert o.stable is not None
        waited = int(o.unit[-5:]) % 2 == 0
        assert (o.stable.success, o.stable.reward) == ((0.0, 0.5) if waited else (1.0, None))
    counts = store.counts()
    assert counts.get("duplicates_total", 0) == 0, "a restart never reads an entry again"
    assert all(count <= (2 if kind == "run" else 1) for (kind, _), count in told.items())
    ingester.close()
    store.close()


def pages(store: LineageStore) -> list[dict[str, Any]]:
    found, before = [], None
    while page := store.runs(arm="stable", limit=10_000, before=before):
        found += page
        before = page[-1]["cursor"]
    return found
