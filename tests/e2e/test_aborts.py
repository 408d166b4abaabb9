"""Abort works from every state: all users get the healthy version again, soon, seen from their side."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sluicegate.operator.resources.store import SqliteStore
from tests.e2e import life
from tests.e2e.life import Json, in_state, kill_when, rollout_of, silent_gateway, stored
from tests.e2e.users import cli, crowd
from tests.operator.samples import decision, staged
from tests.operator.up import Up, component_server, until

pytestmark = pytest.mark.e2e

STABLE, CANDIDATE = "1.0.0", "2.0.0"


def rolling(up: Up, url: str, name: str, candidate: Json) -> None:
    up.apply(staged(STABLE, url, name=name))
    life.serving(up, name)
    up.apply(candidate)


def state(up: Up, name: str) -> Any:
    """The rollout's status; a moment after the apply there is none yet."""
    found = rollout_of(up, CANDIDATE, name)
    return found["status"] if found else {"state": None}


def reach(up: Up, name: str, wanted: Callable[[Any], Any]) -> Any:
    """Users come until the rollout is as wanted."""
    return until("the state", lambda: crowd(up, name, 8) and wanted(state(up, name)))


def check_aborted(up: Up, name: str) -> None:
    """The command says so, the rollout ends, and soon no user meets the candidate any more."""
    code, said = cli(up, "abort", name, "--reason", "a test")
    assert code == 0, said
    assert "Applied" in said
    until("everybody gets stable", lambda: crowd(up, name) == {STABLE: 24})
    done = in_state(up, "Done", CANDIDATE, name)
    assert done["status"]["outcome"] == "Aborted"
    assert crowd(up, name, 60) == {STABLE: 60}
    until("the workflow follows nothing", lambda: workflow(up, name)["status"].get("rollout") is None)


def workflow(up: Up, name: str) -> Any:
    return next(item for item in up.objects("agentworkflows") if item["metadata"]["name"] == name)


def changed(candidate: Json, stage: str, **fields: Any) -> Json:
    """The candidate with other settings of one stage."""
    for one in candidate["spec"]["rollout"]["stages"]:
        if one["name"] == stage:
            one.update(fields)
    return candidate


@pytest.mark.parametrize("stage", ["Canary", "Shadow", "Controlled", "Full"])
def test_from_a_stage(up: Up, url: str, stage: str) -> None:
    name = f"in-{stage.lower()}"
    rolling(up, url, name, staged(CANDIDATE, url, name=name, needs={stage: life.NEVER}))
    reach(up, name, lambda status: status["state"] == stage)
    if stage in {"Controlled", "Full"}:
        until("users meet the candidate", lambda: crowd(up, name)[CANDIDATE])
    check_aborted(up, name)


def test_while_paused(up: Up, url: str) -> None:
    rolling(up, url, "paused", staged(CANDIDATE, url, name="paused", needs={"Controlled": life.NEVER}))
    reach(up, "paused", lambda status: status["state"] == "Controlled")
    assert cli(up, "pause", "paused")[0] == 0
    until("users meet the candidate", lambda: crowd(up, "paused")[CANDIDATE])
    check_aborted(up, "paused")


def test_while_held(up: Up, url: str) -> None:
    candidate = staged(CANDIDATE, url, name="held", needs={"Controlled": life.NEVER})
    rolling(up, url, "held", changed(candidate, "Controlled", maxDurationSeconds=1))
    reach(up, "held", lambda status: status.get("held"))
    until("users meet the candidate", lambda: crowd(up, "held")[CANDIDATE])
    check_aborted(up, "held")


def test_while_awaiting_approval(up: Up, url: str) -> None:
    candidate = staged(CANDIDATE, url, name="asking")
    rolling(up, url, "asking", changed(candidate, "Controlled", approvals={"required": 1}))

    def is_asking(status: Any) -> bool:
        found = {one["type"]: one["status"] for one in status.get("conditions", ())}
        return bool(found.get("AwaitingApproval") == "True")

    reach(up, "asking", is_asking)
    until("users meet the candidate", lambda: crowd(up, "asking")[CANDIDATE])
    check_aborted(up, "asking")


def test_while_a_promotion_is_on_its_way(up: Up, url: str) -> None:
    rolling(up, url, "late", staged(CANDIDATE, url, name="late"))
    with silent_gateway(up):
        reach(up, "late", lambda status: status["state"] == "Draining")
        assert state(up, "late")["outcome"] == "Promoted"
        code, said = cli(up, "abort", "late")
        assert code == 0, said
        until("everybody gets stable", lambda: crowd(up, "late") == {STABLE: 24})
        assert state(up, "late")["outcome"] == "Aborted"
    done = in_state(up, "Done", CANDIDATE, "late")
    assert done["status"]["outcome"] == "Aborted"
    assert crowd(up, "late") == {STABLE: 24}
    assert workflow(up, "late")["status"]["stableRevision"] == done["spec"]["stable"]["name"]


def test_after_a_promotion_it_says_what_takes_it_back(up: Up, url: str) -> None:
    rolling(up, url, "done", staged(CANDIDATE, url, name="done"))
    reach(up, "done", lambda status: status["state"] == "Done")
    code, said = cli(up, "abort", "done")
    assert code == 2
    assert "undo" in said
    assert crowd(up, "done") == {CANDIDATE: 24}
    assert cli(up, "undo", "done")[0] == 0
    until("everybody gets the earlier one", lambda: crowd(up, "done") == {STABLE: 24})


def test_twice_is_no_harm(up: Up, url: str) -> None:
    rolling(up, url, "twice", staged(CANDIDATE, url, name="twice", needs=life.LONG))
    in_state(up, "Canary", CANDIDATE, "twice")
    check_aborted(up, "twice")
    check_aborted(up, "twice")
    assert cli(up, "rollout", "status", "twice")[0] == 7


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Up, str]]:
    """An `up` that may be killed."""
    with ExitStack() as stack:
        base = stack.enter_context(component_server())
        running = Up(tmp_path / "s")
        stack.callback(running.kill)
        running.start()
        yield running, base


def test_before_it_started(own: tuple[Up, str]) -> None:
    """Killed in Pending; the abort is there when it wakes up."""
    up, url = own
    with life.kept_pending(up):
        rolling(up, url, "echo", staged(CANDIDATE, url, needs=life.LONG))
        kill_when(up, bool)
    (pending,) = stored(up)
    assert pending.get("status", {}).get("state", "Pending") == "Pending"
    abort = decision("early", "Abort", {**pending, "status": {"stage": None, "attempt": 1}})
    abort["spec"]["expected"] = {"candidate": pending["spec"]["candidate"]["digest"]}
    abort["spec"]["decidedBy"] = "somebody"
    store = SqliteStore(up.state.resources)
    store.create(abort)
    store.close()
    up.start()
    done = in_state(up, "Done", CANDIDATE)
    assert done["status"]["outcome"] == "Aborted"
    assert done["status"].get("history", []) == []
    assert crowd(up, "echo") == {STABLE: 24}
    assert up.stop() == 0
