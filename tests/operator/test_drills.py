"""Drills in the control loop: in the plan at once, reported, told, and what waits for them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sluicegate.contracts.drills import DrillCounts, DrillLook
from sluicegate.contracts.routes import Share
from sluicegate.contracts.runs import BusinessAnswer, ChainLink, Link, LinkOutcome, Trigger
from sluicegate.contracts.schedules import Window
from sluicegate.lineage.entries import encode_run
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.loop.evidence import FoldedEvidence
from sluicegate.operator.ports import Json
from sluicegate.rollout.model import Ref
from tests.lineage.builders import run
from tests.operator.samples import staged
from tests.operator.test_rule_sets import CARE, rule_set
from tests.operator.world import World

BOT = Ref("AgentWorkflow", "default", "echo")
HOURLY: dict[str, Any] = {"schedule": "0 * * * *", "durationSeconds": 600, "overdueAfterSeconds": 7200}
"""The world's clock begins at 12:00."""


class Drilled:
    """A world whose drills rehearse the runs that the test writes into a real store."""

    def __init__(self, path: Path) -> None:
        self.world, self.store, self.number = World(), LineageStore(path / "l.db"), 0
        self.world.loop._gather = replace(self.world.loop._gather, evidence=FoldedEvidence(self.store))

    async def start(self, version: str = "1.0.0", **drill: Any) -> None:
        wanted = staged(version, "http://127.0.0.1:9")
        wanted["spec"]["businessFallback"] = {"ruleSet": "care", "drill": HOURLY | drill}
        await self.world.memory.create(wanted)
        for _ in range(3):
            await self.look()

    async def edit(self, version: str | None = None, *, remove: bool = False, **drill: Any) -> None:
        held = await self.world.memory.get(BOT)
        spec = held["spec"]
        if version is not None:
            spec = staged(version, "http://127.0.0.1:9")["spec"] | {
                "businessFallback": spec["businessFallback"]
            }
        body = None if remove else HOURLY | drill
        fallback = {key: value for key, value in spec["businessFallback"].items() if key != "drill"}
        spec = spec | {"businessFallback": fallback | ({} if body is None else {"drill": body})}
        await self.world.memory.update({**held, "spec": spec})
        await self.look()

    async def look(self, at: str | None = None, day: int = 1) -> None:
        """at: HH:MM of that day of March; None: a second later."""
        now = self.world.clock.at
        if at is not None:
            hour, minute = map(int, at.split(":"))
            now = datetime(2026, 3, day, hour, minute, 30, tzinfo=UTC)
        await self.world.round(seconds=max((now - self.world.clock.at).total_seconds(), 1.0), units=0)

    def rehearse(self, outcome: LinkOutcome, at: str, count: int = 1, day: int = 1) -> None:
        hour, minute = map(int, at.split(":"))
        started = datetime(2026, 3, day, hour, minute, tzinfo=UTC)
        for _ in range(count):
            self.number += 1
            by = Link.RULES if outcome is LinkOutcome.ANSWERED else None
            link = ChainLink(link=Link.RULES, outcome=outcome)
            business = BusinessAnswer(trigger=Trigger.DRILL, rule_set="care", answered_by=by, chain=(link,))
            made = run(
                f"run-{self.number:06d}",
                namespace="default",
                workflow="echo",
                started_at=started.isoformat(),
                business=business,
            )
            self.store.ingest([encode_run(made)])

    async def status(self) -> Json:
        return (await self.world.memory.get(BOT))["status"]  # type: ignore[no-any-return]

    async def said(self) -> tuple[str, str] | None:
        found = [one for one in (await self.status())["conditions"] if one["type"] == "DrillsPassing"]
        return (found[0]["status"], found[0]["reason"]) if found else None

    def told(self) -> list[str]:
        return [
            one.message
            for one in self.world.events.seen.values()
            if one.reason in {"DrillFailed", "DrillOverdue"}
        ]


