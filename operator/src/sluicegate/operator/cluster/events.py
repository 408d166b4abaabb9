"""`ports.EventSink` on Kubernetes: events.k8s.io Events, few, and never in the way of a look.

`record` only remembers; `run` writes. What repeats is one Event whose series counts, also after a restart: its name follows
from the object and the event's key.
"""

import asyncio
import hashlib
import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final, Protocol

import structlog

from sluicegate.contracts.errors import Conflict, NotFound, Refused, SluicegateError
from sluicegate.contracts.resources.base import API_VERSION
from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.cache import Cache
from sluicegate.operator.cluster.ports import EVENTS, Fence, KubeApi
from sluicegate.operator.ports import Json, LoopClock
from sluicegate.operator.resources.objects import stamp
from sluicegate.rollout.model import Event, Ref

log = structlog.get_logger(__name__)

LONGEST: Final = 1_024  # bytes of a note; the API server refuses more
REPORTER: Final = "sluicegate.io/operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSettings:
    """instance: names this process. An object may have `burst` new Events at once and one more in `refill` seconds; a count is written every `update`
    seconds at most, and what the API server did not take is tried again after `retry`. known: Events that are remembered.
    """

    instance: str
    burst: int = 25
    refill: float = 60.0
    update: float = 60.0
    retry: float = 5.0
    known: int = 4_096


class EventMetrics(Protocol):
    """What the sink counts."""

    def event(self, outcome: str) -> None:
        """Written; Dropped: too many new ones of one object, or in all; Failed: the API server did not take it."""
        ...


@dataclass(slots=True)
class _Entry:
    """counted: times seen; told: of them, those written; base: what the API server had counted before us."""

    name: str
    uid: str | None
    event: Event
    first: str
    last: str
    due: float
    counted: int = 0
    told: int = 0
    base: int = 0


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class KubernetesEvents:
    """Keeps at most `settings.known` Events in mind. Belongs to one event loop."""

    def __init__(
        self,
        *,
        api: KubeApi,
        cache: Cache,
        fence: Fence,
        clock: LoopClock,
        metrics: EventMetrics,
        settings: EventSettings,
    ) -> None:
        self._api, self._cache, self._fence, self._clock, self._metrics = api, cache, fence, clock, metrics
        self._settings = settings
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._pending: dict[str, _Entry] = {}
        self._buckets: OrderedDict[Ref, _Bucket] = OrderedDict()
        self._woken = asyncio.Event()

    async def record(self, event: Event) -> None:
        """Remember; the same event again raises its count. Never fails, never waits."""
        at, uid = stamp(self._clock.now()), self._cache.uid(event.about)
        name = _name(event, uid)
        entry = self._entries.get(name)
        if entry is None:
            if not self._may(event.about):
                self._metrics.event("Dropped")
                return
            entry = _Entry(name, uid, event, at, at, self._clock.monotonic())
            self._entries[name] = entry
            self._forget_oldest()
        self._entries.move_to_end(name)
        entry.counted += 1
        entry.last = at
        self._pending[name] = entry
        self._woken.set()

    async def run(self) -> None:
        """Write what is due, for ever."""
        while True:
            self._woken.clear()
            await self._write(self._clock.monotonic())
            next_due = min((entry.due for entry in self._pending.values()), default=math.inf)
            wait = None if math.isinf(next_due) else max(0.0, next_due - self._clock.monotonic())
            try:
                async with asyncio.timeout(wait):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def flush(self) -> None:
        """Write everything once, due or not: before the process ends, when `run` has ended."""
        await self._write(math.inf)

    async def _write(self, until: float) -> None:
        for entry in [entry for entry in self._pending.values() if entry.due <= until]:
            self._pending.pop(entry.name, None)
            entry.due = self._clock.monotonic() + self._settings.update
            try:
                self._fence.epoch()
                await self._tell(entry)
            except Refused as error:
                self._fail(entry, error)
                entry.told = entry.counted  # it will not be taken next time either
            except SluicegateError as error:
                self._fail(entry, error)
                entry.due = self._clock.monotonic() + self._settings.retry
                self._pending.setdefault(entry.name, entry)
            else:
                self._metrics.event("Written")

    def _fail(self, entry: _Entry, error: SluicegateError) -> None:
        self._metrics.event("Failed")
        log.warning("event_failed", about=str(entry.event.about), reason=entry.event.reason, error=str(error))

    async def _tell(self, entry: _Entry) -> None:
        """The count of a known Event; a new one; or the count of one that an earlier process made."""
        if entry.told:
            try:
                return await self._count(entry)
            except NotFound:  # the API server forgets Events after a while
                entry.counted -= entry.told
                entry.first, entry.base, entry.told = entry.last, 0, 0
        counted = entry.counted
        try:
            await self._api.create(EVENTS, self._object(entry), manager=names.EVENTS)
            entry.told = counted
        except Conflict:
            held = await self._api.get(EVENTS, _place(entry.event.about), entry.name)
            entry.base = int((held.get("series") or {}).get("count") or 1)
            await self._count(entry)
        return None

    async def _count(self, entry: _Entry) -> None:
        counted = entry.counted
        operation = {"op": "add", "path": "/series", "value": _series(entry)}
        place = _place(entry.event.about)
        await self._api.patch(EVENTS, place, entry.name, [operation], manager=names.EVENTS)
        entry.told = counted

    def _object(self, entry: _Entry) -> Json:
        event = entry.event
        regarding: Json = {"apiVersion": API_VERSION, "kind": event.about.kind, "name": event.about.name}
        if event.about.namespace:
            regarding["namespace"] = event.about.namespace
        if entry.uid:
            regarding["uid"] = entry.uid
        item: Json = {
            "metadata": {"name": entry.name, "namespace": _place(event.about)},
            "eventTime": entry.first,
            "type": str(event.severity),
            "reason": event.reason,
            "action": "Reconcile",
            "note": _cut(event.message),
            "regarding": regarding,
            "reportingController": REPORTER,
            "reportingInstance": self._settings.instance,
        }
        return item | ({"series": _series(entry)} if entry.counted > 1 else {})

    def _may(self, about: Ref) -> bool:
        now, settings = self._clock.monotonic(), self._settings
        bucket = self._buckets.setdefault(about, _Bucket(float(settings.burst), now))
        self._buckets.move_to_end(about)
        if len(self._buckets) > settings.known:
            self._buckets.popitem(last=False)
        bucket.tokens = min(float(settings.burst), bucket.tokens + (now - bucket.at) / settings.refill)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _forget_oldest(self) -> None:
        if len(self._entries) > self._settings.known:
            name, _ = self._entries.popitem(last=False)
            if self._pending.pop(name, None):
                self._metrics.event("Dropped")


def _name(event: Event, uid: str | None) -> str:
    parts = (uid or str(event.about), event.reason, event.key or event.message)
    digest = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
    return f"{event.about.name[:200]}.{digest[:20]}"


def _place(about: Ref) -> str:
    return about.namespace or "default"


def _series(entry: _Entry) -> dict[str, Any]:
    return {"count": entry.base + entry.counted, "lastObservedTime": entry.last}


def _cut(message: str) -> str:
    """At most LONGEST bytes, cut between characters."""
    if len(message.encode()) <= LONGEST:
        return message
    return message.encode()[: LONGEST - 3].decode(errors="ignore") + "…"
