"""The shell of `election`: keeps the Lease, runs what only the leader may run, stops it first on any doubt."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import structlog

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Conflict, NotFound, SluicegateError
from sluicegate.operator.cluster import election
from sluicegate.operator.cluster.names import ELECTOR
from sluicegate.operator.cluster.ports import LEASES, KubeApi
from sluicegate.operator.ports import Json, NotLeading

log = structlog.get_logger(__name__)


def boottime() -> float:
    """Seconds that also pass while the process is stopped or the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Stuck(SluicegateError):  # noqa: N818 - it is the work that is stuck
    """What the leader ran does not stop: the process has to end, so that another may lead."""


@dataclass(slots=True, kw_only=True)
class Work:
    """run: what the leader does, until cancelled. told: leadership began (epoch) or ended (None). floor: the highest
    epoch that any object shows. stop_seconds: how long `run` may take to end.
    """

    run: Callable[[], Awaitable[None]]
    told: Callable[[int | None], None] = lambda _: None
    floor: Callable[[], int] = lambda: 0
    stop_seconds: float = 5.0


class Elector:
    """`ports.Fence`. One for each process."""

    def __init__(
        self,
        api: KubeApi,
        candidate: election.Candidate,
        *,
        monotonic: Callable[[], float] = boottime,
        clock: system.Clock | None = None,
    ) -> None:
        self._api, self._me, self._now = api, candidate, monotonic
        self._clock = clock or system.SystemClock()
        self._state = election.State()
        self.answered = election.NEVER
        """When the API server answered last, on the local clock."""

    def epoch(self) -> int:
        """Of the present leadership; NotLeading when it is not certain any more."""
        if self._state.term is None or not self._state.leads(self._now()):
            raise NotLeading("this replica does not lead (any more): nothing may be written")
        return self._state.term.epoch

    def holder(self) -> str:
        """Whoever the Lease named last; empty: nobody."""
        spec = (self._state.seen or {}).get("spec") or {}
        return str(spec.get("holderIdentity") or "")

    async def run(self, work: Work) -> None:
        """Campaign, lead, campaign again, until cancelled. Stuck when the work does not stop; what the work raises."""
        while True:
            await self._campaign(work)
            if self._state.term is not None:
                await self._lead(work, self._state.term.epoch)

    async def _campaign(self, work: Work) -> None:
        """Until the fence is open."""
        while not self._state.leads(self._now()):
            floor = max(self._state.highest, work.floor())
            self._state = replace(self._state, highest=floor)
            await self._attempt(self._try, self._me.terms.request)
            if not self._state.leads(self._now()):
                await asyncio.sleep(self._me.terms.poll / 2 + system.jitter(self._me.terms.poll))

    async def _lead(self, work: Work, epoch: int) -> None:
        log.info("leads", identity=self._me.identity, epoch=epoch)
        work.told(epoch)
        task = asyncio.ensure_future(work.run())
        try:
            await self._keep(task)
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=work.stop_seconds)
            if not task.done():  # then the Lease is not given back either: it runs out
                self._state = replace(self._state, term=None, until=election.NEVER)
            work.told(None)
            log.info("leads_no_more", identity=self._me.identity, epoch=epoch, stopped=task.done())
        _require_stopped(task, epoch)

    async def _keep(self, task: asyncio.Future[None]) -> None:
        """Renew until there is a doubt, or the work ended; the fence is closed then."""
        terms, pause = self._me.terms, self._me.terms.renew
        while not task.done() and self._state.leads(self._now()):
            await asyncio.wait({task}, timeout=min(pause, self._left()))
            if not task.done() and self._state.leads(self._now()):
                renewed = await self._attempt(self._renew, min(terms.request, self._left()))
                pause = terms.renew if renewed else terms.retry
        self._state = replace(self._state, term=None, until=election.NEVER)

    def _left(self) -> float:
        """Seconds until the fence closes."""
        return max(0.0, self._state.until - self._now())

    async def release(self) -> None:
        """Give the Lease back, once the work has stopped; the next leader need not wait."""
        lease = election.released(self._state)
        self._state = replace(self._state, term=None, until=election.NEVER)
        if lease is not None:
            await self._attempt(lambda: self._put(lease), self._me.terms.request)

    async def _attempt(self, step: Callable[[], Awaitable[object]], limit: float) -> bool:
        """One step in at most `limit` seconds; False: no answer, or a refusal."""
        try:
            async with asyncio.timeout(limit):
                await step()
        except Conflict:
            return False
        except (SluicegateError, TimeoutError) as error:
            log.warning("lease_unreachable", reason=str(error) or "no answer in time")
            return False
        finally:
            self._state = election.doubted(self._state, self._now())
        self.answered = self._now()
        return True

    async def _try(self) -> None:
        """Read, and claim when it may be claimed."""
        await self._read()
        started = self._now()
        wanted = election.claim(self._state, started, self._clock.now(), self._me)
        if self._state.term is None and wanted is not None:
            self._state = election.asked(self._state, wanted, started)
            await self._write(wanted, started)

    async def _renew(self) -> None:
        """Write over what was written last; another's edit is read first. A lost Lease is not claimed here."""
        try:
            await self._write_on()
        except Conflict:
            await self._read()
            await self._write_on()

    async def _write_on(self) -> None:
        started = self._now()
        wanted = election.renewal(self._state, started, self._clock.now())
        if wanted is not None:
            await self._write(wanted, started)

    async def _read(self) -> None:
        try:
            lease = await self._api.get(LEASES, self._me.namespace, self._me.name)
        except NotFound:
            lease = None
        self._state = election.read(self._state, lease, self._now(), self._me)

    async def _write(self, wanted: Json, started: float) -> None:
        stored = await self._put(wanted)
        self._state = election.written(
            self._state, stored, started=started, now=self._now(), candidate=self._me
        )

    async def _put(self, lease: Json) -> Json:
        if "resourceVersion" in lease["metadata"]:
            return await self._api.replace(LEASES, lease, manager=ELECTOR)
        return await self._api.create(LEASES, lease, manager=ELECTOR)


def _require_stopped(task: asyncio.Future[None], epoch: int) -> None:
    """Raise what the work raised, or Stuck when it goes on or ended unasked."""
    if not task.done():
        raise Stuck(f"the work of epoch {epoch} does not stop")
    if not task.cancelled():
        task.result()
        raise Stuck(f"the work of epoch {epoch} ended by itself")
