"""Measures beside the control loop, so that a slow provider delays no look and no abort.

Each gate is measured once per interval, one at a time, at most `most` queries and as many Jobs, which take minutes; every
measurement ends within its timeout. What was measured stays until a status holds it: numbers grow, and a look that was lost folds the same again.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog

from sluicegate.contracts.errors import SluicegateError
from sluicegate.contracts.resources.source import Source
from sluicegate.contracts.verification.sources import longest
from sluicegate.operator.ports import ExternalEvidence, LoopClock, Question, SourceTokens
from sluicegate.rollout.measurements import Ask, Inquiry, Measurement, Outcome, Reading
from sluicegate.rollout.model import Ref

MOST: Final = 16
"""Measurements of a lane at one time."""
KEPT: Final = 32
"""Of one gate, that no status holds yet; the oldest go."""
_GRACE: Final = 1.0
"""Seconds past its timeout after which a provider that does not keep it is cut off."""
log = structlog.get_logger(__name__)

Slot = tuple[Ref, str]


@dataclass(slots=True)
class _Gate:
    ask: Ask
    due: float
    number: int
    running: asyncio.Task[None] | None = None
    found: list[Measurement] = field(default_factory=list)


def untold(rollout: Ref) -> None:
    """Nobody is told."""


class MeasuringPool:
    """`ports.ExternalView`; measures while `run` runs. told: a rollout has a new measurement. discard: undoes what a look
    with this number began.
    """

    def __init__(
        self,
        providers: Mapping[str, ExternalEvidence],
        tokens: SourceTokens,
        clock: LoopClock,
        *,
        told: Callable[[Ref], None] = untold,
        discard: Callable[[Inquiry, int], Awaitable[None]] | None = None,
        most: int = MOST,
    ) -> None:
        self._providers, self._tokens, self._clock = providers, tokens, clock
        self._told, self._discard, self._most = told, discard, most
        self._gates: dict[Slot, _Gate] = {}
        self._changed = asyncio.Event()
        self._running: dict[asyncio.Task[None], str] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def measured(self, rollout: Ref, wanted: tuple[Ask, ...]) -> tuple[Measurement, ...]:
        """Never waits. Another stage or attempt starts anew."""
        names = {ask.gate for ask in wanted}
        for slot in [slot for slot in self._gates if slot[0] == rollout and slot[1] not in names]:
            self._drop(slot)
        return tuple(one for ask in wanted for one in self._wanted((rollout, ask.gate), ask))

    def forget(self, rollout: Ref) -> None:
        """Measure nothing for it."""
        self.measured(rollout, ())

    async def run(self) -> None:
        """Measure what is due, until cancelled; nothing is left behind."""
        try:
            while True:
                self._changed.clear()
                await self._wait(self._begin())
        finally:
            tasks = (*self._running, *self._leaving)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._gates.clear()

    def _wanted(self, slot: Slot, ask: Ask) -> list[Measurement]:
        held = self._gates.get(slot)
        if held is None or (held.ask.key, held.ask.source) != (ask.key, ask.source):
            self._drop(slot)
            if ask.is_paused:
                return []
            held = self._gates[slot] = _Gate(ask, due=self._clock.monotonic(), number=ask.after)
            self._changed.set()
        if held.ask.is_paused and not ask.is_paused:
            self._changed.set()
        held.ask, held.number = ask, max(held.number, ask.after)
        held.found = [one for one in held.found if one.number > ask.after]
        return held.found

    def _drop(self, slot: Slot) -> None:
        gone = self._gates.pop(slot, None)
        if gone is None or gone.running is None:
            return
        gone.running.cancel()
        if self._discard is not None and gone.ask.source.job is not None:
            task = asyncio.create_task(self._leave(gone, gone.running, self._discard))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _leave(
        self,
        gone: _Gate,
        running: asyncio.Task[None],
        discard: Callable[[Inquiry, int], Awaitable[None]],
    ) -> None:
        """The Jobs of a look that nobody waits for any more."""
        await asyncio.wait({running})
        for inquiry in gone.ask.inquiries:
            await discard(inquiry, gone.number + 1)

    def _begin(self) -> float | None:
        """Start what is due, the longest due first; seconds until the next, None: nothing waits for the clock."""
        now = self._clock.monotonic()
        idle = sorted(
            (
                (gate.due, slot)
                for slot, gate in self._gates.items()
                if gate.running is None and not gate.ask.is_paused
            ),
            key=lambda one: one[0],
        )
        taken = Counter(self._running.values())
        for due, slot in idle:
            if due > now:
                return due - now
            lane = _lane(self._gates[slot].ask)
            if taken[lane] < self._most:
                taken[lane] += 1
                self._start(slot, now)
        return None

    def _start(self, slot: Slot, now: float) -> None:
        gate = self._gates[slot]
        gate.due = now + gate.ask.source.interval_seconds
        task = asyncio.create_task(self._measure(slot, gate), name=f"measure {slot[0]} {slot[1]}")
        gate.running = task
        self._running[task] = _lane(gate.ask)
        task.add_done_callback(lambda done: self._ended(gate, done))

    def _ended(self, gate: _Gate, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        if gate.running is task:
            gate.running = None
        gate.due = max(gate.due, self._clock.monotonic())  # what took long does not go before those who wait
        self._changed.set()
        if not task.cancelled() and task.exception() is not None:
            log.error("measurement_crashed", gate=gate.ask.gate, exc_info=task.exception())

    async def _measure(self, slot: Slot, gate: _Gate) -> None:
        ask, at = gate.ask, self._clock.now()
        readings: list[tuple[str, str, Reading]] = []
        asked = await asyncio.gather(
            *(self._arm(ask, inquiry, at, gate.number + 1) for inquiry in ask.inquiries)
        )
        for inquiry, found in zip(ask.inquiries, asked, strict=True):
            roles = [role for role, _ in inquiry.texts]
            readings += [(inquiry.arm, role, one) for role, one in zip(roles, found, strict=True)]
        gate.number += 1
        if ask.source.job is not None:  # it is as of its end
            at = self._clock.now()
        one = Measurement(key=ask.key, gate=ask.gate, number=gate.number, at=at, readings=tuple(readings))
        gate.found = [*gate.found, one][-KEPT:]
        log.debug("measured", about=str(slot[0]), gate=ask.gate, outcome=one.worst()[0].value)
        self._told(slot[0])

    async def _arm(self, ask: Ask, inquiry: Inquiry, at: datetime, number: int) -> tuple[Reading, ...]:
        """Whatever happens, a Reading of each text within the time."""
        source, count = ask.source, len(inquiry.texts)
        seconds = longest(source)
        try:
            async with asyncio.timeout(seconds + _GRACE):
                token = None
                if source.credential_ref is not None:
                    token = await self._tokens.token(ask.namespace, source.credential_ref)
                return await self._providers[_kind(source)].read(
                    Question(
                        inquiry=inquiry,
                        at=at,
                        max_age_seconds=source.max_age_seconds,
                        timeout_seconds=float(seconds),
                        token=token,
                        number=number,
                    )
                )
        except TimeoutError:
            return (Reading(Outcome.TIMEOUT, message=f"no answer within {seconds} s"),) * count
        except SluicegateError as error:
            return (Reading(Outcome.ERROR, message=f"no token: {error}"),) * count

    async def _wait(self, seconds: float | None) -> None:
        """Until something changed or is due."""
        changed = asyncio.ensure_future(self._changed.wait())
        waits: list[asyncio.Future[object]] = [changed]  # type: ignore[list-item]
        if seconds is not None:
            waits.append(asyncio.ensure_future(self._clock.sleep(max(0.0, seconds))))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _kind(source: Source) -> str:
    """Name of its provider."""
    if source.job is not None:
        return "job"
    return "prometheus" if source.prometheus is not None else "web"


def _lane(ask: Ask) -> str:
    """Who waits for whom: a Job of an hour holds up no query."""
    return "jobs" if ask.source.job is not None else "queries"
