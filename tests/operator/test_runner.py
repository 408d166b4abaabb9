"""A real `up` with two gateway workers: its whole life."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.errors import Unavailable
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.api.context import BASE
from sluicegate.operator.local.reservation import PortReservation
from sluicegate.operator.local.state_dir import read_up
from tests.e2e.life import workers
from tests.operator.samples import decision, staged
from tests.operator.up import START, Up, Users, component_server, is_alive, no_traceback, run, until

pytestmark = pytest.mark.e2e

WORKFLOW = f"{BASE}/namespaces/default/agentworkflows/echo"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with component_server() as base:
        yield base


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    running = Up(tmp_path_factory.mktemp("state") / "s", workers=2)
    running.start()
    yield running
    running.kill()


def is_ready(item: Any) -> bool:
    conditions = {one["type"]: one["status"] for one in (item.get("status") or {}).get("conditions", ())}
    return conditions.get("Ready") == "True"


def is_watched(item: Any) -> bool:
    """Units were folded; none of this agent has a reward."""
    found = {one["type"]: one["message"] for one in item["status"]["conditions"]}
    return "had no reward" in found.get("RewardDecaying", "")


def versions(up: Up) -> list[str]:
    plurals = ("agentworkflows", "workflowrevisions", "workflowrollouts", "decisions")
    return [item["metadata"]["resourceVersion"] for plural in plurals for item in up.objects(plural)]


def test_a_good_candidate_reaches_the_users_and_then_nothing_is_written(up: Up, url: str) -> None:
    assert run(up.port, {"text": "nobody"}) is None
    (made,) = up.apply(staged("1.0.0", url))
    assert made["operation"] == "created"
    until("every worker serves it", lambda: is_ready(up.objects("agentworkflows")[0]))
    users = Users(up.port, threads=2, pause=0.01)
    with users.sending():
        up.apply(staged("2.0.0", url))
        done = until(
            "promoted",
            lambda: [r for r in up.objects("workflowrollouts") if r.get("status", {}).get("outcome")],
        )
        until("done", lambda: up.objects("workflowrollouts")[0]["status"]["state"] == "Done")
    assert done[0]["status"]["outcome"] == "Promoted"
    stages = [record["stage"] for record in up.objects("workflowrollouts")[0]["status"]["history"]]
    assert stages == ["Canary", "Shadow", "Controlled", "Full"]
    assert users.failed == 0
    until("stable again", lambda: up.objects("agentworkflows")[0]["status"]["phase"] == "Healthy")
    until("stable is told", lambda: up.objects("agentworkflows")[0]["status"]["stage"] == "Stable")
    until("the watch has seen what it served", lambda: is_watched(up.objects("agentworkflows")[0]))
    before = versions(up)
    for _ in range(3):  # looks without news: every apply of the same makes one
        (same,) = up.apply(staged("2.0.0", url))
        assert same["operation"] == "unchanged"
        assert run(up.port, {"text": "still"})
    assert versions(up) == before


def test_what_is_kept_is_for_its_owner_only(up: Up) -> None:
    open_to_others = {
        path.name for path in up.root.rglob("*") if path.is_file() and path.stat().st_mode & 0o077
    }
    assert open_to_others <= {"out.log"}, "which is what this test redirects"


def test_metrics_have_exemplars_when_asked(up: Up) -> None:
    facts = read_up(up.state)
    assert facts is not None
    address = f"http://127.0.0.1:{facts.metrics_port}/metrics"

    def scraped(accept: str) -> str:
        request = urllib.request.Request(address, headers={"Accept": accept})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert accept.split(";", maxsplit=1)[0] in answer.headers["Content-Type"]
            text: str = answer.read().decode()
            return text

    plain = scraped("text/plain")
    assert (
        'sluicegate_rollout_outcomes_total{namespace="default",outcome="Promoted",workflow="echo"} 1.0'
        in plain
    )
    assert "sluicegate_gateway_workers 2.0" in plain
    until("nothing waits", lambda: "sluicegate_queue_depth 0.0" in scraped("text/plain"))
    until("exemplars", lambda: '# {run_id="' in scraped("application/openmetrics-text; version=1.0.0"))


def test_runs_and_events_are_shown(up: Up) -> None:
    run_id = run(up.port, {"text": "look"})
    until("stored", lambda: up.api("GET", f"/lineage/runs/{run_id}")[0] == 200)
    (document,) = up.api("GET", f"/lineage/runs/{run_id}")[1]["items"]
    assert (document["workflow"], document["input"]) == ("echo", {"text": "look"})
    summaries = up.api("GET", "/lineage/runs?workflow=echo&limit=3&since=1h")[1]["items"]
    assert len(summaries) == 3
    assert up.api("GET", "/lineage/fallbacks?workflow=echo")[1]["items"] == []
    reasons = [event["reason"] for event in up.api("GET", "/events?namespace=default")[1]["items"]]
    assert reasons[0] == "FirstRevision"
    assert "Completed" in reasons


def test_fallbacks_that_users_got_are_shown(up: Up, url: str) -> None:
    wanted = staged("1.0.0", url, name="patient")
    wanted["spec"]["components"][0]["onFailure"] = {"type": "Value", "value": {"echo": "nobody"}}
    up.apply(wanted)
    run_id = until("served", lambda: run(up.port, {"fail": True}, "patient"))
    found = until("kept", lambda: up.api("GET", "/lineage/fallbacks?workflow=patient")[1]["items"])
    assert [(one["runId"], one["component"], one["strategy"]) for one in found] == [
        (run_id, "agent", "Value")
    ]
    assert up.api("GET", "/lineage/fallbacks?rollout=nobody")[1]["items"] == []
    assert up.api("GET", "/lineage/fallbacks?rollout=nobody&attempt=x")[0] == 422
    up.api("DELETE", f"{BASE}/namespaces/default/agentworkflows/patient")
    until("gone", lambda: len(up.objects("agentworkflows")) == 1)


def test_a_worker_that_dies_is_replaced_and_users_notice_little(up: Up) -> None:
    before = workers(up)
    assert len(before) == 2
    killed = min(before)
    os.kill(before[killed], signal.SIGKILL)
    until("two workers again", lambda: len(now := workers(up)) == 2 and killed not in now)
    until("ready", lambda: up.api("GET", "/readyz")[0] == 200)
    assert run(up.port, {"text": "after"})
    until(
        "it is told",
        lambda: "GatewayWorkerDied" in [one["reason"] for one in up.api("GET", "/events")[1]["items"]],
    )


def test_the_state_folder_has_one_holder(up: Up) -> None:
    command = [sys.executable, "-c", START, str(up.root), "0", "1"]
    second = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 5
    assert up.process is not None
    assert second.stderr.startswith(f"error: another sluicegate up (pid {up.process.pid}) uses {up.root}")
    no_traceback(second.stderr)


def test_the_port_has_one_holder(up: Up, tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, str(tmp_path), str(up.port), "1"]
    second = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 6
    assert second.stderr.startswith(
        f"error: port 127.0.0.1:{up.port} belongs to another running sluicegate up"
    )


def test_a_port_of_another_program_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Unavailable, match="another program"):
            PortReservation("127.0.0.1", port)


def test_a_bad_candidate_that_a_person_aborts_leaves_stable_serving(up: Up, url: str) -> None:
    up.apply(staged("3.0.0", url, needs={"Canary": 1_000_000}))

    def candidate() -> Any:
        found = [r for r in up.objects("workflowrollouts") if r["spec"]["candidate"]["version"] == "3.0.0"]
        return found[0] if found and found[0].get("status", {}).get("stage") else None

    rollout = until("in Canary", candidate)
    up.apply(decision("enough", "Abort", rollout))
    until("the end", lambda: candidate()["status"]["state"] == "Done")
    assert candidate()["status"]["outcome"] == "Aborted"
    run_id = run(up.port, {"text": "x"})
    until("stored", lambda: up.api("GET", f"/lineage/runs/{run_id}")[0] == 200)
    assert up.api("GET", f"/lineage/runs/{run_id}")[1]["items"][0]["version"] == "2.0.0"


def test_deleting_a_workflow_in_a_rollout_drains_then_removes_everything(up: Up, url: str) -> None:
    up.apply(staged("4.0.0", url, needs={"Canary": 1_000_000}))
    until(
        "in Canary",
        lambda: any(r.get("status", {}).get("state") == "Canary" for r in up.objects("workflowrollouts")),
    )
    code, marked = up.api("DELETE", WORKFLOW)
    assert (code, bool(marked["metadata"]["deletionTimestamp"])) == (200, True)
    until("the workflow is gone", lambda: up.api("GET", WORKFLOW)[0] == 404)
    until("its revisions are gone", lambda: not up.objects("workflowrevisions"))
    until("its rollouts are gone", lambda: not up.objects("workflowrollouts"))
    until("the gateway forgot it", lambda: run(up.port, {"text": "x"}) is None)
    up.apply(staged("1.0.0", url))
    until("it can be made again", lambda: run(up.port, {"text": "again"}))


def test_a_kill_takes_the_workers_down_and_a_stop_finishes(up: Up) -> None:
    pids = list(workers(up).values())
    up.kill()
    until("no worker outlives its parent", lambda: not any(is_alive(pid) for pid in pids))
    assert read_up(up.state) is None
    up.start()
    assert run(up.port, {"text": "after"})
    pids = list(workers(up).values())
    with ThreadPoolExecutor() as pool:
        before = up.api("GET", "/lineage/counts")[1]
        slow = pool.submit(run, up.port, {"seconds": 1.0})
        quick = pool.submit(run, up.port, {"text": "taken in first"})
        until("both are on their way", quick.done)
        assert up.stop() == 0
        assert slow.result(), "a run in flight is answered"
    lineage = LineageStore(up.state.lineage)
    assert lineage.run(str(slow.result())), "and kept"
    lineage.close()
    assert before["runs"] > 0
    assert not any(is_alive(pid) for pid in pids)
    assert not up.state.up.exists()
    no_traceback(up.logs())