async def test_the_plan_has_the_drill_and_follows_a_change_without_a_rollout(tmp_path: Path) -> None:
    it = Drilled(tmp_path)
    await it.start()
    drill = it.world.gateways.plans[("default", "echo")].drill
    assert drill is not None
    assert (drill.schedule.cron, drill.schedule.seconds, drill.share, drill.mirrored) == (
        "0 * * * *",
        600,
        Share(1, 100),
        True,
    )
    assert await it.said() == ("Unknown", "DrillPending")
    await it.edit(schedule="30 9 * * 1", share={"numerator": 5})
    drill = it.world.gateways.plans[("default", "echo")].drill
    assert drill is not None
    assert (drill.schedule.cron, drill.share, await it.world.rollouts()) == ("30 9 * * 1", Share(5, 100), [])
    await it.edit(remove=True)
    assert (it.world.gateways.plans[("default", "echo")].drill, await it.said()) == (None, None)
    assert not {"lastDrill", "nextDrillAt"} & set(await it.status())


async def test_a_drill_is_reported_when_it_has_ended_and_every_run_was_answered(tmp_path: Path) -> None:
    it = Drilled(tmp_path)
    await it.start()
    it.rehearse(LinkOutcome.ANSWERED, "13:04", 3)
    await it.look("13:05")
    assert (await it.said(), "endedAt" in (await it.status())["lastDrill"]) == (
        ("Unknown", "DrillPending"),
        False,
    )
    it.rehearse(LinkOutcome.ANSWERED, "13:09", 2)
    it.rehearse(LinkOutcome.INVALID, "13:10")  # began when it was over
    await it.look("13:10")
    assert "endedAt" not in (await it.status())["lastDrill"], "runs of its last minute may still come"
    await it.look("13:12")
    status = await it.status()
    assert await it.said() == ("True", "DrillPassed")
    assert status["lastDrill"] == {
        "startedAt": "2026-03-01T13:00:00Z",
        "endedAt": "2026-03-01T13:10:00Z",
        "runs": 5,
        "answered": 5,
        "invalid": 0,
        "passed": True,
    }
    assert (status["lastPassedDrillAt"], status["nextDrillAt"]) == (
        "2026-03-01T13:10:00Z",
        "2026-03-01T14:00:00Z",
    )
    assert it.told() == []


async def test_a_failing_drill_is_told_once_at_once_and_until_one_passes(tmp_path: Path) -> None:
    it = Drilled(tmp_path)
    await it.start()
    it.rehearse(LinkOutcome.ANSWERED, "13:01")
    await it.look("13:02")
    it.rehearse(LinkOutcome.INVALID, "13:02")
    it.rehearse(LinkOutcome.NO_RULE, "13:02")
    await it.look("13:03")
    assert await it.said() == ("False", "DrillFailed")
    await it.look("13:12")
    report = (await it.status())["lastDrill"]
    assert (report["runs"], report["answered"], report["invalid"], report["passed"]) == (3, 1, 1, False)
    assert report["failedRun"] == "run-000002"
    assert len(it.told()) == 1
    assert "no valid answer to 2 of" in it.told()[0]
    it.rehearse(LinkOutcome.ANSWERED, "14:01")
    await it.look("14:02")
    assert await it.said() == ("False", "DrillFailed"), "the next one goes on"
    await it.look("14:12")
    assert await it.said() == ("True", "DrillPassed")
    it.rehearse(LinkOutcome.ABSENT, "15:01")
    await it.look("15:02")
    assert (await it.said(), len(it.told())) == (("False", "DrillFailed"), 2)


async def test_without_runs_there_is_no_drill_and_one_becomes_overdue(tmp_path: Path) -> None:
    it = Drilled(tmp_path)
    await it.start()
    await it.look("13:12")
    assert (await it.said(), "lastDrill" in await it.status()) == (("Unknown", "DrillPending"), False)
    await it.look("14:20")  # 7200 s after the first look
    assert (await it.said(), len(it.told())) == (("False", "DrillOverdue"), 1)
    it.rehearse(LinkOutcome.ANSWERED, "15:01")
    await it.look("15:12")
    assert await it.said() == ("True", "DrillPassed")
    await it.look("17:09")
    assert await it.said() == ("True", "DrillPassed")
    await it.look("17:11")
    await it.look("17:12")
    assert (await it.said(), len(it.told())) == (("False", "DrillOverdue"), 2)


