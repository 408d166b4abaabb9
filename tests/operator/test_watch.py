"""The watch in the control loop, and from run documents in a real store to the condition that people read."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.adapters.system import seeded
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.watch import Watched
from sluicegate.lineage.entries import encode_run
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.operator.ports import Json
from sluicegate.rollout.model import Ref
from tests.lineage.builders import run
from tests.operator.samples import staged
from tests.operator.world import World

KEY = Ref("AgentWorkflow", "default", "echo")
WATCH = {"falseAlarmEvery": 1000, "baselineUnits": 200}


class Served:
    """A world whose runs are in a real store."""

    def __init__(self, path: Path) -> None:
        self.path, self.world, self.random, self.number = path, World(), seeded(5), 0
        self.store = LineageStore(path)

    def restart(self) -> None:
        """Of the loop and of the store; what is left is on disk, and the objects."""
        self.store.close()
        self.store = LineageStore(self.path)
        self.world.restart()

    async def start(
        self, version: str = "1.0.0", output: Json | None = None, sla: Json | None = None, **watch: Any
    ) -> None:
        wanted = staged(version, "http://127.0.0.1:9")
        if sla is not None:
            wanted["spec"]["contract"] = {"sla": sla}
        if output is not None:
            wanted["spec"]["components"][0]["contract"] = {"output": output}
        wanted["spec"]["watch"] = WATCH | watch
        await self.world.memory.create(wanted)
        await self.look(3)

    async def edit(self, **watch: Any) -> None:
        held = await self.world.memory.get(KEY)
        await self.world.memory.update({**held, "spec": {**held["spec"], "watch": WATCH | watch}})
        await self.look()

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.world.loop._gather = replace(self.world.loop._gather, evidence=FoldedEvidence(self.store))
            await self.world.round(seconds=61, units=0)

    def users(
        self,
        count: int,
        mean: float | None,
        *,
        revision: str,
        buys: float | None = None,
        latency_ms: float = 12.5,
    ) -> None:
        """Runs of the stable version; mean: of the rewards, None: no reward comes. buys: share of that intent."""
        lines = []
        for _ in range(count):
            self.number += 1
            at = self.world.clock.at + timedelta(milliseconds=self.number)
            reward = None if mean is None else float(self.random.random() < mean)
            made = run(
                f"run-{self.number:06d}",
                namespace="default",
                workflow="echo",
                revision=revision,
                unit=f"run-{self.number:06d}",
                window_seconds=0.0,
                reward=reward,
                latency_ms=latency_ms,
                started_at=at.isoformat(),
                choices={} if buys is None else self.choice(buys),
            )
            lines.append(encode_run(made))
        for start in range(0, count, 400):  # a transaction closes 500 units at most
            self.store.ingest(lines[start : start + 400], now=self.world.clock.at + timedelta(seconds=60))

    def choice(self, buys: float) -> dict[str, dict[str, float]]:
        return {"agent.intent": {"buy" if self.random.random() < buys else "ask": 1.0}}

    async def revision(self) -> str:
        return (await self.world.memory.get(KEY))["status"]["stableRevision"]  # type: ignore[no-any-return]

    async def said(self, condition: str = "RewardDecaying") -> Json:
        status = (await self.world.memory.get(KEY))["status"]
        return next(one for one in status["conditions"] if one["type"] == condition)

    def alarms(self, reason: str = "RewardDecayed") -> list[str]:
        return [event.message for event in self.world.events.seen.values() if event.reason == reason]


async def test_a_fall_of_the_reward_is_told_once_and_survives_every_restart(tmp_path: Path) -> None:
    served = Served(tmp_path / "l.db")
    await served.start()
    assert (await served.said())["reason"] == "NoData"
    revision = await served.revision()
    served.users(100, 0.9, revision=revision)
    await served.look()
    assert (await served.said())["reason"] == "Learning"
    served.users(900, 0.9, revision=revision)
    await served.look()
    healthy = await served.said()
    assert (healthy["status"], healthy["reason"], served.alarms()) == ("False", "Steady", [])
    for _ in range(6):
        served.users(50, 0.6, revision=revision)
        served.restart()
        await served.look()
    alarm = await served.said()
    assert (alarm["status"], alarm["reason"]) == ("True", "RewardFell")
    assert alarm["message"].startswith("the reward fell from 0.9")
    assert len(served.alarms()) == 1
    served.users(3000, 0.95, revision=revision)
    served.restart()
    await served.look(3)
    assert await served.said() == alarm, "it stays until a person or a new version answers it"
    assert len(served.alarms()) == 1


async def test_outputs_are_judged_by_a_baseline_that_was_frozen_after_the_promotion(tmp_path: Path) -> None:
    served = Served(tmp_path / "l.db")
    await served.start(output={"type": "object", "properties": {"intent": {"enum": ["ask", "buy"]}}})
    revision = await served.revision()
    served.users(150, 0.9, revision=revision, buys=0.2)
    await served.look()
    assert (await served.said("OutputsDrifting"))["reason"] == "Learning"
    served.users(450, 0.9, revision=revision, buys=0.2)
    await served.look()
    healthy = await served.said("OutputsDrifting")
    assert (healthy["status"], healthy["reason"]) == ("False", "Steady")
    assert f"from {revision}@1" in healthy["message"]
    for _ in range(5):
        served.users(60, 0.9, revision=revision, buys=0.6)
        served.restart()
        await served.look()
    alarm = await served.said("OutputsDrifting")
    assert (alarm["status"], alarm["reason"]) == ("True", "OutputMoved")
    assert alarm["message"].startswith("agent.intent: ")
    assert len(served.alarms("OutputsDrifted")) == 1
    assert (await served.said())["status"] == "False", "the reward is as it was"
    await served.edit(baseline=2)
    assert (await served.said("OutputsDrifting"))["status"] == "Unknown"
    served.users(400, 0.9, revision=revision, buys=0.6)
    await served.look()
    again = await served.said("OutputsDrifting")
    assert again["status"] == "False"
    assert f"from {revision}@2" in again["message"]


async def test_a_breach_of_the_sla_and_its_end_are_told_once_and_survive_every_restart(
    tmp_path: Path,
) -> None:
    """In a real store, from run documents: 500 ms are promised of 95 % of the runs."""
    served = Served(tmp_path / "l.db")
    await served.start(sla={"maxLatencyMs": 500})
    revision = await served.revision()
    spans = ((800, 40.0, "PromisesKept"), (100, 900.0, "PromiseBroken"), (800, 40.0, "PromisesKept"))
    for count, latency_ms, reason in spans:
        for _ in range(4):
            served.users(count // 4, 0.9, revision=revision, latency_ms=latency_ms)
            served.restart()
            await served.look()
        assert (await served.said("SlaBreached"))["reason"] == reason
    [breach], [kept] = served.alarms("SlaBreached"), served.alarms("SlaKept")
    assert breach.startswith("p95 at most 500 ms is broken: about ")
    assert kept.startswith("p95 at most 500 ms is kept: about ")
    assert (await served.said())["status"] == "False", "the reward is as it was"


async def test_restarts_change_no_bit_and_folded_units_go(tmp_path: Path) -> None:
    states = []
    for restarts in (False, True):
        served = Served(tmp_path / f"{restarts}.db")
        await served.start()
        revision = await served.revision()
        key = Watched("default", "echo", revision).key
        for mean in (0.9, 0.9, 0.9, 0.8, 0.5):
            served.users(120, mean, revision=revision)
            if restarts:
                served.restart()
                await served.look()
            else:
                served.world.clock.at += timedelta(seconds=61)
        await served.look()
        states.append(served.store.load(key))
        assert len(served.store.observations(key, after=0)) == 1
    assert states[0] == states[1]


async def test_a_healthy_version_stays_so_and_writes_nothing(tmp_path: Path) -> None:
    served = Served(tmp_path / "l.db")
    await served.start()
    revision = await served.revision()
    served.users(400, 0.9, revision=revision)
    await served.look(2)
    version = served.world.memory.version
    for _ in range(20):
        served.users(100, 0.9, revision=revision)
        await served.look()
    assert (await served.said())["status"] == "False"
    assert served.world.memory.version == version
    assert served.alarms() == []


async def test_rewards_that_do_not_come_are_no_alarm_and_no_health(tmp_path: Path) -> None:
    served = Served(tmp_path / "l.db")
    await served.start()
    revision = await served.revision()
    served.users(400, 0.9, revision=revision)
    await served.look()
    assert (await served.said())["status"] == "False"
    served.users(500, None, revision=revision)
    await served.look()
    found = await served.said()
    assert (found["status"], found["reason"], served.alarms()) == ("Unknown", "NoData", [])


async def test_a_raised_baseline_takes_todays_level(tmp_path: Path) -> None:
    served = Served(tmp_path / "l.db")
    await served.start()
    revision = await served.revision()
    served.users(400, 0.9, revision=revision)
    served.users(400, 0.5, revision=revision)
    await served.look()
    assert (await served.said())["status"] == "True"
    await served.edit(baseline=2)
    assert (await served.said())["status"] == "Unknown"
    served.users(600, 0.5, revision=revision)
    await served.look()
    assert (await served.said())["status"] == "False"
    rollouts = await served.world.rollouts()
    assert rollouts == [], "the watch is no part of a version"


async def test_a_store_that_does_not_answer_stops_nothing(tmp_path: Path) -> None:
    served = Served(tmp_path / "l.db")
    await served.start()
    revision = await served.revision()
    served.users(400, 0.9, revision=revision)
    await served.look()
    before = await served.said()
    failing: Callable[..., Any] = _unavailable
    served.store.observations = failing  # type: ignore[method-assign]
    await served.look(3)
    assert await served.said() == before
    assert ("AgentWorkflow", "Error") not in served.world.told.looks


def _unavailable(*_: Any, **__: Any) -> None:
    raise Unavailable("the disk is gone")


@pytest.mark.parametrize("enabled", [True, False])
async def test_it_can_be_switched_off(tmp_path: Path, enabled: bool) -> None:
    served = Served(tmp_path / "l.db")
    await served.start(enabled=enabled)
    status = (await served.world.memory.get(KEY))["status"]
    assert any(one["type"] == "RewardDecaying" for one in status["conditions"]) is enabled
