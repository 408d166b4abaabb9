"""The real API server for the adapters' tests: clients, a cache fed by real watches, a clean slate."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sluicegate.contracts.errors import Conflict, NotFound
from sluicegate.contracts.resources import KINDS
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.kube import DynamicApi, connect
from sluicegate.operator.cluster.kube_access import KubeConfig
from sluicegate.operator.cluster.ports import Api, own
from sluicegate.operator.ports import ChangeType


@dataclass
class Counted:
    """`CallMetrics` that remembers."""

    calls: list[tuple[str, str, int]] = field(default_factory=list)

    def called(self, verb: str, resource: str, code: int, seconds: float) -> None:
        assert seconds >= 0
        self.calls.append((verb, resource, code))


@dataclass
class Open:
    """A fence that is open, for this epoch; closed by a test."""

    term: int = 7
    error: Exception | None = None

    def epoch(self) -> int:
        if self.error:
            raise self.error
        return self.term


@asynccontextmanager
async def client(
    kubeconfig: Path, metrics: Counted | None = None, *, seconds: float = 10.0
) -> AsyncIterator[DynamicApi]:
    config = KubeConfig(kubeconfig=kubeconfig, request_seconds=seconds)
    async with connect(config, metrics or Counted()) as api:
        yield api
    await asyncio.sleep(0.05)  # aiohttp ends TLS connections behind its back


@asynccontextmanager
async def fed(api: DynamicApi, cache: Cache, *kinds: str) -> AsyncIterator[None]:
    """The cache follows these kinds while inside; it has everything of before when entered."""
    async with AsyncExitStack() as stack:
        group = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = []
        for kind in kinds:
            page = await api.list(own(kind))
            cache.sync(kind, page.items, page.version)
            tasks.append(group.create_task(_follow(api, cache, own(kind), page.version)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def _follow(api: DynamicApi, cache: Cache, kind: Api, version: str) -> None:
    while True:
        async with aclosing(api.watch(kind, after=version)) as stream:
            async for seen in stream:
                version = seen.version
                if seen.type is ChangeType.DELETED:
                    assert seen.item is not None
                    cache.remove(seen.item)
                elif seen.item is not None:
                    cache.put(seen.item)


async def cleared(api: DynamicApi, kinds: tuple[str, ...] = tuple(KINDS)) -> None:
    """No object of ours is left anywhere."""
    for kind in kinds:
        while items := (await api.list(own(kind))).items:
            for item in items:
                metadata = item["metadata"]
                place, name = metadata.get("namespace"), metadata["name"]
                try:
                    if metadata.get("finalizers"):
                        off = [{"op": "remove", "path": "/metadata/finalizers"}]
                        await api.patch(own(kind), place, name, off, manager="tests")
                    await api.delete(own(kind), place, name)
                except (NotFound, Conflict):
                    continue


async def eventually(condition: Callable[[], Awaitable[bool]], seconds: float = 90.0) -> None:
    """Fails when it is not so in time."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - for another process
            await asyncio.sleep(0.05)
