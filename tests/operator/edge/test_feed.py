"""Plans out of the API server into the plan table, without one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sluicegate.contracts.adapters.system import SystemClock
from sluicegate.contracts.routes import RevisionBody, RoutePlan
from sluicegate.gateway.plan_table import WorkflowKey
from sluicegate.operator.cluster import plan_codec
from sluicegate.operator.cluster.ports import Page, Seen
from sluicegate.operator.edge.board import PlanBoard
from sluicegate.operator.edge.feed import PlanFeed
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.ports import ChangeType, Json

SERVICE = {
    "runtime": "Service",
    "service": {"route": {"name": "edge"}, "backend": {"name": "v1", "port": 80}},
}


def stored(workflow: str, spec: Json, revision: int) -> Json:
    body = RevisionBody(name=f"{workflow}-1", digest="sha256:0", version="1", spec=spec)
    plan = RoutePlan(namespace="shop", workflow=workflow, version=1, stable=body)
    item = plan_codec.encode(plan, owner=None)
    return item | {"metadata": item["metadata"] | {"uid": workflow, "resourceVersion": str(revision)}}


@dataclass
class Api:
    """A list, then some changes, then nothing."""

    items: tuple[Json, ...]
    changes: tuple[Json, ...] = ()
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def list(self, *_: Any, **__: Any) -> Page:
        return Page(items=self.items, version="10")

    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[Seen]:
        for item in self.changes:
            yield Seen(type=ChangeType.MODIFIED, item=item, version=item["metadata"]["resourceVersion"])
        self.told.set()
        await asyncio.Event().wait()


class Nothing:
    async def need(self, plan: RoutePlan) -> None:
        pass

    def forget(self, key: WorkflowKey) -> None:
        pass


async def followed(api: Api, folder: Path) -> tuple[list[str], PlanFeed]:
    """The workflows whose plans are there for the workers."""
    board = PlanBoard(folder / "plans.db", SystemClock())
    feed = PlanFeed(
        api=api,  # type: ignore[arg-type]
        board=board,
        needed=Nothing(),
        clock=HostClock(),
        namespace=None,
        on_written=lambda *_: None,
    )
    task = asyncio.ensure_future(feed.run())
    async with asyncio.timeout(90):
        await asyncio.wait(
            {task, asyncio.ensure_future(api.told.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    found = [plan.workflow for plan in await board.plans()]
    await board.close()
    return found, feed


async def test_plans_of_services_are_not_for_the_workers(tmp_path: Path) -> None:
    api = Api((stored("own", {}, 3), stored("far", SERVICE, 4)), (stored("away", SERVICE, 11),))
    assert (await followed(api, tmp_path))[0] == ["own"]


async def test_a_plan_that_nobody_could_serve_does_not_stop_the_others(tmp_path: Path) -> None:
    odd = stored("odd", {"components": 5}, 4)
    listed = stored("listed", {}, 3)
    spoilt = stored("spoilt", {}, 11)
    inside = json.loads(spoilt["data"]["plan.json"]) | {"stable": 5}
    spoilt["data"]["plan.json"] = json.dumps(inside)
    found, feed = await followed(Api((odd, listed), (spoilt, stored("later", {}, 12))), tmp_path)
    assert found == ["later", "listed"]
    assert {key.workflow for key in feed.unreadable} == {"odd", "spoilt"}
