"""The third layer: the webhooks of the chart, and our admission server behind them, beside the tests in a thread."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from sluicegate.operator.cluster.assembly_checks import FOLLOWED
from sluicegate.operator.cluster.certificates import Ages
from sluicegate.operator.cluster.informer import Informer, Source
from sluicegate.operator.cluster.informer_sinks import CacheSink, Highest
from sluicegate.operator.cluster.kube_access import KubeConfig, access_of
from sluicegate.operator.cluster.ports import own
from sluicegate.rollout.model import Ref
from tests.admission.objects import Json
from tests.controlplane.plane import ControlPlane
from tests.operator.cluster.serving import MovedClock, Served, serving
from tests.operator.cluster.test_informer import following
from tests.operator.up import until


@dataclass(frozen=True, slots=True)
class Webhook:
    """The server, and the loop that it lives in."""

    served: Served
    loop: asyncio.AbstractEventLoop

    def sees(self, item: Json) -> None:
        """Wait until the cache holds it, as it is now."""
        metadata = item["metadata"]
        ref = Ref(item["kind"], metadata["namespace"], metadata["name"])

        async def held() -> bool:
            found = self.served.cache.get(ref) or {"metadata": {}}
            return bool(found["metadata"].get("resourceVersion") == metadata["resourceVersion"])

        until(f"{ref} is seen", lambda: asyncio.run_coroutine_threadsafe(held(), self.loop).result(10))


@contextmanager
def answering(plane: ControlPlane) -> Iterator[Webhook]:
    """Answers until the end; its cache follows the API server as the operator's does."""
    started: Future[Webhook] = Future()
    stopped = asyncio.Event()

    async def serve() -> None:
        try:
            async with serving(plane, MovedClock(), Ages()) as served:
                sources = (
                    Source(api=own(kind), sink=CacheSink(kind, served.cache, Highest())) for kind in FOLLOWED
                )
                informer = Informer(
                    access=access_of(KubeConfig(kubeconfig=plane.kubeconfig())),
                    sources=tuple(sources),
                    monotonic=time.monotonic,
                )
                async with following(informer):
                    started.set_result(Webhook(served, asyncio.get_running_loop()))
                    await stopped.wait()
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="webhook")
    thread.start()
    try:
        webhook = started.result(60)
        try:
            yield webhook
        finally:
            webhook.loop.call_soon_threadsafe(stopped.set)
    finally:
        thread.join()
