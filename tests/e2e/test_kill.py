"""kill -9 of a real `up`, again and again: the same stage goes on, nothing answered is lost, nothing is decided twice."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.lineage.store import LineageStore
from sluicegate.observability.fold import Fold
from sluicegate.operator.api_context import BASE
from sluicegate.operator.store import SqliteStore
from sluicegate.rollout.planning import look
from tests.operator.samples import decision, staged
from tests.operator.up import Up, Users, component_server, run, until

pytestmark = pytest.mark.e2e

KILLS = 20
DELAYS = (0.0, 0.05, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0)
"""Seconds from a start to its kill, every second time; the others are killed when they are up and busy."""


def rollout_of(up: Up) -> Any:
    found = [item for item in up.objects("workflowrollouts") if item.get("status")]
    return found[0] if found else None


def in_stage(up: Up, stage: str) -> Any:
    found = rollout_of(up)
    return found if found and found["status"].get("stage") == stage else None


def kill_workers(up: Up) -> None:
    """kill -9 of every gateway worker that announced itself."""
    for card in (up.root / "workers").glob("*.json"):
        try:
            os.kill(orjson.loads(card.read_bytes())["pid"], signal.SIGKILL)
        except (ProcessLookupError, ValueError, FileNotFoundError):
            continue


def one_life(up: Up, number: int, users: Users) -> None:
    """Start, perhaps wait until it works, kill; every third time with all its workers."""
    if number % 2:
        up.start()
        before = len(users.answered)
        until("answers after a restart", lambda: len(users.answered) > before + 3)
    else:
        up.spawn()
        # Not a wait for something: the kill has to come at any moment of a start.
        time.sleep(DELAYS[number // 2 % len(DELAYS)])
    up.kill()
    if number % 3 == 0:
        kill_workers(up)


def test_twenty_kills_in_one_stage(tmp_path: Path) -> None:
    up = Up(tmp_path / "state")
    with component_server() as url:
        try:
            up.start()
            up.apply(staged("1.0.0", url))
            until("stable serves", lambda: run(up.port, {"text": "first"}))
            up.apply(staged("2.0.0", url, needs={"Canary": 1_000_000, "Shadow": 1_000_000}))
            first = until("Canary", lambda: in_stage(up, "Canary"))
            up.apply(decision("wait", "Pause", first))
            paused = until("the pause counts", lambda: (r := rollout_of(up))["status"]["paused"] and r)
            users = Users(up.port, threads=2, pause=0.01)
            with users.sending():
                up.kill()
                for number in range(KILLS):
                    one_life(up, number, users)
                up.start()
                before = len(users.answered)
                until("answers after the last restart", lambda: len(users.answered) > before + 10)
            check_goes_on(up, paused)
            check_two_promotes_are_one_step(up)
            assert up.stop() == 0
        finally:
            up.kill()
    check_nothing_is_lost(up, users.answered)


def check_goes_on(up: Up, paused: Any) -> None:
    held = rollout_of(up)
    for field in (
        "stage",
        "attempt",
        "stageStartedAt",
        "startedAt",
        "state",
        "planVersion",
        "paused",
        "pausedSince",
    ):
        assert held["status"].get(field) == paused["status"].get(field), field
    assert [record["name"] for record in held["status"]["decisions"]] == ["wait"]
    assert len(up.objects("workflowrollouts")) == 1
    assert len(up.objects("workflowrevisions")) == 2
    events = up.api("GET", "/events?limit=1000")[1]["items"]
    assert sum(event["count"] for event in events if event["reason"] == "StageEntered") == 1


def check_two_promotes_are_one_step(up: Up) -> None:
    held = rollout_of(up)
    up.apply(decision("on", "Resume", held))
    until("the resume counts", lambda: not rollout_of(up)["status"]["paused"])
    held = rollout_of(up)
    up.apply(decision("one", "Promote", held), decision("two", "Promote", held))
    until("Shadow", lambda: in_stage(up, "Shadow"))
    records = until("both were read", lambda: (r := rollout_of(up)["status"]["decisions"])[3:] and r)
    assert sorted(record["result"] for record in records if record["action"] == "Promote") == [
        "Applied",
        "Refused",
    ]
    assert rollout_of(up)["status"]["stage"] == "Shadow"
    stale = decision("late", "Promote", held)
    code, answer = up.api("POST", f"{BASE}/namespaces/default/decisions", stale)
    assert code in {201, 422}, answer
    if code == 201:
        until("the late one was read", lambda: rollout_of(up)["status"]["decisions"][4:])
    assert rollout_of(up)["status"]["stage"] == "Shadow"


def check_nothing_is_lost(up: Up, answered: list[str]) -> None:
    """Every answered run is stored once per arm, and the evidence is that of the stored units, folded once each."""
    assert len(answered) > KILLS
    lineage = LineageStore(up.state.lineage)
    try:
        missing = [run_id for run_id in answered if not lineage.run(run_id)]
        assert missing == []
        arms = {run_id: [document["arm"] for document in lineage.run(run_id)] for run_id in answered}
        twice = [run_id for run_id, seen in arms.items() if len(seen) != len(set(seen))]
        assert twice == []
        check_fold(up, lineage)
    finally:
        lineage.close()


def check_fold(up: Up, lineage: LineageStore) -> None:
    store = SqliteStore(up.state.resources)
    (item,) = store.listing("WorkflowRollout").items
    store.close()
    wanted = look(WorkflowRollout.model_validate(item))
    assert wanted is not None
    for stage in ("Canary", "Shadow"):
        key = wanted.key._replace(stage=type(wanted.key.stage)(stage))
        saved = lineage.load(key)
        if saved is None:
            continue
        folded = Fold.from_bytes(saved, wanted.questions)
        again = Fold(key, wanted.questions)
        again.add_all(one for one in lineage.observations(key, after=0) if one.sequence <= folded.cursor)
        assert again.to_bytes() == saved
