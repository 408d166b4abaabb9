"""The small parts: events, ingester thread, clock of requests, metrics endpoint, retention, the folder's lock."""

import asyncio
import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from sluicegate.contracts.adapters.system import SystemClock
from sluicegate.contracts.errors import Conflict, Refused, Unavailable
from sluicegate.contracts.evidence import EvidenceKey, SignalEvidence, StageEvidence
from sluicegate.contracts.resources import AgentWorkflow, WorkflowRollout
from sluicegate.contracts.resources.base import Condition
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.contracts.stages import Outcome, Signal, Stage, State
from sluicegate.gateway.plan_table import PlanTable, WorkflowKey
from sluicegate.lineage.ingester import Progress
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.api.lineage_view import since
from sluicegate.operator.local import logs, retention
from sluicegate.operator.local.ingest import IngestThread
from sluicegate.operator.local.metrics_server import MetricsServer
from sluicegate.operator.local.plans import LocalPlans
from sluicegate.operator.local.reservation import PortReservation
from sluicegate.operator.local.state_dir import StateDir, UpFile, default_state_dir, read_up
from sluicegate.operator.local.telemetry import Telemetry
from sluicegate.operator.local.workers import LONGEST, Fleet, Supervisor
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.loop.gather import typed
from sluicegate.operator.resources.events import SqliteEvents
from sluicegate.operator.resources.memory import MemoryStore
from sluicegate.rollout.model import Event, Ref
from tests.operator.samples import staged, workflow
from tests.operator.world import World

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ABOUT = Ref("WorkflowRollout", "default", "echo-1")


def event(reason: str = "StageEntered", message: str = "on", *, key: str = "", about: Ref = ABOUT) -> Event:
    return Event(reason=reason, message=message, about=about, key=key)


@pytest.fixture
def events(tmp_path: Path) -> Any:
    made = SqliteEvents(tmp_path / "events.db", clock=lambda: NOW, kept=10)
    yield made
    made.close()


def test_a_repeated_event_counts_and_becomes_the_newest(events: SqliteEvents) -> None:
    for message in ("on", "off", "on"):
        events.record(event(message=message))
    found = [(one["message"], one["count"]) for one in events.find()]
    assert found == [("off", 1), ("on", 2)]


def test_events_go_on_after_a_full_disk(events: SqliteEvents) -> None:
    pages = events._base.execute("PRAGMA page_count").fetchone()[0]
    events._base.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(Unavailable, match="full"):
        events.record(event(key="x" * 100_000))
    events._base.execute("PRAGMA max_page_count=100000")
    events.record(event(message="again"))
    assert events.find()[-1]["message"] == "again"


def test_equal_keys_are_the_same_event_whatever_it_says(events: SqliteEvents) -> None:
    events.record(event(message="at 10:00", key="k"))
    events.record(event(message="at 10:01", key="k"))
    (one,) = events.find()
    assert (one["message"], one["count"]) == ("at 10:01", 2)


def test_events_are_bounded_and_found_by_what_they_are_about(events: SqliteEvents) -> None:
    for number in range(25):
        events.record(event(message=str(number), about=Ref("AgentWorkflow", "default", f"w{number % 2}")))
    assert [one["message"] for one in events.find()] == [str(number) for number in range(15, 25)]
    assert [one["message"] for one in events.find(name="w1", limit=2)] == ["21", "23"]
    events.record(event())
    events.record(event(about=Ref("AgentWorkflow", "default", "echo")))
    for other in ("echoes", "echo-1", "echo-other"):
        events.record(event(about=Ref("AgentWorkflow", "default", other)))
    events.record(event(about=Ref("WorkflowRollout", "default", "echo-other-1")))
    assert [one["about"]["name"] for one in events.find(workflow="echo")] == ["echo-1", "echo"]


class Spool:
    """An ingester that fails a few times, then has some bytes left for a few steps."""

    def __init__(self, failures: int, lag: int, error: Exception | None = None) -> None:
        self.failures, self.lag, self.steps = failures, lag, 0
        self.error = error or sqlite3.OperationalError("disk is full")
        self.empty = threading.Event()

    def step(self, now: datetime) -> Progress:
        self.steps += 1
        if self.failures:
            self.failures -= 1
            raise self.error
        self.lag = max(0, self.lag - 1)
        if not self.lag:
            self.empty.set()
        return Progress(lag_bytes=self.lag)


@pytest.mark.parametrize("error", [sqlite3.OperationalError("disk is full"), ZeroDivisionError("a bug")])
def test_a_failing_ingester_goes_on_and_is_told(error: Exception) -> None:
    spool = Spool(failures=3, lag=2, error=error)
    failed: list[int] = []
    lags: list[int] = []
    thread = IngestThread(spool, on_lag=lags.append, on_failure=lambda: failed.append(1))
    thread.start()
    assert spool.empty.wait(10)
    thread.stop(10)
    assert len(failed) == 3
    assert not thread.failing
    assert lags[:2] == [1, 0]


