"""Simulated users: an open-loop load generator that notes which revision answered whom.

Open loop: users arrive by their own clock (Poisson) and never wait for the system, so that a slow answer is seen as
slow and not as less traffic. Everything drawn depends on the seed only.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import aiohttp

from sluicegate.contracts.adapters import system

MAX_IN_FLIGHT = 2000
TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One user: inputs sent one after the other, each after the answer to the one before and a pause."""

    inputs: tuple[dict[str, Any], ...]
    pause_seconds: float = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a user saw of one run. status 0: no HTTP answer at all."""

    asked_at: datetime
    answered_at: datetime
    status: int
    run_id: str = ""
    revision: str = ""
    version: str = ""


@dataclass(slots=True)
class Tally:
    """All answers so far, from the users' side."""

    answers: list[Answer] = field(default_factory=list)
    unsent: int = 0  # users that found MAX_IN_FLIGHT others waiting

    def by_version(self) -> Counter[str]:
        """Good answers per version."""
        return Counter(answer.version for answer in self.answers if answer.status == 200)

    @property
    def failed(self) -> int:
        """Runs without a good answer."""
        return sum(answer.status != 200 for answer in self.answers)


async def drive(
    url: str,
    sessions: Iterable[Session],
    *,
    rate: float,
    seed: int,
    tally: Tally,
    stop: asyncio.Event | None = None,
) -> None:
    """Start sessions at `rate` per second until they end or `stop` is set; waits for the last answer.

    url: the runs endpoint of a workflow. Failed calls are counted, never raised.
    """
    draws = system.seeded("arrivals", seed)
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    due = loop.time()
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=_timeout()) as client,
        asyncio.TaskGroup() as group,
    ):
        waiting: set[asyncio.Task[None]] = set()
        for session in sessions:
            due += draws.expovariate(rate)
            if await _stopped(stop, due - loop.time()):
                return
            if len(waiting) >= MAX_IN_FLIGHT:
                tally.unsent += 1
                continue
            task = group.create_task(_converse(client, url, session, tally, stop))
            waiting.add(task)
            task.add_done_callback(waiting.discard)


def _timeout() -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)


async def _stopped(stop: asyncio.Event, seconds: float) -> bool:
    """Wait; True as soon as `stop` is set."""
    if seconds <= 0:
        await asyncio.sleep(0)
        return stop.is_set()
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def _converse(
    client: aiohttp.ClientSession, url: str, session: Session, tally: Tally, stop: asyncio.Event
) -> None:
    for number, body in enumerate(session.inputs):
        if number and await _stopped(stop, session.pause_seconds):
            return
        tally.answers.append(await _ask(client, url, body))


async def _ask(client: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> Answer:
    asked = system.now()
    try:
        async with client.post(url, json=body) as response:
            await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError):
        return Answer(asked_at=asked, answered_at=system.now(), status=0)
    headers = response.headers
    return Answer(
        asked_at=asked,
        answered_at=system.now(),
        status=response.status,
        run_id=headers.get("Sluicegate-Run-Id", ""),
        revision=headers.get("Sluicegate-Revision", ""),
        version=headers.get("Sluicegate-Version", ""),
    )


class BackgroundTraffic:
    """`drive` in a thread of its own, for a foreground that shows something."""

    def __init__(self, url: str, sessions: Iterable[Session], *, rate: float, seed: int) -> None:
        self.tally = Tally()
        self._drive = (url, sessions, rate, seed)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Let no new user in, and wait for the last answers; may be called twice."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(timeout=TIMEOUT_SECONDS + 5)

    def _run(self) -> None:
        url, sessions, rate, seed = self._drive
        work = drive(url, sessions, rate=rate, seed=seed, tally=self.tally, stop=self._stop)
        try:
            self._loop.run_until_complete(work)
        finally:
            self._loop.close()


_PLAIN = (
    "Where is my order {order}?",
    "Where is my order?",
    "Please cancel order {order}.",
    "I would like a refund for order {order}.",
    "Please change the address of order {order}.",
    "What are your opening hours?",
)
_SUBTLE = (
    "Order {order} has still not arrived.",
    "I do not need order {order} any more.",
    "Order {order} came broken, I want my money back.",
    "I have moved; send order {order} to my new home.",
)


def support_customers(seed: int) -> Iterator[Session]:
    """Customers of examples/support-bot, endless: one to three questions each, one in four of them subtle."""
    draws = system.seeded("customers", seed)
    number = 0
    while True:
        number += 1
        session = f"s{seed}-{number}"
        questions = []
        for _ in range(draws.choice((1, 1, 1, 2, 3))):
            text = draws.choice(_SUBTLE if draws.random() < 0.25 else _PLAIN)
            order = f"{draws.choice('ABCDEFGH')}-{draws.randrange(1000, 10000)}"
            questions.append({"user_query": text.format(order=order), "session_id": session})
        yield Session(inputs=tuple(questions))
