"""kill -9 of a real `up`, in every state: it goes on where it was, nothing answered is lost, nothing is decided twice."""

import os
import signal
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from tests.e2e import life
from tests.e2e.life import Json, in_state, kill_when, kill_workers, rollout_of, stored
from tests.operator.samples import decision, staged
from tests.operator.up import Up, Users, component_server, is_alive, run, until

pytestmark = pytest.mark.e2e

KILLS = {"Canary": 20, "Shadow": 4, "Controlled": 4, "Full": 4}
DELAYS = (0.0, 0.05, 0.15, 0.3, 0.45, 0.6, 0.8, 1.0)
"""Seconds from a start to its kill, every second time; the others are killed when they are up and busy."""
SAME = (
    "stage",
    "attempt",
    "stageStartedAt",
    "startedAt",
    "state",
    "outcome",
    "paused",
    "pausedSince",
    "held",
)
FULL_SECONDS = 5


def are_dead(pids: Iterable[int]) -> bool:
    return not any(map(is_alive, pids))


def one_life(up: Up, number: int, users: Users) -> None:
    """Start, perhaps wait until it works, kill; every third time with all its workers at once."""
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


def back(up: Up, users: Users) -> None:
    """Start and wait until users are served."""
    up.start()
    before = len(users.answered)
    until("answers after the last restart", lambda: len(users.answered) > before + 5)


def check_goes_on(before: Json, after: Json) -> None:
    old, new = before["status"], after["status"]
    for field in SAME:
        assert new.get(field) == old.get(field), field
    assert [(one["stage"], one["startedAt"]) for one in new["history"]] == [
        (one["stage"], one["startedAt"]) for one in old["history"]
    ]
    assert new["decisions"] == old["decisions"]


def kill_in(up: Up, stage: str, users: Users, kills: int) -> Json:
    """Killed `kills` times in a stage; the rollout as it goes on."""
    before = in_state(up, stage, "2.0.0")
    up.kill()
    for number in range(kills - 1):
        one_life(up, number, users)
    back(up, users)
    after = rollout_of(up, "2.0.0")
    assert after is not None
    check_goes_on(before, after)
    return after


def leave(up: Up, stage: str, following: str, users: Users) -> None:
    """A person promotes; killed in the moment in which the move is on disk, before its route and its event."""
    held = in_state(up, stage, "2.0.0")
    up.apply(decision(f"out-of-{stage.lower()}", "Promote", held))
    kill_when(up, lambda items: any(item.get("status", {}).get("state") == following for item in items))
    back(up, users)


def test_killed_in_every_stage_it_goes_on_and_ends_promoted(tmp_path: Path) -> None:
    up = Up(tmp_path / "state")
    users = Users(0, threads=2, pause=0.01)
    with component_server() as url:
        try:
            up.start()
            users.port = up.port
            up.apply(staged("1.0.0", url))
            until("stable serves", lambda: run(up.port, {"text": "first"}))
            with users.sending():
                start_and_kill_in_pending(up, url, users)
                for stage, following in (
                    ("Canary", "Shadow"),
                    ("Shadow", "Controlled"),
                    ("Controlled", "Full"),
                ):
                    kill_in(up, stage, users, KILLS[stage])
                    leave(up, stage, following, users)
                kill_in_full_and_finish(up, users)
            check_told_once(up)
            assert up.stop() == 0
        finally:
            up.kill()
    assert len(users.answered) > sum(KILLS.values())
    life.check_nothing_is_lost(up, users.answered)


def start_and_kill_in_pending(up: Up, url: str, users: Users) -> None:
    wanted = staged("2.0.0", url, needs={**life.LONG, "Full": 20})
    next(one for one in wanted["spec"]["rollout"]["stages"] if one["name"] == "Full")[
        "minDurationSeconds"
    ] = FULL_SECONDS
    with life.kept_pending(up):
        up.apply(wanted)
        kill_when(up, bool)
        (made,) = stored(up)
        for number in range(4):
            one_life(up, number, users)
            (held,) = stored(up)
            assert held["metadata"]["uid"] == made["metadata"]["uid"]
            assert held.get("status", {}).get("state", "Pending") == "Pending"
            assert held.get("status", {}).get("attempt", 1) == 1
    back(up, users)
    in_state(up, "Canary", "2.0.0")
    assert [item["metadata"]["uid"] for item in up.objects("workflowrollouts")] == [made["metadata"]["uid"]]
    assert len(up.objects("workflowrevisions")) == 2


