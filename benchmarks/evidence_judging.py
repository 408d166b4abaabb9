"""Judges on the traffic of one scenario: tuned on one half, measured on the other."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence_traffic import Array, Generator, Scenario
from benchmarks.judges import fixed, gates, kayenta, threshold

ALPHA: Final = 0.05
"""The one false-alarm rate: the default budget of a rollout for aborts, all of it on the gate in question."""

POWERS: Final = (0.80, 0.95)
CHUNK: Final = 50


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one judge. None: it cannot judge this, or holds the rate at no setting."""

    false_aborts: float
    caught: float
    runs: float
    setting: str = ""

    def to_json(self) -> dict[str, Any]:
        """Rounded."""
        return {
            "false_aborts": round(self.false_aborts, 4),
            "caught": round(self.caught, 4),
            "runs": round(self.runs, 1),
            "setting": self.setting,
        }


@dataclass(slots=True)
class Seen:
    """What is kept of many rollouts. aborted: minute by the gate; rejected: by power, the fixed test's answer."""

    runs: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    closed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    means: list[Array] = field(default_factory=list)
    squares: list[Array] = field(default_factory=list)
    aborted: list[Array] = field(default_factory=list)
    rejected: dict[float, list[NDArray[np.bool_]]] = field(default_factory=dict)
    experiment: list[Array] = field(default_factory=list)
    control: list[Array] = field(default_factory=list)
    windows: dict[int, list[Array]] = field(default_factory=dict)

    def window(self, minutes: int) -> Array:
        """The candidate's values, one in so many minutes."""
        return np.concatenate(self.windows[minutes])

    def points(self) -> Iterator[tuple[Array, Array]]:
        """Both arms' values, one a minute, of each rollout."""
        return zip(np.concatenate(self.experiment), np.concatenate(self.control), strict=True)


def judge(scenario: Scenario, seed: int, tuning: int, measured: int) -> dict[str, Figures | None]:
    """Every judge's figures; tuning, measured: healthy rollouts of each half, and as many bad ones."""
    generators = [np.random.default_rng([seed, part]) for part in range(4)]
    tune = tuple(watch(scenario, generators[bad], tuning, bad=bool(bad)) for bad in (0, 1))
    truth = told(*tune)
    test = tuple(watch(scenario, generators[2 + bad], measured, truth, bad=bool(bad)) for bad in (0, 1))
    healthy, bad = (np.concatenate(one.aborted) for one in test)
    found: dict[str, Figures | None] = {"gates": _figures(healthy, bad, test[1])}
    for power in POWERS:
        found[f"fixed, {power:.0%}"] = _fixed(test, power, fixed.units_needed(truth, ALPHA, power))
    seen = bool(test[0].windows)
    found["Kayenta, its rules"] = _kayenta(test, kayenta.ALLOWED_INCREASE) if seen else None
    found["Kayenta, tuned"] = _kayenta_tuned(tune, test) if seen else None
    found["threshold, its rules"] = _threshold(test, threshold.FLAGGER, _midway(tune)) if seen else None
    found["threshold, tuned"] = _threshold_tuned(tune, test) if seen else None
    return found