class Busy(Spool):
    """Its first step goes on until the test says so."""

    def __init__(self) -> None:
        super().__init__(failures=0, lag=50)
        self.began, self.go = threading.Event(), threading.Event()

    def step(self, now: datetime) -> Progress:
        self.began.set()
        assert self.go.wait(10)
        return super().step(now)


def test_a_stop_takes_in_what_is_left() -> None:
    spool = Busy()
    thread = IngestThread(spool, on_lag=lambda _: None, on_failure=lambda: None)
    thread.start()
    assert spool.began.wait(10)
    thread.stop(0)  # asked; the step that runs is not waited for
    spool.go.set()
    thread.stop(10)
    assert spool.lag == 0


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("2h", timedelta(hours=2)),
        ("7d", timedelta(days=7)),
    ],
)
def test_since_may_be_a_while_ago(text: str, ago: timedelta) -> None:
    assert since(text, NOW) == NOW - ago


def test_since_may_be_a_time() -> None:
    assert since("2025-12-31T00:00:00Z", NOW) == NOW - timedelta(days=1)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "5", "-1h", "2025-12-31", "2025-12-31T00:00:00", "99999999999d", "99999999d"]
)
def test_since_is_refused_when_it_is_unclear(text: str) -> None:
    with pytest.raises(Refused):
        since(text, NOW)


async def test_metrics_are_served_in_both_formats() -> None:
    registry = CollectorRegistry()
    telemetry = Telemetry(registry)
    telemetry.processes.restarted()
    server = MetricsServer(registry, "127.0.0.1", 0)
    await server.start()
    address = f"http://127.0.0.1:{server.port}"
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{address}/metrics") as answer:
            assert "sluicegate_gateway_worker_restarts_total 1.0" in await answer.text()
        headers = {"Accept": "application/openmetrics-text; version=1.0.0"}
        async with session.get(f"{address}/metrics", headers=headers) as answer:
            assert (await answer.text()).endswith("# EOF\n")
    second = MetricsServer(registry, "127.0.0.1", server.port)
    with pytest.raises(Unavailable, match="metrics port"):
        await second.start()
    await server.stop()


async def test_a_rollout_is_counted_once_when_it_is_seen_to_end() -> None:
    world = World()
    await world.memory.create(staged("1.0.0", "http://x"))
    for _ in range(3):
        await world.round()
    held = await world.memory.get(Ref("AgentWorkflow", "default", "echo"))
    wanted = staged("2.0.0", "http://x")
    wanted["metadata"]["finalizers"] = held["metadata"]["finalizers"]
    await world.memory.update(wanted)
    await world.round()
    rollout = typed(await world.rollout(), WorkflowRollout)
    registry = CollectorRegistry()
    telemetry = Telemetry(registry)
    done = RolloutStatus(state=State.DONE, outcome=Outcome.ABORTED)
    telemetry.rollout(rollout, done)  # ended before this process began
    assert "outcomes_total{" not in generate_latest(registry).decode()
    canary = RolloutStatus(state=State.CANARY, stage=Stage.CANARY)
    item = SignalEvidence(signal=Signal.SUCCESS_RATE, harm_log_e=-1.5)
    key = EvidenceKey(rollout.metadata.uid or "", Stage.CANARY, 1)
    telemetry.rollout(rollout, canary, StageEvidence(key=key, signals=(item,)))
    assert 'question="harm",workflow="echo"} -1.5' in generate_latest(registry).decode()
    telemetry.rollout(
        rollout, canary.model_copy(update={"attempt": 2}), StageEvidence(key=key, signals=(item,))
    )
    assert "sluicegate_gate_log_e{" not in generate_latest(registry).decode(), "of an earlier attempt"
    for _ in range(3):
        telemetry.rollout(rollout, done)
    line = 'sluicegate_rollout_outcomes_total{namespace="default",outcome="Aborted",workflow="echo"} 1.0'
    assert line in generate_latest(registry).decode()
    telemetry.gone(Ref("AgentWorkflow", "default", "echo"))
    assert 'workflow="echo"' not in generate_latest(registry).decode()


