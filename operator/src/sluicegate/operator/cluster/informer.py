"""kopf as an informer: it lists and watches, we keep. The one module that imports kopf.

Only `on.event` handlers: kopf then writes nothing to any object and keeps no state. Indexes are not used: a list goes into
the cache as a whole (`informer_session`), so what vanished between two lists is noticed too, and kopf tells of changes only.

kopf cancels every task of its loop when it ends, so it gets a thread with a loop of its own; events are handed to ours
with call_soon_threadsafe, in order. When kopf ends, `run` raises: a restart is cheap, a half-blind operator is not.
"""

import asyncio
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

import structlog

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of what kopf imports
    import kopf

from sluicegate.contracts.errors import Unavailable
from sluicegate.operator.cluster.informer_session import Ear, Place, session_of
from sluicegate.operator.cluster.kube_access import Access
from sluicegate.operator.cluster.ports import Api, Page
from sluicegate.operator.ports import Json

SILENCE_SECONDS: Final = 300.0
"""A kind without a list or a new stream for so long is blind: streams end after STREAM_SECONDS."""
STREAM_SECONDS: Final = 240
CHUNK: Final = 250
_PREFIX: Final = "kopf.sluicegate.io"
log = structlog.get_logger(__name__)


class Sink(Protocol):
    """Where the objects of a kind go. Called in the loop that runs `Informer.run`."""

    def listed(self, items: Iterable[Json], version: str, namespace: str | None) -> None:
        """All there are, as of `version`, in `namespace` (None: everywhere)."""
        ...

    def seen(self, item: Json, *, deleted: bool) -> None:
        """One that changed, or is gone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A kind to follow. labels: a selector that the API server applies. optional: it may not be served, or no more; its
    silence is no illness. alive: called with the namespace at each list and each new stream, every STREAM_SECONDS at least.
    """

    api: Api
    sink: Sink
    labels: str = ""
    optional: bool = False
    alive: Callable[[str | None], None] | None = None


@dataclass(slots=True, kw_only=True)
class Informer:
    """namespaces: none for all of them. chunk: objects asked for at once when listing. Belongs to the event loop that runs `run`."""

    access: Access
    sources: tuple[Source, ...]
    monotonic: Callable[[], float]
    namespaces: tuple[str, ...] = ()
    chunk: int = CHUNK
    synced: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once everything that exists was handed over."""
    _heard: dict[Place, float] = field(default_factory=dict)
    _missing: set[Place] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        places = (None,) if not self.namespaces else self.namespaces
        self._missing = {
            Place(one.api.plural, place) for one in self.sources if not one.optional for place in places
        }

    async def run(self) -> None:
        """Until cancelled. Unavailable when kopf ends by itself."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        started = self.monotonic()
        self._heard.update(dict.fromkeys(self._missing, started))
        thread = threading.Thread(target=self._thread, args=(loop, ended), name="informer", daemon=True)
        thread.start()
        try:
            await asyncio.shield(ended)
        finally:
            self._stop.set()
            if not ended.done():
                await asyncio.wait({ended}, timeout=5.0)
        raise Unavailable("the informer has stopped: watching the API server failed for good; see the log")

    def silent(self) -> list[str]:
        """Kinds that have to be served, of which nothing was heard for too long."""
        now = self.monotonic()
        return [
            f"{place.plural} in {place.namespace or 'all namespaces'}: nothing heard for {now - at:.0f} s"
            for place, at in sorted(self._heard.items(), key=str)
            if now - at > SILENCE_SECONDS
        ]

    def _thread(self, loop: asyncio.AbstractEventLoop, ended: asyncio.Future[None]) -> None:
        """kopf's whole life."""
        try:
            asyncio.run(self._kopf(loop))
        except Exception:  # whatever it was, `run` must end
            log.exception("informer_failed")
        finally:
            _hand(loop, lambda: None if ended.done() else ended.set_result(None))

    async def _kopf(self, loop: asyncio.AbstractEventLoop) -> None:
        ear = Ear(
            apis={one.api.plural: one.api for one in self.sources},
            answered=lambda place: _hand(loop, partial(self._answered, place)),
            listed=lambda place, page: _hand(loop, partial(self._listed, place, page)),
        )
        registry = kopf.OperatorRegistry()
        for source in self.sources:
            _follow(registry, source, loop)

        async def login(**_: Any) -> kopf.AiohttpSession:
            return kopf.AiohttpSession(
                server=self.access.server, aiohttp_session=session_of(self.access, ear)
            )

        kopf.on.login(registry=registry, id="own", errors=kopf.ErrorsMode.PERMANENT)(login)
        try:
            await kopf.operator(
                registry=registry,
                settings=self._settings(),
                standalone=True,
                clusterwide=not self.namespaces,
                namespaces=self.namespaces,
                stop_flag=self._stop,
            )
        finally:
            self._stop.set()  # a thread of kopf's waits for it

    def _settings(self) -> kopf.OperatorSettings:
        settings = settings_of(self.sources, clusterwide=not self.namespaces)
        settings.watching.chunk_size = self.chunk
        return settings

    def _answered(self, place: Place) -> None:
        for source in self.sources:
            if source.api.plural != place.plural:
                continue
            if not source.optional:
                self._heard[place] = self.monotonic()
            if source.alive is not None:
                source.alive(place.namespace)

    def _listed(self, place: Place, page: Page) -> None:
        for source in self.sources:
            if source.api.plural == place.plural:
                source.sink.listed(page.items, page.version, place.namespace)
        self._missing.discard(place)
        if not self._missing and not self.synced.is_set():
            log.info("informer_synced")
            self.synced.set()


def _follow(registry: kopf.OperatorRegistry, source: Source, loop: asyncio.AbstractEventLoop) -> None:
    async def changed(type: str, event: Mapping[str, Any], **_: Any) -> None:
        _hand(loop, partial(source.sink.seen, event["object"], deleted=type == "DELETED"))

    api = source.api
    name = f"follow-{api.plural}"
    kopf.on.event(api.group, api.version, api.plural, id=name, registry=registry)(changed)


def _hand(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Run `act` in `loop`; nothing when that has ended."""
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:
        return


def settings_of(sources: tuple[Source, ...], *, clusterwide: bool) -> kopf.OperatorSettings:
    """Nothing is posted, patched or paused; streams are bounded, waits are short."""
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.posting.enabled = settings.posting.loggers = False
    settings.watching.server_timeout = STREAM_SECONDS
    settings.watching.client_timeout = STREAM_SECONDS + 10
    settings.watching.connect_timeout = 30
    settings.watching.inactivity_timeout = 70
    settings.networking.request_timeout = 60
    settings.networking.connect_timeout = 10
    settings.queueing.error_delays = (1, 2, 5, 10, 30, 60)
    settings.execution.max_workers = 1
    settings.process.ultimate_exiting_timeout = None
    settings.persistence.finalizer = f"{_PREFIX}/unused"
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=_PREFIX)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=_PREFIX)
    # Kinds that come later are noticed cluster-wide only: elsewhere there are no rights to see them.
    settings.scanning.disabled = not clusterwide
    optional = [f"metadata.name={one.api.plural}.{one.api.group}" for one in sources if one.optional]
    if clusterwide and len(optional) == 1:
        settings.watching.field_selectors[_CRDS] = optional[0]
    elif not optional:
        settings.scanning.disabled = True
    for source in sources:
        if source.labels:
            api = source.api
            settings.watching.label_selectors[api.group, api.version, api.plural] = source.labels
    return settings


_CRDS: Final = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
