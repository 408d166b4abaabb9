"""Gateways beside an operator that watches other namespaces only."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from sluicegate.contracts.errors import Unavailable
from sluicegate.operator.cluster import assembly_feeds
from sluicegate.operator.cluster.assembly_feeds import follow_home
from sluicegate.operator.cluster.informer_sinks import TellingSink
from sluicegate.operator.cluster.ports import Page, Seen

LEASE = {"metadata": {"namespace": "system", "name": "gateway", "uid": "u", "resourceVersion": "4"}}


class Api:
    """Does not answer the first list."""

    lists = 0

    async def list(self, *_: Any, **__: Any) -> Page:
        self.lists += 1
        if self.lists == 1:
            raise Unavailable("no answer")
        return Page(items=(LEASE,), version="5")

    async def watch(self, *_: Any, **__: Any) -> AsyncIterator[Seen]:
        await asyncio.Event().wait()
        yield Seen(type=None, item=None, version="6")


async def test_nobody_leads_before_the_gateways_at_home_are_known(monkeypatch: Any) -> None:
    monkeypatch.setattr(assembly_feeds, "RETRY_SECONDS", 0.01)
    told: list[str] = []
    listed = asyncio.Event()
    sink = TellingSink(lambda item, _: told.append(item["metadata"]["name"]))
    task = asyncio.ensure_future(follow_home(Api(), "system", sink, listed))  # type: ignore[arg-type]
    async with asyncio.timeout(90):
        await listed.wait()
    assert told == ["gateway"]
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
