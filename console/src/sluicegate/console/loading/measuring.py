"""A load test, from the first session to the last answer: sends, judges while it runs, stops when all is decided."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from types import FrameType
from typing import Any, Final
from urllib.parse import urlsplit

from sluicegate.console.loading.ledger import Counts, Ledger, Run, Session
from sluicegate.console.loading.plan import Arrival, LoadPlan, Script, arrivals
from sluicegate.console.loading.process import Generator
from sluicegate.console.loading.target import Reply, Target
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Unavailable
from sluicegate.contracts.sla import Promise, SlaFinding, SlaJudge

_CONNECT_SECONDS: Final = 5.0
_LEAST_TOLERANCE: Final = 0.1
_TIMES: Final = ("due", "sent", "ended", "stalled")
_REPLY: Final = ("status", "headers", "body", "error", "said")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a load test found. ended_by: `Decided`, `Planned` (all sessions were sent) or `Interrupted`."""

    findings: tuple[SlaFinding, ...]
    counts: Counts
    sessions: Sequence[Session]
    started_at: datetime
    ended_at: datetime
    seconds: float
    ended_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is tested, how, by whom. full: go on when all is decided."""

    target: Target
    plan: LoadPlan
    scripts: Sequence[Script]
    promises: Sequence[Promise]
    judge: SlaJudge
    full: bool = False
    on_progress: Callable[["Seen"], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How far a trial is, once a second. at: seconds since the first session was due."""

    at: float
    flying: int
    counts: Counts
    findings: Callable[[], tuple[SlaFinding, ...]]


def reach(url: str) -> None:
    """Raises Unavailable when nothing listens there: that is no finding about a service."""
    parts = urlsplit(url)
    address = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection(address, _CONNECT_SECONDS).close()
    except OSError as error:
        raise Unavailable(f"nothing answers at {url}: {error.strerror or error}") from error


def measure(trial: Trial) -> Measured:
    """Run the trial. Raises Unavailable when the target is away or the generator ends by itself."""
    reach(trial.target.url)
    plan = trial.plan
    tolerance = max([_LEAST_TOLERANCE, *((one.latency_ms or 0) / 2000.0 for one in trial.promises)])
    ledger = Ledger(trial.promises, trial.judge, tolerance=tolerance, timeout=plan.timeout)
    settings = {
        "timeout": plan.timeout,
        "think_time": plan.think_time,
        "max_in_flight": plan.max_in_flight,
        "grace": plan.grace,
    }
    started = system.now()
    with _stoppable() as asked_to_stop, Generator(settings, _sessions(trial, ledger)) as generator:
        seconds, is_stopped = 0.0, False
        for told in generator.lines():
            seconds = _take(told, trial, ledger, seconds)
            done = trial.judge.is_decided() and not trial.full
            if (done or asked_to_stop.is_set()) and not is_stopped:
                is_stopped = True
                generator.stop()
    ledger.close()
    return Measured(
        findings=trial.judge.findings(),
        counts=ledger.counts,
        sessions=ledger.judged,
        started_at=started,
        ended_at=system.now(),
        seconds=seconds,
        ended_by="Interrupted" if asked_to_stop.is_set() else "Decided" if is_stopped else "Planned",
    )


def _sessions(trial: Trial, ledger: Ledger) -> Iterator[dict[str, Any]]:
    """In the thread that feeds the generator. The ledger hears of a session before the generator does."""
    for arrival in arrivals(trial.plan, trial.scripts):
        ledger.expect(arrival)
        yield _sent(arrival, trial.target)


def _sent(arrival: Arrival, target: Target) -> dict[str, Any]:
    return {
        "n": arrival.number,
        "at": arrival.at,
        "runs": [target.request(given) for given in arrival.script.inputs],
    }


def _take(told: dict[str, Any], trial: Trial, ledger: Ledger, seconds: float) -> float:
    """One line of the generator; the latest moment that is known."""
    match told["t"]:
        case "run":
            meaning = trial.target.meaning(Reply(**{name: told[name] for name in _REPLY}))
            run = Run(meaning=meaning, **{name: told[name] for name in _TIMES})
            ledger.add(told["n"], run)
            return max(seconds, run.ended)
        case "unsent":
            ledger.unsent(told["n"])
            return max(seconds, float(told["at"]))
        case "pulse":
            seen = Seen(
                at=told["at"],
                flying=told["flying"],
                counts=ledger.counts,
                findings=trial.judge.findings,
            )
            trial.on_progress(seen)
    return seconds


@contextmanager
def _stoppable() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM set the event; the second one interrupts at once. Only the main thread hears signals."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def hear(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