def kill_in_full_and_finish(up: Up, users: Users) -> None:
    """Paused, so that the kills have their time; then it ends by its evidence, and is killed on the way out."""
    held = in_state(up, "Full", "2.0.0")
    up.apply(decision("wait", "Pause", held))
    until("the pause counts", lambda: (r := rollout_of(up, "2.0.0")) and r["status"]["paused"])
    held = kill_in(up, "Full", users, KILLS["Full"])
    up.apply(decision("on", "Resume", held))
    with life.silent_gateway(up):
        before = in_state(up, "Draining", "2.0.0")
        assert before["status"]["outcome"] == "Promoted"
        for number in range(3):
            up.kill()
            one_life(up, number, users)
    back(up, users)
    after = in_state(up, "Done", "2.0.0")
    for field in ("outcome", "attempt", "stage", "drainingSince", "startedAt"):
        assert after["status"][field] == before["status"][field], field
    assert after["status"]["history"] == before["status"]["history"]
    until("stable is the candidate", lambda: up.objects("agentworkflows")[0]["status"]["stage"] == "Stable")


def check_told_once(up: Up) -> None:
    """One record per decision and stage; no event of a transition twice."""
    done = rollout_of(up, "2.0.0")
    assert done is not None
    status = done["status"]
    assert (status["outcome"], status["attempt"]) == ("Promoted", 1)
    assert [one["stage"] for one in status["history"]] == list(KILLS)
    assert [(one["name"], one["result"]) for one in status["decisions"]] == [
        (name, "Applied") for name in ("out-of-canary", "out-of-shadow", "out-of-controlled", "wait", "on")
    ]
    name = done["metadata"]["name"]
    # A kill between the move and its event loses the event, never the move: at most once, and the history is whole.
    entered = [one["message"].split(":")[0] for one in life.events(up, "StageEntered", name)]
    assert len(entered) == len(set(entered))
    assert set(entered) <= {f"2.0.0 enters {stage}" for stage in KILLS}
    for reason in (
        "StageEntered",
        "DecisionApplied",
        "Draining",
        "Completed",
        "RolloutCreated",
        "StableChanged",
    ):
        assert {one["count"] for one in life.events(up, reason)} <= {1}, reason
    assert len(life.events(up, "Completed", name)) == 1
    assert len(up.objects("workflowrollouts")) == 1


def test_a_killed_worker_loses_nothing_and_the_other_serves_on(tmp_path: Path) -> None:
    up = Up(tmp_path / "state", workers=2)
    users = Users(0, threads=3)
    with component_server() as url:
        try:
            up.start()
            users.port = up.port
            up.apply(staged("1.0.0", url))
            until("stable serves", lambda: run(up.port, {"text": "first"}))
            up.apply(staged("2.0.0", url, needs=life.LONG))
            in_state(up, "Canary", "2.0.0")
            with users.sending():
                for _ in range(3):
                    kill_one_worker(up, users)
            assert up.stop() == 0
        finally:
            up.kill()
    assert len(users.answered) > 20 * users.failed, "most users notice nothing"
    life.check_nothing_is_lost(up, users.answered)


def kill_one_worker(up: Up, users: Users) -> None:
    """One of two; the survivor answers before a new one listens, then there are two again."""
    until("there are two", lambda: len(life.workers(up)) == 2)
    before = life.workers(up)
    killed, survivor = sorted(before)
    answered = len(users.answered)
    until("busy", lambda: len(users.answered) > answered + 10)
    os.kill(before[killed], signal.SIGKILL)
    run_id = until("the other answers", lambda: run(up.port, {"text": "after"}))
    until("taken in", lambda: up.api("GET", f"/lineage/runs/{run_id}")[0] == 200)
    assert up.api("GET", f"/lineage/runs/{run_id}")[1]["items"][0]["worker"] == survivor
    until("two again", lambda: len(now := life.workers(up)) == 2 and killed not in now)


def test_everything_killed_at_once_under_load_starts_again(tmp_path: Path) -> None:
    up = Up(tmp_path / "state", workers=2)
    users = Users(0, threads=3)
    with component_server() as url:
        try:
            up.start()
            users.port = up.port
            up.apply(staged("1.0.0", url))
            until("stable serves", lambda: run(up.port, {"text": "first"}))
            up.apply(staged("2.0.0", url, needs={"Controlled": life.NEVER}))
            with users.sending():
                before = in_state(up, "Controlled", "2.0.0")
                for _ in range(3):
                    pids = tuple(life.workers(up).values())
                    life.kill_all([up.process.pid if up.process else 0, *pids])
                    up.kill()
                    until("all are dead", partial(are_dead, pids))
                    back(up, users)
            after = rollout_of(up, "2.0.0")
            assert after is not None
            check_goes_on(before, after)
            assert up.stop() == 0
        finally:
            up.kill()
    life.check_nothing_is_lost(up, users.answered)
