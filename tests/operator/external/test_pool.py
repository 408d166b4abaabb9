"""The pool: measures beside the loop, bounded in number and time, and forgets nothing that no status holds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluicegate.contracts.errors import NotFound
from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.resources.source import Source, SourceCredential
from sluicegate.contracts.stages import Stage
from sluicegate.operator.external.pool import KEPT, MeasuringPool
from sluicegate.operator.external.tokens import EnvironmentTokens
from sluicegate.operator.ports import Question
from sluicegate.rollout.measurements import Ask, Inquiry, Outcome, Reading
from sluicegate.rollout.model import Ref

REF = Ref("WorkflowRollout", "default", "bot-1")
OTHER = Ref("WorkflowRollout", "default", "bot-2")
KEY = EvidenceKey("ro-1", Stage.CANARY, 1)
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@dataclass
class HandClock:
    """Time that the test moves."""

    seconds: float = 0.0
    sleepers: list[tuple[float, asyncio.Event]] = field(default_factory=list)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        due = asyncio.Event()
        self.sleepers.append((self.seconds + seconds, due))
        await due.wait()

    async def move(self, seconds: float) -> None:
        self.seconds += seconds
        for at, due in self.sleepers:
            if at <= self.seconds:
                due.set()
        await settled()


async def settled() -> None:
    """Everything that can run has run."""
    for _ in range(30):
        await asyncio.sleep(0)


@dataclass
class Provider:
    """Answers `value`, or waits for `gate`."""

    value: float = 1.0
    hangs: bool = False
    fault: Exception | None = None
    asked: list[Question] = field(default_factory=list)
    now: int = 0
    most: int = 0

    async def read(self, question: Question) -> tuple[Reading, ...]:
        self.asked.append(question)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            if self.hangs:
                await asyncio.Event().wait()
            if self.fault is not None:
                raise self.fault
            return tuple(Reading(Outcome.VALUE, self.value) for _ in question.inquiry.texts)
        finally:
            self.now -= 1


def ask(gate: str = "outside", *, after: int = 0, key: EvidenceKey = KEY, **source: Any) -> Ask:
    made = Source.model_validate({"prometheus": {"url": "http://p", "value": "v"}} | source)
    inquiry = Inquiry(arm="candidate", url="http://p", texts=(("value", "v"),))
    return Ask(key=key, namespace="default", gate=gate, source=made, inquiries=(inquiry,), after=after)


@dataclass
class Running:
    pool: MeasuringPool
    clock: HandClock
    provider: Provider
    told: list[Ref]
    heard: asyncio.Event
    left: list[tuple[str, int]]

    def numbers(self, *wanted: Ask, ref: Ref = REF) -> list[int]:
        return [one.number for one in self.pool.measured(ref, wanted)]


@asynccontextmanager
async def running(
    provider: Provider | None = None, *, most: int = 16, tokens: Any = None
) -> AsyncIterator[Running]:
    provider, clock, told = provider or Provider(), HandClock(), list[Ref]()
    heard = asyncio.Event()

    def tell(ref: Ref) -> None:
        told.append(ref)
        heard.set()

    async def discard(inquiry: Inquiry, number: int) -> None:
        left.append((inquiry.arm, number))

    left: list[tuple[str, int]] = []
    pool = MeasuringPool(
        {"prometheus": provider, "job": provider},
        tokens or EnvironmentTokens({}),
        clock,
        told=tell,
        discard=discard,
        most=most,
    )
    task = asyncio.create_task(pool.run())
    try:
        yield Running(pool, clock, provider, told, heard, left)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert provider.now == 0, "nothing is left behind"


async def test_a_gate_is_measured_at_once_and_then_once_per_interval() -> None:
    async with running() as at:
        assert at.numbers(ask()) == []
        await settled()
        assert at.numbers(ask()) == [1]
        assert at.told == [REF]
        await at.clock.move(29.9)
        assert at.numbers(ask()) == [1]
        await at.clock.move(0.1)
        assert at.numbers(ask()) == [1, 2]
        assert [question.at for question in at.provider.asked] == [START, START + timedelta(seconds=30)]


async def test_what_a_status_holds_is_dropped_and_numbers_go_on() -> None:
    async with running() as at:
        at.numbers(ask(after=7))
        await settled()
        assert at.numbers(ask(after=7)) == [8]
        assert at.numbers(ask(after=7)) == [8], "a look that was lost sees it again"
        assert at.numbers(ask(after=8)) == []
        await at.clock.move(30)
        assert at.numbers(ask(after=8)) == [9]
        await at.clock.move(30)
        assert at.numbers(ask(after=20)) == [], "another leader was further"
        await at.clock.move(30)
        assert at.numbers(ask(after=20)) == [21]


async def test_of_another_attempt_or_a_gate_that_is_gone_nothing_is_kept() -> None:
    async with running() as at:
        at.numbers(ask(), ask("second"))
        await settled()
        assert at.numbers(ask("second")) == [1]
        again = KEY._replace(attempt=2)
        assert at.numbers(ask("second", key=again)) == []
        await settled()
        (found,) = at.pool.measured(REF, (ask("second", key=again),))
        assert (found.key, found.number) == (again, 1)
        at.pool.forget(REF)
        before = len(at.provider.asked)
        await at.clock.move(60)
        assert len(at.provider.asked) == before


async def test_a_provider_that_hangs_is_cut_off_and_holds_up_nobody() -> None:
    """A real second: the deadline is the event loop's."""
    async with running(Provider(hangs=True)) as at:
        at.numbers(ask(timeoutSeconds=1))
        await settled()
        assert at.numbers(ask(timeoutSeconds=1)) == [], "a look never waits"
        await at.heard.wait()
        (found,) = at.pool.measured(REF, (ask(timeoutSeconds=1),))
        assert found.worst() == (Outcome.TIMEOUT, "value of candidate: no answer within 1 s")


