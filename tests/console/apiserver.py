"""The operator's API in a thread of the test: real store, real socket, no control loop and no gateway."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from sluicegate.contracts.errors import NotFound, Problem
from sluicegate.contracts.resources.base import Resource
from sluicegate.operator.api import server as api
from sluicegate.operator.api.callers import Peer
from sluicegate.operator.api.context import Api
from sluicegate.operator.api.intake import Intake
from sluicegate.operator.local.state_dir import StateDir
from sluicegate.operator.ports import Json
from sluicegate.operator.resources.events import LocalEvents
from sluicegate.operator.resources.store import SqliteStore
from sluicegate.operator.resources.watch import LocalStore
from sluicegate.rollout.model import Admission, Event, Ref

T = TypeVar("T")
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
DEADLINE = 20.0


class Admitter:
    """Accepts all but versions that start with ``bad``; warns of version 0."""

    async def admit(self, old: Resource | None, new: Resource | None, peer: Peer) -> Admission:
        version = str(getattr(getattr(new, "spec", None), "version", ""))
        if version.startswith("bad"):
            problems = (
                Problem(path="spec.version", message="is bad", value=version, hint="choose another"),
                Problem(path="spec.components[0].endpoint", message="would reach the same process"),
            )
            return Admission(problems=problems)
        warnings = ("a version 0 is a promise to nobody",) if version.startswith("0") else ()
        return Admission(warnings=warnings)


class Lineage:
    """Runs given by the test; remembers the filters it was asked with."""

    def __init__(self) -> None:
        self.summaries: list[Json] = []
        self.documents: list[Json] = []
        self.reviewable: list[Json] = []
        self.ablated_units: list[Json] = []
        self.closed_units: list[Json] = []
        self.asked: list[tuple[dict[str, str], int]] = []

    async def runs(self, filters: dict[str, str], limit: int) -> list[Json]:
        self.asked.append((filters, limit))
        return self.summaries[:limit]

    async def run(self, run_id: str) -> list[Json]:
        return [one for one in self.documents if one["run_id"].startswith(run_id)]

    async def fallbacks(self, filters: dict[str, str], limit: int) -> list[Json]:
        self.asked.append((filters, limit))
        return self.reviewable[:limit]

    async def ablated(self, filters: dict[str, str]) -> list[Json]:
        self.asked.append((filters, 0))
        return self.ablated_units

    async def units(self, filters: dict[str, str], after: int, limit: int) -> list[Json]:
        self.asked.append((filters, limit))
        return [one for one in self.closed_units if one["sequence"] > after][:limit]

    async def counts(self) -> Json:
        return {}


class ApiServer:
    """`with ApiServer(folder) as server:` listens on folder/api.sock."""

    def __init__(self, root: Path) -> None:
        self.state = StateDir(root)
        self.state.make()
        self.lineage = Lineage()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> "ApiServer":
        self._thread.start()
        self.call(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE)
        self._loop.close()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE)

    async def _start(self) -> None:
        self._store = LocalStore(SqliteStore(self.state.resources, clock=lambda: NOW))
        self._events = LocalEvents(self.state.root / "events.db")
        parts = Api(
            store=self._store,
            intake=Intake(self._store, Admitter()),
            events=self._events,
            lineage=self.lineage,
            about=lambda: {
                "version": "9.9.9",
                "pid": 7,
                "startedAt": "2026-03-01T11:00:00Z",
                "gatewayUrl": "http://127.0.0.1:8080",
                "metricsUrl": "http://127.0.0.1:9464/metrics",
            },
            unready=self._unready,
        )
        self._runner = await api.serve(parts, self.state.socket)

    async def _unready(self) -> list[str]:
        return []

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self._events.close()
        self._store.close()

    def put(self, item: Json) -> Json:
        """What the control loop would write: create the object, or only its status when it is there."""
        ref = Ref(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"])
        try:
            held = self.call(self._store.get(ref))
        except NotFound:
            held = self.call(self._store.create(item))
        if "status" not in item:
            return held
        return self.call(self._store.update_status({**held, "status": item["status"]}))

    def get(self, kind: str, name: str, namespace: str = "default") -> Json:
        return self.call(self._store.get(Ref(kind, namespace, name)))

    def listing(self, kind: str) -> tuple[Json, ...]:
        return self.call(self._store.listing(kind)).items

    def event(self, event: Event) -> None:
        self.call(self._events.record(event))

    def on_decision(self, answer: Callable[[Json, Json], Json]) -> "DecisionLoop":
        """Until the block ends: the first decision gets `answer(decision, rollout)` as the rollout's new status."""
        return DecisionLoop(self, answer)


class DecisionLoop:
    """The control loop, as far as decisions see it."""

    def __init__(self, server: ApiServer, answer: Callable[[Json, Json], Json]) -> None:
        self._server, self._answer = server, answer

    def __enter__(self) -> None:
        self._task = asyncio.run_coroutine_threadsafe(self._run(), self._server._loop)

    def __exit__(self, *_: object) -> None:
        self._task.result(DEADLINE)

    async def _run(self) -> None:
        store = self._server._store
        async for change in store.watch(frozenset({"Decision"}), 0):
            target = change.item["spec"]["target"]["name"]
            rollout = await store.get(Ref("WorkflowRollout", change.item["metadata"]["namespace"], target))
            await store.update_status({**rollout, "status": self._answer(change.item, rollout)})
            return
