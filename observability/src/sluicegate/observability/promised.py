"""Is a promise broken, and is it kept again? Two e-detectors of one stream that take turns, against a limit that was promised.

As in `decay`, without a baseline: M_t = L_t (M_{t-1} + 1), a mixture over stakes. Towards "broken" L_t = 1 + stake (x_t - most), which
has expectation at most 1 while the mean given the past is at most `most`; towards "kept" L_t = 1 + stake (most - x_t), likewise
while it is at least `most`. Whatever is true, only one of the two can err, so each has the whole threshold (Shin, Ramdas & Rinaldo,
arXiv 2203.03532: the mean time to an error is at least the threshold).
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sluicegate.contracts.evidence import ArmFacts
from sluicegate.contracts.sla import Bad, Measure, Promise
from sluicegate.contracts.stages import Verdict
from sluicegate.contracts.watch import Alarm, WatchedPromise
from sluicegate.observability.badness import valid_latencies
from sluicegate.observability.decay import Excursion, alarm_json, alarm_of

STAKES: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Of the mixture, equal weights. The large ones are for small limits, where a few bad units say much."""
_LARGEST: Final = 0.9
"""Of the stake at which a value of 0 would end the detector for ever; it is one of the mixture, where it is below 16."""


def stakes(limit: float) -> tuple[float, ...]:
    """Those that no value can ruin: stake * limit is at most 0.9."""
    found = tuple(stake for stake in STAKES if stake * limit < _LARGEST)
    return found if len(found) == len(STAKES) else (*found, _LARGEST / limit)


class Detector:
    """Has the mean risen above `limit`? Values in [0, 1]. Constant size."""

    __slots__ = ("_capital", "_runs", "_stakes", "limit")

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._stakes = stakes(limit)
        self._capital = [0.0] * len(self._stakes)
        self._runs = [Excursion() for _ in self._stakes]

    def add(self, value: float, at: datetime) -> float:
        """Fold one value; the detector then."""
        above = value - self.limit
        for stake, run in zip(self._stakes, self._runs, strict=True):
            run.add(value, math.log1p(stake * above), at)
        self._capital = [
            (1.0 + stake * above) * (capital + 1.0)
            for stake, capital in zip(self._stakes, self._capital, strict=True)
        ]
        return sum(self._capital) / len(self._capital)

    def alarm(self, at: datetime, run: str) -> Alarm:
        """As of the last value. after and since: at the stake that won most, which is the one that suits the change."""
        won = self._runs[self._capital.index(max(self._capital))]
        after, since = won.total / won.n, won.since or at
        return Alarm(before=self.limit, after=after, units=won.n, since=since, at=at, run=run)

    def to_json(self) -> list[Any]:
        """State."""
        return [list(self._capital), [run.to_json() for run in self._runs]]

    def restore(self, data: list[Any]) -> None:
        """The inverse of to_json, into a detector of the same limit."""
        capital, runs = data
        if not len(capital) == len(runs) == len(self._stakes):
            raise ValueError(f"state has {len(capital)} stakes, this version has {len(self._stakes)}")
        self._capital, self._runs = [float(one) for one in capital], [Excursion(*run) for run in runs]


class Promised:
    """State of one promise: not decided, broken, or kept; both detectors start anew at each change.

    Raises ValueError for a promise that something never happens: that can never be shown to be kept.
    """

    __slots__ = ("_broken", "_gap", "_kept", "_threshold", "breach", "kept", "n", "promise", "standing")

    def __init__(self, promise: Promise, threshold: float) -> None:
        if not 0 < promise.most < 1:
            raise ValueError(f"{promise.text}: need 0 < most < 1, got {promise.most}")
        self.promise, self._threshold = promise, threshold
        self.n = self._gap = 0
        self.standing = Verdict.INCONCLUSIVE
        self.breach: Alarm | None = None
        self.kept: Alarm | None = None
        self._start()

    def _start(self) -> None:
        most = float(self.promise.most)
        self._broken, self._kept = Detector(most), Detector(1.0 - most)

    def add(self, facts: ArmFacts, at: datetime, run: str) -> None:
        """Fold one unit; what is missing is no value."""
        bad = badness(self.promise, facts)
        if bad is None:
            self._gap += 1
            return
        self.n += 1
        self._gap = 0
        if self.standing is not Verdict.FAIL and self._broken.add(bad.least, at) >= self._threshold:
            self.breach, self.standing = self._broken.alarm(at, run), Verdict.FAIL
            self._start()
        elif self.standing is not Verdict.PASS and self._kept.add(1.0 - bad.most, at) >= self._threshold:
            self.kept, self.standing = self._kept.alarm(at, run).of_rest(), Verdict.PASS
            self._start()

    def evidence(self) -> WatchedPromise:
        """As of now."""
        return WatchedPromise(
            promise=self.promise,
            standing=self.standing,
            units=self.n,
            gap=self._gap,
            breach=self.breach,
            kept=self.kept,
        )

    def to_json(self) -> dict[str, Any]:
        """State; floats survive JSON bit for bit."""
        return {
            "promise": [self.promise.field, str(self.promise.most), self.promise.latency_ms],
            "n": self.n,
            "gap": self._gap,
            "standing": self.standing.value,
            "breach": None if self.breach is None else alarm_json(self.breach),
            "kept": None if self.kept is None else alarm_json(self.kept),
            "detectors": [self._broken.to_json(), self._kept.to_json()],
        }

    def restore(self, kept: Mapping[str, Any]) -> None:
        """The inverse of to_json; what was kept of another promise is left."""
        if kept["promise"] != self.to_json()["promise"]:
            return
        self.n, self._gap = int(kept["n"]), int(kept["gap"])
        self.standing = Verdict(kept["standing"])
        self.breach = None if kept["breach"] is None else alarm_of(kept["breach"])
        self.kept = None if kept["kept"] is None else alarm_of(kept["kept"])
        for detector, state in zip((self._broken, self._kept), kept["detectors"], strict=True):
            detector.restore(state)


def badness(promise: Promise, facts: ArmFacts) -> Bad | None:
    """How bad a unit was for a promise; None when it does not say.

    Of a unit of several runs only each component's share of fallbacks is known: as many runs as the worst component has fell
    back at least, and all of them together at most.
    """
    match promise.measure:
        case Measure.LATENCY:
            known = valid_latencies(facts)
            slow = sum(one > (promise.latency_ms or 0) for one in known)
            return Bad(slow / len(known), slow / len(known)) if known else None
        case Measure.SUCCESS:
            failed = 1.0 - facts.success
            return Bad(failed, failed) if 0.0 <= failed <= 1.0 else None
        case Measure.FALLBACK:
            shares = [share for share in facts.fallbacks.values() if 0.0 <= share <= 1.0]
            return Bad(max(shares, default=0.0), min(1.0, sum(shares)))
