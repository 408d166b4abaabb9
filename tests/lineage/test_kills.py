"""kill -9 of writers and ingesters at random moments: nothing acknowledged is missing, nothing is there twice."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sluicegate.lineage import cold
from sluicegate.lineage.ingester import Ingester
from sluicegate.lineage.store import LineageStore
from tests.lineage.builders import SHADOW, at

ROOT = Path(__file__).parents[2]
KILLS = 30


@pytest.mark.parametrize(("seed", "mode"), [(1, "plain"), (2, "sweeping")])
def test_kill_minus_nine(tmp_path: Path, seed: int, mode: str) -> None:
    """sweeping: the process that is killed also moves every run to the cold tier."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.lineage.kill_loop", str(tmp_path), str(KILLS), str(seed), mode],
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
    copies = documents(store)
    assert set(copies.values()) == {1}, "no document is in two places"
    stored = Counter(run_id for run_id, _ in copies)
    assert {stored[run_id] for run_id in acknowledged} == {2}, "both arms of every run that was acknowledged"
    assert (store.counts()["cold_documents"] > 0) == (mode == "sweeping")
    # A writer killed between write(2) and its word to us has stored one run more, killed inside of it a part of one.
    assert len(stored) - len(set(acknowledged)) <= KILLS
    for run_id in acknowledged[:: max(1, len(acknowledged) // 50)]:
        stable, candidate = store.run(run_id)
        assert (stable["arm"], candidate["arm"], stable["outcome"]) == ("stable", "candidate", "Failed")
        assert len(stable["outcomes"]) == 1
    observations = store.observations(SHADOW, after=0, limit=10**6)
    assert set(acknowledged) <= {o.unit for o in observations}
    assert [o.sequence for o in observations] == list(range(1, len(observations) + 1))
    assert {o.unit: o.sequence for o in observations}.items() >= result["known"].items()
    for o in (o for o in observations if o.unit in set(acknowledged[::20])):
        assert o.stable is not None
        waited = int(o.unit[-5:]) % 2 == 0
        assert (o.stable.success, o.stable.reward) == ((0.0, 0.5) if waited else (1.0, None))
    counts = store.counts()
    assert counts.get("duplicates_total", 0) == 0, "a restart never reads an entry again"
    assert all(count <= (2 if kind == "run" else 1) for (kind, _), count in told.items())
    ingester.close()
    store.close()


def documents(store: LineageStore) -> Counter[tuple[str, str]]:
    """How often each (run id, arm) is in the database and the cold segments together."""
    with store.database.read() as connection:
        found: Counter[tuple[str, str]] = Counter(
            (run_id, arm) for run_id, arm in connection.execute("SELECT run_id, arm FROM runs")
        )
        for name, sha256 in connection.execute("SELECT name, sha256 FROM cold").fetchall():
            found.update(
                (x["document"]["run_id"], x["document"]["arm"]) for x in cold.read(store.cold, name, sha256)
            )
    return found
