"""A cancellation is never lost, also when a deadline passes in the same turn of the loop: as after a stopped process wakes.

aiohttp's own total timeout loses it (a timer that is entered twice takes two cancellations for its own).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from sluicegate.operator.cluster.kube import connect
from sluicegate.operator.cluster.kube_access import FixedToken, KubeConfig
from sluicegate.operator.cluster.ports import LEASES
from sluicegate.operator.cluster.remote import LineageClient
from sluicegate.operator.process import Uncounted

SECONDS = 0.4


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """A server that takes every request and answers none."""
    connections: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: connections.append(writer), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        for writer in connections:
            writer.close()
        server.close()
        await server.wait_closed()


async def cancelled_late(ask: Callable[[], Awaitable[object]], deadline: float) -> bool:
    """Whether the task ends when it is cancelled just after `deadline`, in a loop that stood still over both."""
    loop = asyncio.get_running_loop()
    goes_on = asyncio.Event()

    async def work() -> None:
        while True:
            try:
                await ask()
            except Exception:  # noqa: BLE001 - as every loop that outlives a failure
                goes_on.set()
                await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    began = loop.time()
    loop.call_at(began + deadline * 0.5, lambda: time.sleep(deadline))
    loop.call_at(began + deadline * 1.2, task.cancel)
    waiting = asyncio.ensure_future(goes_on.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(0)
    waiting.cancel()
    ended = task.cancelled()
    task.cancel()
    await asyncio.wait({task})
    return ended


async def test_of_the_kubernetes_api(tmp_path: Path) -> None:
    async with silent() as url:
        config = tmp_path / "kubeconfig"
        config.write_text(
            f"contexts: [{{name: c, context: {{cluster: c}}}}]\nclusters: [{{name: c, cluster: {{server: '{url}'}}}}]\n"
            "current-context: c\n"
        )
        kube = KubeConfig(kubeconfig=config, request_seconds=2 * SECONDS)  # half of it for one attempt
        async with connect(kube, Uncounted()) as api:
            assert await cancelled_late(lambda: api.get(LEASES, "a", "b"), SECONDS)


async def test_of_the_lineage_process() -> None:
    async with silent() as url:
        client = LineageClient(url, FixedToken(), seconds=SECONDS)
        try:
            assert await cancelled_late(lambda: client.call("GET", "/"), SECONDS)
        finally:
            await client.close()