async def test_a_run_just_before_the_next_drill_is_reported_with_its_own(tmp_path: Path) -> None:
    """Drills that follow each other without a pause, and nobody looked between the run and the next one."""
    it = Drilled(tmp_path)
    await it.start(schedule="*/10 * * * *")
    await it.look("13:08")
    it.rehearse(LinkOutcome.NO_RULE, "13:09")
    await it.look("13:10")
    report = (await it.status())["lastDrill"]
    assert (report["startedAt"], report["runs"], report["answered"]) == ("2026-03-01T13:00:00Z", 1, 0)
    assert await it.said() == ("False", "DrillFailed")
    it.rehearse(LinkOutcome.ANSWERED, "13:11")
    await it.look("13:11")
    assert (await it.status())["lastDrill"]["endedAt"] == "2026-03-01T13:10:00Z"
    await it.look("13:12")
    await it.look("13:21")
    assert await it.said() == ("True", "DrillPassed")


async def test_a_drill_that_took_place_while_the_loop_was_away_is_reported_later(tmp_path: Path) -> None:
    it = Drilled(tmp_path)
    await it.start()
    it.rehearse(LinkOutcome.ANSWERED, "13:01")
    await it.look("13:02")
    it.rehearse(LinkOutcome.NO_RULE, "13:05")
    await it.look("16:30")
    assert (await it.status())["lastDrill"]["endedAt"] == "2026-03-01T13:10:00Z"
    assert await it.said() == ("False", "DrillFailed")


async def test_nothing_is_written_while_a_drill_goes_on_as_before(tmp_path: Path) -> None:
    it = Drilled(tmp_path)
    await it.start()
    versions = []
    for minute in range(1, 9):
        it.rehearse(LinkOutcome.ANSWERED, f"13:0{minute}", 5)
        await it.look(f"13:0{minute}")
        versions.append((await it.world.memory.get(BOT))["metadata"]["resourceVersion"])
    assert len(set(versions[1:])) == 1


@pytest.mark.parametrize("blocks", [True, False])
async def test_a_failing_drill_holds_the_rollout_only_where_it_says_so_and_never_aborts(
    tmp_path: Path, blocks: bool
) -> None:
    it = Drilled(tmp_path)
    await it.start(blocksPromotion=blocks)
    it.world.lineage.drills = DrillCounts(
        look=DrillLook(
            namespace="default", workflow="echo", window=Window(it.world.clock.at, it.world.clock.at)
        ),
        runs=10,
        answered=9,
        failed_run="run-1",
    )
    it.world.restart()  # the evidence of stages is the world's from here on
    await it.look("13:20")
    assert await it.said() == ("False", "DrillFailed")
    await it.edit("1.1.0", blocksPromotion=blocks)
    for _ in range(40):
        await it.world.round(seconds=30)
    status = (await it.world.rollout())["status"]
    assert status["attempt"] == 1
    if not blocks:
        assert (status["state"], status["outcome"]) == ("Done", "Promoted")
        return
    reconciling = next(one for one in status["conditions"] if one["type"] == "Reconciling")
    assert (status["state"], reconciling["reason"], status.get("outcome")) == (
        "Canary",
        "AwaitingDrill",
        None,
    )
    assert "DrillFailed: the drill of" in reconciling["message"]
    it.world.lineage.drills = replace(it.world.lineage.drills, answered=10, failed_run=None)
    it.world.clock.at += timedelta(hours=1)
    done = await it.world.until_done(seconds=60)
    assert (done["status"]["outcome"], await it.said()) == ("Promoted", ("True", "DrillPassed"))


async def test_the_rule_set_tells_of_its_drills_and_its_own_schedule_is_followed(tmp_path: Path) -> None:
    it = Drilled(tmp_path)
    await it.world.memory.create(rule_set(drill=HOURLY | {"share": {"numerator": 2}}))
    await it.start()
    await it.edit(remove=True)
    for _ in range(3):
        await it.look()
    drill = it.world.gateways.plans[("default", "echo")].drill
    assert drill is not None
    assert (drill.schedule.cron, drill.share) == ("0 * * * *", Share(2, 100))
    it.rehearse(LinkOutcome.ANSWERED, "13:04", 3)
    await it.look("13:12")
    await it.look()
    told, own = (await it.world.memory.get(CARE))["status"], await it.status()
    assert told["lastDrill"]["passed"] is True
    names = ("lastDrill", "lastPassedDrillAt", "nextDrillAt")
    assert [told[name] for name in names] == [own[name] for name in names]
