"""What the tests of this folder ask of a running or killed `up`."""

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Event, Thread
from typing import Any

import orjson

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.contracts.stages import Stage
from sluicegate.gateway.plan_table import PlanTable
from sluicegate.lineage.store import LineageStore
from sluicegate.observability.fold import Fold
from sluicegate.operator.resources.store import SqliteStore
from sluicegate.rollout.planning import look
from tests.operator.up import Up, no_traceback, until

Json = dict[str, Any]
NEVER = 1_000_000
"""A stage that needs so many runs is left by people only."""
LONG = dict.fromkeys(("Canary", "Shadow", "Controlled", "Full"), NEVER)


@contextmanager
def running(up: Up) -> Iterator[Up]:
    """Started; at the end it stops when it is told to, and no log has a traceback."""
    try:
        up.start()
        yield up
        assert up.stop() == 0
    finally:
        up.kill()
    no_traceback(up.logs())


def serving(up: Up, workflow: str = "echo") -> None:
    """Wait until every worker serves the workflow, not only the one that answers first."""

    def ready() -> bool:
        found = [item for item in up.objects("agentworkflows") if item["metadata"]["name"] == workflow]
        conditions = (found[0].get("status") or {}).get("conditions", []) if found else []
        return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)

    until(f"every worker serves {workflow}", ready)


def is_programmed(rollout: Json | None) -> bool:
    """Whether every worker follows the rollout's plan."""
    status = (rollout or {}).get("status") or {}
    return bool(status) and status.get("programmedVersion", 0) >= status.get("planVersion", 0)


def rollouts(up: Up, workflow: str = "echo") -> list[Json]:
    """Those of a workflow that have a status, the oldest first."""
    found = [item for item in up.objects("workflowrollouts") if item["spec"]["workflow"] == workflow]
    return sorted(
        (item for item in found if item.get("status")), key=lambda item: item["metadata"]["creationTimestamp"]
    )


def rollout_of(up: Up, version: str, workflow: str = "echo") -> Json | None:
    """The rollout towards `version`."""
    found = [item for item in rollouts(up, workflow) if item["spec"]["candidate"]["version"] == version]
    return found[-1] if found else None


def in_state(up: Up, state: str, version: str, workflow: str = "echo") -> Json:
    """Wait until the rollout towards `version` is in `state`."""

    def there() -> Json | None:
        found = rollout_of(up, version, workflow)
        return found if found and found["status"]["state"] == state else None

    found: Json = until(f"{workflow} {version} in {state}", there)
    return found


def stored(up: Up, kind: str = "WorkflowRollout") -> list[Json]:
    """Objects as they are on disk, whether `up` runs or not."""
    if not up.state.resources.exists():
        return []
    base = sqlite3.connect(f"file:{up.state.resources}?mode=ro", uri=True, timeout=60)
    try:
        return [
            orjson.loads(row[0]) for row in base.execute("SELECT body FROM objects WHERE kind=?", (kind,))
        ]
    finally:
        base.close()


def kill_when(up: Up, is_due: Callable[[list[Json]], bool], seconds: float = 90.0) -> None:
    """kill -9 in the very moment in which the rollouts on disk are as wished: nothing after that commit is done."""
    base = sqlite3.connect(f"file:{up.state.resources}?mode=ro", uri=True, timeout=60)
    deadline = time.monotonic() + seconds
    try:
        while True:
            rows = base.execute("SELECT body FROM objects WHERE kind='WorkflowRollout'").fetchall()
            if is_due([orjson.loads(row[0]) for row in rows]):
                up.kill()
                return
            assert time.monotonic() < deadline, "the moment to kill did not come"
    finally:
        base.close()


_NO_START = """
CREATE TRIGGER no_start BEFORE UPDATE ON objects
WHEN new.kind = 'WorkflowRollout' AND json_extract(CAST(new.body AS TEXT), '$.status.state') = 'Canary'
BEGIN SELECT RAISE(ABORT, 'a test keeps it Pending'); END
"""


@contextmanager
def kept_pending(up: Up) -> Iterator[None]:
    """No rollout can start: Pending lasts a moment, too short to meet it surely."""
    with closing(sqlite3.connect(up.state.resources, timeout=60)) as base:
        base.execute(_NO_START)
    yield
    with closing(sqlite3.connect(up.state.resources, timeout=60)) as base:
        base.execute("DROP TRIGGER no_start")


def workers(up: Up) -> dict[str, int]:
    """Name -> pid of the gateway workers that announced themselves."""
    found = {}
    for card in (up.root / "workers").glob("*.json"):
        try:
            said = orjson.loads(card.read_bytes())
        except (OSError, ValueError):
            continue
        found[said["worker"]] = said["pid"]
    return found


def kill_all(pids: Iterable[int]) -> None:
    """kill -9 of each; those that are gone are gone."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_workers(up: Up) -> None:
    """kill -9 of every gateway worker."""
    kill_all(workers(up).values())


@contextmanager
def silent_gateway(up: Up) -> Iterator[None]:
    """A gateway that lives and follows no plan: what drains has to wait for it."""
    over = Event()

    def live() -> None:
        table = PlanTable(up.state.plans)
        while not over.wait(0.03):
            try:
                table.acknowledge("silent", {}, system.now())
            except Unavailable:
                continue
        table.forget("silent")
        table.close()

    thread = Thread(target=live)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def events(up: Up, reason: str, about: str | None = None) -> list[Json]:
    """Events of a reason, about one object or all."""
    found = up.api("GET", "/events?limit=1000")[1]["items"]
    return [one for one in found if one["reason"] == reason and about in {None, one["about"]["name"]}]


def check_nothing_is_lost(up: Up, answered: list[str]) -> None:
    """Every answered run is stored once per arm, and the evidence is that of the stored units, folded once each."""
    lineage = LineageStore(up.state.lineage)
    try:
        missing, twice = [], []
        for run_id in answered:
            arms = [document["arm"] for document in lineage.run(run_id)]
            missing += [] if arms else [run_id]
            twice += [run_id] if len(arms) != len(set(arms)) else []
        assert (missing, twice) == ([], [])
        check_folds(up, lineage)
    finally:
        lineage.close()


def check_folds(up: Up, lineage: LineageStore) -> None:
    """The kept evidence of every stage equals the units of that stage and attempt, each folded once."""
    store = SqliteStore(up.state.resources)
    items = store.listing("WorkflowRollout").items
    store.close()
    seen = 0
    for item in items:
        for stage in Stage:
            seen += _check_fold(item, stage, lineage)
    assert seen, "some stage had evidence"


def _check_fold(item: Json, stage: Stage, lineage: LineageStore) -> int:
    status = {**item["status"], "state": stage.value, "stage": stage.value}
    wanted = look(WorkflowRollout.model_validate({**item, "status": status}))
    assert wanted is not None
    saved = lineage.load(wanted.key)
    if saved is None:
        return 0
    # Full is judged against a baseline that its questions carry, so both sides are made with the same ones.
    folded = Fold.from_bytes(saved, wanted.questions)
    again = Fold(wanted.key, wanted.questions)
    again.add_all(one for one in lineage.observations(wanted.key, after=0) if one.sequence <= folded.cursor)
    assert again.to_bytes() == saved, f"{stage}: other units than the stored ones, or some twice"
    return 1