def watch(
    scenario: Scenario, generator: Generator, rows: int, truth: fixed.Truth | None = None, *, bad: bool
) -> Seen:
    """Draw rollouts and keep what the judges need. truth: what the fixed tests are told; None: only tuning."""
    seen = Seen()
    for _ in range(rows // CHUNK):
        traffic = scenario.draw(generator, CHUNK, bad)
        seen.runs, seen.closed = traffic.runs, traffic.closed
        differences = traffic.differences
        seen.means.append(differences.mean(axis=1))
        seen.squares.append((differences**2).mean(axis=1))
        if truth is not None:
            seen.aborted.append(gates.aborted_at(differences, traffic.closed, ALPHA, scenario.floor))
            for power in POWERS:
                units = fixed.units_needed(truth, ALPHA, power)
                seen.rejected.setdefault(power, []).append(fixed.rejects(differences, units, truth, ALPHA))
        if traffic.candidate is not None and traffic.stable is not None:
            _measure(seen, scenario, traffic.candidate, traffic.stable)
    return seen


def _measure(seen: Seen, scenario: Scenario, candidate: Array, stable: Array) -> None:
    """What a metric store would answer."""
    for minutes in {rule.minutes for rule in threshold.RULES}:
        seen.windows.setdefault(minutes, []).append(values(candidate, minutes, p95=scenario.p95))
    seen.experiment.append(seen.windows[1][-1])
    seen.control.append(values(stable, 1, p95=scenario.p95))


def values(runs: Array, minutes: int, *, p95: bool) -> Array:
    """One value an interval of (rows, minutes, runs): the 95th percentile or the mean; NaN without runs."""
    rows, length, count = runs.shape
    cut = runs[:, : length // minutes * minutes].reshape(rows, length // minutes, minutes * count)
    if p95:
        quantile: Array = np.quantile(cut, 0.95, axis=2)
        return quantile
    known = ~np.isnan(cut)
    number = known.sum(axis=2)
    total = np.where(known, cut, 0.0).sum(axis=2)
    mean: Array = np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0)
    return mean


def told(healthy: Seen, bad: Seen) -> fixed.Truth:
    """The effect and the spreads, from all units of the tuning half."""

    def moments(seen: Seen) -> tuple[float, float]:
        mean = float(np.concatenate(seen.means).mean())
        return mean, math.sqrt(float(np.concatenate(seen.squares).mean()) - mean**2)

    (zero, sd_healthy), (worse, sd_bad) = moments(healthy), moments(bad)
    return fixed.Truth(worse - zero, sd_healthy, sd_bad)


def _figures(healthy: Array, bad: Array, seen: Seen, setting: str = "") -> Figures:
    """From the minutes of the aborts. A bad candidate that is never aborted costs all the runs there are."""
    found = np.isfinite(bad)
    spent = np.where(found, seen.runs[np.where(found, bad, 0).astype(int)], seen.runs[-1])
    return Figures(float(np.isfinite(healthy).mean()), float(found.mean()), float(spent.mean()), setting)


def _fixed(test: tuple[Seen, ...], power: float, units: int) -> Figures:
    healthy, bad = (np.concatenate(one.rejected[power]) for one in test)
    runs = int(test[0].runs[int(np.searchsorted(test[0].closed, units))])
    return Figures(float(healthy.mean()), float(bad.mean()), runs, f"{units} units")


def _kayenta(test: tuple[Seen, ...], allowed: float) -> Figures:
    healthy, bad = (
        np.array([_minute(kayenta.aborted_at(x, y, allowed)) for x, y in one.points()]) for one in test
    )
    return _figures(healthy, bad, test[1], f"allowedIncrease {allowed:.3g}")


def _minute(found: int | None) -> float:
    return math.inf if found is None else float(found)


def _kayenta_tuned(tune: tuple[Seen, ...], test: tuple[Seen, ...]) -> Figures | None:
    worst = sorted((kayenta.worst_flagged(x, y) for x, y in tune[0].points()), reverse=True)
    limit = worst[int(ALPHA * len(worst))]
    if limit == math.inf:  # flagged with a mean of zero, for which there is no effect size
        return None
    return _kayenta(test, max(kayenta.ALLOWED_INCREASE, math.nextafter(limit, math.inf)))


def _midway(tune: tuple[Seen, ...]) -> float:
    """A limit halfway between what healthy and bad candidates show in an hour: better than people know it."""
    return 0.5 * sum(float(np.nanmean(one.window(60))) for one in tune)


def _threshold(test: tuple[Seen, ...], rule: threshold.Rule, limit: float) -> Figures:
    healthy, bad = (threshold.aborted_at(one.window(rule.minutes), rule, limit) for one in test)
    return _figures(healthy, bad, test[1], f"{rule}, limit {limit:.4g}")


def _threshold_tuned(tune: tuple[Seen, ...], test: tuple[Seen, ...]) -> Figures | None:
    """Of all rules, each with the limit that holds the rate, the one that catches bad candidates soonest."""
    limits = {
        rule: threshold.smallest_limit(tune[0].window(rule.minutes), rule, ALPHA) for rule in threshold.RULES
    }
    best = min(limits, key=lambda rule: _threshold(tune, rule, limits[rule]).runs)
    found = _threshold(test, best, limits[best])
    return found if found.caught > 0.0 else None
