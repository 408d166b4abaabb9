"""What came back, put in the order in which sessions arrived, and what each says of the promises."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sluicegate.console.loading.plan import Arrival
from sluicegate.console.loading.target import Meaning
from sluicegate.contracts.sla import Bad, Measure, Promise, SlaJudge

LATE_SHARE: Final = 0.05
"""Of sessions that were not sent, or sent late; above it the load was not the one that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run. due, sent, ended: seconds since the start. stalled: of its time, what the generator itself stood still."""

    due: float
    sent: float
    ended: float
    stalled: float
    meaning: Meaning

    @property
    def latency_ms(self) -> float:
        """As who wanted it to start at `due` sees it."""
        return (self.ended - self.due) * 1000.0

    @property
    def own_ms(self) -> float:
        """Without what the generator was late, or stood still."""
        return max(0.0, self.ended - self.sent - self.stalled) * 1000.0

    def is_cut_short(self, timeout: float) -> bool:
        """Whether it timed out before the service had `timeout` seconds, because the generator stood still."""
        return self.meaning.timed_out and self.stalled > 0.0 and self.own_ms < timeout * 1000.0


@dataclass(slots=True)
class Session:
    """One arrival, filled as its runs come back."""

    arrival: Arrival
    runs: list[Run] = field(default_factory=list)
    unsent: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing more will come."""
        return self.unsent or len(self.runs) == len(self.arrival.script.inputs)


@dataclass(slots=True)
class Counts:
    """Of measured sessions, but `warm_up`. late: the generator delayed them by more than its tolerance."""

    warm_up: int = 0
    sessions: int = 0
    runs: int = 0
    unsent: int = 0
    late: int = 0
    unfinished: int = 0
    succeeded: int = 0
    fell_back: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def is_late(self) -> bool:
        """Whether the generator, or the machine, was so busy that not even what is bad is the service's."""
        return self.late > LATE_SHARE * max(self.sessions, 1)

    @property
    def kept_up(self) -> bool:
        """Whether the generator sent what it was asked to, when it was asked to."""
        return self.unsent + self.late <= LATE_SHARE * max(self.sessions, 1)


class Ledger:
    """Gives sessions to the judge in the order of their arrival, whatever the order in which they end.

    Judged as they end, quick ones would come first, and every look would see a service faster than it is.
    """

    def __init__(
        self, promises: Sequence[Promise], judge: SlaJudge, *, tolerance: float, timeout: float
    ) -> None:
        """Seconds. tolerance: of being late; timeout: of a run."""
        self.counts = Counts()
        self.judged: list[Session] = []
        self._promises, self._judge = promises, judge
        self._tolerance, self._timeout = tolerance, timeout
        self._open: dict[int, Session] = {}
        self._next = 0

    def expect(self, arrival: Arrival) -> None:
        """A session that will be sent."""
        self._open[arrival.number] = Session(arrival)

    def unsent(self, number: int) -> None:
        """The generator had too many in flight."""
        self._open[number].unsent = True
        self._fold()

    def add(self, number: int, run: Run) -> None:
        """A run has ended."""
        self._open[number].runs.append(run)
        self._fold()

    def close(self) -> None:
        """No more will come: what was sent and not judged is counted, and says nothing."""
        self.counts.unfinished = sum(
            bool(one.runs) and not one.arrival.is_warm_up for one in self._open.values()
        )

    def _fold(self) -> None:
        while (session := self._open.get(self._next)) is not None and session.is_complete:
            del self._open[self._next]
            self._next += 1
            if session.arrival.is_warm_up:
                self.counts.warm_up += 1
                continue
            self._count(session)
            self.judged.append(session)
            self._judge.add({promise.measure: self._bad(promise, session) for promise in self._promises})

    def _count(self, session: Session) -> None:
        counts = self.counts
        counts.sessions += 1
        counts.unsent += session.unsent
        counts.late += any(run.sent - run.due + run.stalled > self._tolerance for run in session.runs)
        for run in session.runs:
            counts.runs += 1
            counts.succeeded += run.meaning.fault is None
            counts.fell_back += bool(run.meaning.fell_back)
            if run.meaning.fault is not None:
                counts.faults[run.meaning.fault] += 1

    def _bad(self, promise: Promise, session: Session) -> Bad:
        """What the generator did not send, and what an answer cannot tell, may have been anything."""
        if session.unsent:
            return Bad(0.0, 1.0)
        pairs = [_bounds(promise, run, self._timeout) for run in session.runs]
        return Bad(*(sum(side) / len(pairs) for side in zip(*pairs, strict=True)))


def _bounds(promise: Promise, run: Run, timeout: float) -> tuple[float, float]:
    """Whether the run broke the promise: at least, at most."""
    if promise.measure is not Measure.LATENCY and run.is_cut_short(timeout):
        return 0.0, 1.0
    match promise.measure:
        case Measure.LATENCY:
            limit = promise.latency_ms or 0
            return float(run.own_ms > limit), float(run.latency_ms > limit)
        case Measure.SUCCESS:
            bad = float(run.meaning.fault is not None)
            return bad, bad
        case Measure.FALLBACK:
            fell = run.meaning.fell_back
            return (0.0, 1.0) if fell is None else (float(fell), float(fell))