@pytest.mark.parametrize("kind", ["FallbackReady", "DrillsPassing"])
def test_what_is_said_of_the_business_fallback_is_a_number_while_it_is_known(kind: str) -> None:
    registry = CollectorRegistry()
    telemetry, about = Telemetry(registry), Ref("AgentWorkflow", "shop", "bot")
    name = {"FallbackReady": "ready", "DrillsPassing": "drills_passing"}[kind]

    def told(status: Literal["True", "False", "Unknown"] | None) -> float | None:
        found = (
            ()
            if status is None
            else (Condition(type=kind, status=status, reason="R", last_transition_time=NOW),)
        )
        telemetry.fallback(about, WorkflowStatus(conditions=found))
        labels = {"namespace": "shop", "workflow": "bot"}
        return registry.get_sample_value(f"sluicegate_business_fallback_{name}", labels)

    assert [told(one) for one in ("True", "False", "Unknown", "True", None)] == [1.0, 0.0, None, 1.0, None]


async def test_retention_follows_each_workflow(tmp_path: Path) -> None:
    store = MemoryStore(lambda: NOW)
    short = workflow("short")
    short["spec"]["lineage"] = {"hotDays": 1, "coldDays": 2}
    for item in (short, workflow("plain")):
        typed(item, AgentWorkflow)
        await store.create(item)
    policy = retention.policy_of((await store.listing("AgentWorkflow")).items)
    tiers = {
        name: (policy.of(("default", name)).hot_days, policy.of(("default", name)).cold_days)
        for name in ("short", "plain")
    }
    assert tiers == {"short": (1, 2), "plain": (7, 90)}
    lineage = LineageStore(tmp_path / "lineage.db")
    await retention.sweep_once(store, lineage)
    lineage.close()


async def test_a_worker_that_died_long_ago_can_be_forgotten(tmp_path: Path) -> None:
    table = PlanTable(tmp_path / "plans.db")
    table.acknowledge("old", {WorkflowKey("shop", "bot"): 1}, NOW - timedelta(days=9))
    table.close()
    plans = LocalPlans(tmp_path / "plans.db", SystemClock())
    assert (await plans.programmed("shop", "bot")).gateways == 0
    assert await plans.workers() == ("old",)
    await plans.forget("old")
    assert await plans.workers() == ()
    await plans.close()


class Impatient(HostClock):
    """Notes for how long it was asked to sleep; the tenth sleep is the last."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if len(self.slept) == 10:
            raise TimeoutError


async def test_a_worker_that_cannot_be_started_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_process(*_: object, **__: object) -> None:
        raise BlockingIOError("no process to be had")

    async def told(*_: object) -> None: ...

    monkeypatch.setattr(asyncio, "create_subprocess_exec", no_process)
    StateDir(tmp_path).make()
    fleet, clock = Fleet(state=tmp_path, host="127.0.0.1", port=1, count=1, boot="b"), Impatient()
    with pytest.raises(ExceptionGroup):
        await Supervisor(fleet, clock, on_death=told, on_ready=lambda _: None).run()
    assert clock.slept[:3] == [0.2, 0.4, 0.8]
    assert clock.slept[9] == LONGEST


def test_a_folder_has_one_holder_at_a_time(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "s")
    state.make()
    assert state.root.stat().st_mode & 0o777 == 0o700
    with state.held(), pytest.raises(Conflict, match="another sluicegate up"), state.held():
        pass
    with state.held():
        pass


def test_the_folder_is_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLUICEGATE_STATE_DIR", str(tmp_path))
    assert default_state_dir() == tmp_path
    monkeypatch.delenv("SLUICEGATE_STATE_DIR")
    monkeypatch.setenv("HOME", "/home/alice")
    assert default_state_dir() == Path("/home/alice/.local/state/sluicegate")


def test_facts_of_a_dead_up_are_none(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    assert read_up(state) is None
    facts = UpFile(
        pid=2**22 + 1,  # above the kernel's largest pid
        gateway_host="127.0.0.1",
        gateway_port=1,
        metrics_port=2,
        workers=1,
        version="0",
        started_at="now",
    )
    facts.write(state.up)
    assert read_up(state) is None
    state.up.write_text("{torn")
    assert read_up(state) is None
    assert read_up(StateDir(state.up)) is None, "the state folder is a file"


def test_a_port_is_held_until_it_is_given_back() -> None:
    first = PortReservation("127.0.0.1", 0)
    with pytest.raises(Unavailable, match="another running sluicegate up"):
        PortReservation("127.0.0.1", first.port)
    first.close()
    PortReservation("127.0.0.1", first.port).close()
    with pytest.raises(Unavailable, match="no address"):
        PortReservation("not a host", 0)


def test_a_log_that_others_append_to_is_trimmed_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "SIZE", 10)
    path = tmp_path / "gateway.log"
    assert not logs.trim(path)
    with path.open("ab", buffering=0) as writer:
        writer.write(b"0123456789")
        assert not logs.trim(path)
        writer.write(b"a\n")
        assert logs.trim(path)
        writer.write(b"next\n")
    assert path.read_bytes() == b"next\n"
    assert (tmp_path / "gateway.log.1").read_bytes() == b"0123456789a\n"
