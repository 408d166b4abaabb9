"""kill -9 of writers, of the gateway's shipper and of the lineage process: no run is lost, none is there twice."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sluicegate.lineage.store import LineageStore
from tests.controlplane.plane import ControlPlane
from tests.lineage.builders import SHADOW
from tests.lineage.test_kills import documents
from tests.operator.edge import processes
from tests.operator.edge.processes import SYSTEM

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[3]
KILLS = 30


def test_no_run_is_lost_and_none_is_doubled(plane: ControlPlane, tmp_path: Path) -> None:
    processes.accounts(plane)
    kubeconfig = str(plane.account_kubeconfig(SYSTEM, processes.LINEAGE))
    token = plane.token(SYSTEM, processes.GATEWAY)
    command = [sys.executable, "-m", "tests.operator.lineage_server.kill_loop", str(tmp_path)]
    done = subprocess.run(
        [*command, kubeconfig, token, str(KILLS), "1"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert result["ended"] == {"lineage": True, "shipper": True}, "both lived to the end"
    acknowledged = result["acknowledged"]
    assert len(acknowledged) > 100
    store = LineageStore(tmp_path / "lineage" / "lineage.db")
    copies = documents(store)
    stored = Counter(run_id for run_id, _ in copies)
    assert set(copies.values()) == {1}
    assert {stored[run_id] for run_id in acknowledged} == {2}, "both arms of every run that was acknowledged"
    assert len(stored) - len(set(acknowledged)) <= KILLS, "a killed writer may have stored one run more"
    assert store.counts().get("duplicates_total", 0) == 0, "no byte was taken in twice"
    units = [one.unit for one in store.observations(SHADOW, after=0, limit=10**6)]
    assert len(units) == len(set(units))
    store.close()
