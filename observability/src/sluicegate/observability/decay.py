"""Is what was good no longer so? A Shiryaev-Roberts e-detector on one stream, with a baseline of its own first values.

Shin, Ramdas & Rinaldo, "E-detectors" (NEJSDS 2024, arXiv 2203.03532). Under "the mean of each value, given the past, is
at most `limit`" every L_t = 1 + stake * (x_t - limit) has expectation at most 1, so E[M_t] <= t for M_t = L_t (M_{t-1} + 1),
for a mixture over stakes as well, and with it the mean time until M reaches A is at least A, whatever the distribution.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sluicegate.contracts.watch import Alarm

STAKES: Final = (0.1, 0.25, 0.5, 1.0, 1.5)
"""Of the mixture, equal weights (research: ARL and delays in tests/observability/test_decay.py)."""

_LARGEST: Final = 0.9
"""Of the stake at which a value of 0 would end the detector for ever."""

BASELINE_Z: Final = 1.6448536269514722
"""Upper 95 % point of the normal distribution: the baseline is an estimate, and its error is no decay. With a tolerance of
2 points and 1,000 units the limit then lies below the true mean in at most 1 of 500 watches."""


class Detector:
    """State of one stream of badness in [0, 1]: the baseline, then the detector, then the alarm. Constant size.

    threshold: what the detector has to reach, not its logarithm. least_error: of the baseline, whatever its variance says.
    Values after an alarm change nothing.
    """

    __slots__ = (
        "_capital",
        "_least_error",
        "_run",
        "_squares",
        "_stakes",
        "_tolerance",
        "_wanted",
        "alarm",
        "limit",
        "n",
        "threshold",
        "total",
    )

    def __init__(
        self, *, baseline_units: int, tolerance: float, threshold: float, least_error: float = 0.0
    ) -> None:
        if not (baseline_units >= 2 and 0.0 <= tolerance < 1.0 and threshold > 1.0):
            raise ValueError(
                f"need baseline_units >= 2, 0 <= tolerance < 1, threshold > 1, got {baseline_units}, {tolerance}, {threshold}"
            )
        self._wanted, self._tolerance, self.threshold = baseline_units, tolerance, threshold
        self._least_error = least_error
        self.n, self.total, self._squares = 0, 0.0, 0.0
        self.limit: float | None = None
        self._stakes: tuple[float, ...] = ()
        self._capital: list[float] = []
        self._run = Excursion()
        self.alarm: Alarm | None = None

    def add(self, bad: float, at: datetime, run: str) -> None:
        """Fold one value. Raises ValueError when it is outside [0, 1]."""
        if not 0.0 <= bad <= 1.0:  # false for NaN
            raise ValueError(f"{bad!r} is outside [0, 1]")
        if self.alarm is not None:
            return
        self.n += 1
        if self.limit is None:
            self._learn(bad)
            return
        worse, middle = bad - self.limit, self._stakes[min(2, len(self._stakes) - 1)]
        self._run.add(bad, math.log1p(middle * worse), at)
        self._capital = [
            (1.0 + stake * worse) * (capital + 1.0)
            for stake, capital in zip(self._stakes, self._capital, strict=True)
        ]
        if self.level >= self.threshold:
            self.alarm = Alarm(
                before=self.before or 0.0,
                after=self._run.total / self._run.n,
                units=self._run.n,
                since=self._run.since or at,
                at=at,
                run=run,
            )

    def skip(self, units: int, bad: float) -> None:
        """Fold so many equal values at once, which belong to the baseline; before any other."""
        if self.n or not 0 <= units <= self._wanted:
            raise ValueError(
                f"{units} equal values after {self.n}; allowed: at most {self._wanted}, as the first"
            )
        if not units:
            return
        self.n, self.total, self._squares = units - 1, (units - 1) * bad, (units - 1) * bad * bad
        self.n += 1
        self._learn(bad)

    def _learn(self, bad: float) -> None:
        self.total += bad
        self._squares += bad * bad
        if self.n < self._wanted:
            return
        mean = self.total / self.n
        variance = max(self._squares / self.n - mean * mean, 0.0) * self.n / (self.n - 1)
        error = max(BASELINE_Z * math.sqrt(variance / self.n), self._least_error)
        self.limit = min(mean + error + self._tolerance, 1.0)
        self._stakes = stakes(self.limit)
        self._capital = [0.0] * len(self._stakes)

    @property
    def before(self) -> float | None:
        """Mean of the baseline; None while it is counted."""
        return None if self.limit is None else self.total / self._wanted

    @property
    def level(self) -> float:
        """The detector now; 0 before its first value."""
        return sum(self._capital) / len(self._capital) if self._capital else 0.0

    @property
    def log_level(self) -> float:
        """Natural log of `level`; 0 before its first value."""
        return math.log(self.level) if self.level > 0.0 else 0.0

    @property
    def log_threshold(self) -> float:
        """Natural log of what it has to reach."""
        return math.log(self.threshold)

    def to_json(self) -> dict[str, Any]:
        """State; floats survive JSON bit for bit."""
        return {
            "n": self.n,
            "total": self.total,
            "squares": self._squares,
            "limit": self.limit,
            "capital": list(self._capital),
            "run": self._run.to_json(),
            "alarm": None if self.alarm is None else alarm_json(self.alarm),
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """The inverse of to_json, into a detector made with the same arguments."""
        self.n, self.total, self._squares = int(data["n"]), float(data["total"]), float(data["squares"])
        self.limit = None if data["limit"] is None else float(data["limit"])
        self._capital = [float(capital) for capital in data["capital"]]
        self._stakes = () if self.limit is None else stakes(self.limit)
        if len(self._capital) != len(self._stakes):
            raise ValueError(f"state has {len(self._capital)} stakes, this version has {len(self._stakes)}")
        self._run = Excursion(*data["run"])
        self.alarm = None if data["alarm"] is None else alarm_of(data["alarm"])


def stakes(limit: float) -> tuple[float, ...]:
    """Those of STAKES that no value can ruin: stake * limit stays below 1. At least the smallest."""
    return tuple(stake for stake in STAKES if stake * limit <= _LARGEST)


class Excursion:
    """Since when the values have looked like decay: the present positive stretch of a CUSUM of log L at one stake (Page's
    estimate of the time of change). For people; the alarm does not rest on it.
    """

    __slots__ = ("n", "score", "since", "total")

    def __init__(self, score: float = 0.0, n: int = 0, total: float = 0.0, since: str | None = None) -> None:
        self.score, self.n, self.total = float(score), int(n), float(total)
        self.since = None if since is None else datetime.fromisoformat(since)

    def add(self, bad: float, gain: float, at: datetime) -> None:
        """One value, and what it adds to the score."""
        if self.score <= 0.0:
            self.score, self.n, self.total, self.since = 0.0, 0, 0.0, at
        self.n += 1
        self.total += bad
        self.score += gain

    def to_json(self) -> list[Any]:
        """Arguments of the same."""
        return [self.score, self.n, self.total, None if self.since is None else self.since.isoformat()]


def alarm_json(alarm: Alarm) -> list[Any]:
    """As JSON."""
    return [alarm.before, alarm.after, alarm.units, alarm.since.isoformat(), alarm.at.isoformat(), alarm.run]


def alarm_of(data: list[Any]) -> Alarm:
    """The inverse of alarm_json."""
    before, after, units, since, at, run = data
    return Alarm(
        before=float(before),
        after=float(after),
        units=int(units),
        since=datetime.fromisoformat(since),
        at=datetime.fromisoformat(at),
        run=str(run),
    )