async def test_no_more_than_so_many_at_one_time() -> None:
    async with running(Provider(hangs=True), most=2) as at:
        at.numbers(*(ask(f"g{n}") for n in range(5)))
        await settled()
        assert at.provider.most == 2
        at.pool.forget(REF)
        await settled()
        at.provider.hangs = False
        at.numbers(ask("g0"), ref=OTHER)
        await settled()
        assert at.told == [OTHER], "what was cut off made room"


def job(gate: str = "load", *, after: int = 0) -> Ask:
    """A look that takes minutes."""
    made = ask(gate, after=after, prometheus=None, job={"image": "a"})
    return replace(made, inquiries=(Inquiry(arm="candidate", url="", texts=(("value", ""),)),))


async def test_jobs_hold_up_no_query() -> None:
    async with running(Provider(hangs=True), most=2) as at:
        at.numbers(*(job(f"j{n}") for n in range(4)))
        await settled()
        assert at.provider.now == 2, "Jobs are bounded as well"
        at.provider.hangs = False
        at.numbers(ask(), ref=OTHER)
        await settled()
        assert at.told == [OTHER]


async def test_a_job_knows_its_look_and_is_dated_by_its_end() -> None:
    async with running() as at:
        at.numbers(job(after=6))
        await settled()
        assert [question.number for question in at.provider.asked] == [7]
        assert [question.timeout_seconds for question in at.provider.asked] == [330.0]


async def test_the_job_of_a_look_that_nobody_waits_for_is_discarded() -> None:
    """As when its stage is left; what was measured to its end stays."""
    async with running() as at:
        at.numbers(job())
        await settled()
        at.pool.forget(REF)
        await settled()
        assert at.left == []
    async with running(Provider(hangs=True)) as at:
        at.numbers(job(after=3), ask())
        await settled()
        at.pool.forget(REF)
        await settled()
        assert at.left == [("candidate", 4)]


async def test_a_job_that_runs_goes_on_while_a_gateway_takes_up_the_plan() -> None:
    """And none begins; when every gateway follows, the next one does."""
    async with running(Provider(hangs=True)) as at:
        paused = replace(job(), is_paused=True)
        at.numbers(paused)
        await settled()
        assert at.provider.now == 0
        at.numbers(job())
        await settled()
        at.numbers(paused)
        await settled()
        assert (at.provider.now, at.left) == (1, [])
    async with running() as at:
        at.numbers(job())
        await settled()
        at.numbers(paused)
        await at.clock.move(3600.0)
        assert len(at.provider.asked) == 1
        at.numbers(job(after=1))
        await settled()
        assert len(at.provider.asked) == 2


async def test_a_bug_of_a_provider_ends_one_measurement_only() -> None:
    async with running(Provider(fault=ZeroDivisionError())) as at:
        at.numbers(ask())
        await settled()
        at.provider.fault = None
        await at.clock.move(30)
        assert at.numbers(ask()) == [1]


async def test_what_no_look_takes_is_bounded() -> None:
    async with running() as at:
        at.numbers(ask())
        await settled()
        for _ in range(KEPT + 5):
            await at.clock.move(30)
        found = at.numbers(ask())
        assert len(found) == KEPT
        assert found[-1] == KEPT + 6


async def test_the_token_is_asked_for_each_time_and_its_lack_is_an_error() -> None:
    environment = {"SLUICEGATE_SOURCE_A": "s3cret "}
    async with running(tokens=EnvironmentTokens(environment)) as at:
        wanted = ask(credentialRef={"env": "SLUICEGATE_SOURCE_A"})
        at.numbers(wanted)
        await settled()
        assert at.provider.asked[0].token == "s3cret"
        del environment["SLUICEGATE_SOURCE_A"]
        await at.clock.move(30)
        *_, last = at.pool.measured(REF, (wanted,))
        assert last.worst()[0] is Outcome.ERROR
        assert "SLUICEGATE_SOURCE_A is not set" in last.worst()[1]
        assert "s3cret" not in repr(at.pool.measured(REF, (wanted,)))


async def test_another_source_starts_anew() -> None:
    async with running() as at:
        at.numbers(ask())
        await settled()
        assert at.numbers(replace(ask(), source=ask(intervalSeconds=5).source)) == []


async def test_a_variable_that_is_empty_is_no_token() -> None:
    with pytest.raises(NotFound, match="SLUICEGATE_SOURCE_A"):
        await EnvironmentTokens({"SLUICEGATE_SOURCE_A": " "}).token(
            "n", SourceCredential(env="SLUICEGATE_SOURCE_A")
        )
