"""What a backtest plays: where its units come from, in which order, with which margins; and what it found."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

from sluicegate.console.progress import Progress
from sluicegate.console.recordings import units
from sluicegate.console.resampling import permuted, relabelled
from sluicegate.contracts.stages import Outcome
from sluicegate.rollout.backtest import BacktestReport, RecordedPair, Watch, backtest
from sluicegate.rollout.planning import plan_stages

if TYPE_CHECKING:
    from sluicegate.contracts.resources.workflow import WorkflowSpec

UNDECIDED = "undecided"
UNITS = units.FORMAT


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Recorded units. draw: those of a seed; total: how many, None: not known before they are read."""

    title: str
    draw: Callable[[int], Iterable[RecordedPair]]
    total: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """Of recorded runs, who answers: stable, candidate, and the second copy of stable."""

    stable: str
    candidate: str
    floor: str


def source(path: Path, format: str, chosen: Selected, *, runs: int, is_repeated: bool) -> Source:
    """A file of either kind. Raises Refused for what cannot be read."""
    from sluicegate.console.recordings.formats import FORMATS, unknown

    if format == UNITS:
        return of_units(path, is_repeated=is_repeated)
    if format not in FORMATS:
        raise unknown(format, (*FORMATS, UNITS))
    return of_runs(path, format, chosen, runs=runs)


def of_runs(path: Path, format: str, chosen: Selected, *, runs: int) -> Source:
    """Tasks drawn with replacement, so that any number of runs can be had. Raises Refused for what cannot be read."""
    from sluicegate.console.recordings import load
    from sluicegate.console.replay.evidence import pairs

    recording = load(path, format)
    arms = (chosen.stable, chosen.candidate, chosen.floor)
    pairs(recording, *arms, runs=1, seed=1)
    return Source(
        title=f"{path.name}: stable {chosen.stable}, candidate {chosen.candidate}, floor {chosen.floor}",
        draw=lambda seed: pairs(recording, *arms, runs=runs, seed=seed),
        total=runs,
    )


def of_units(path: Path, *, is_repeated: bool) -> Source:
    """Recorded units: as they come, read as a stream; or, to be repeated, kept and permuted."""
    if not is_repeated:
        return Source(
            title=f"{path.name}: recorded units, in their order", draw=lambda _: units.pairs(path), total=None
        )
    kept = list(units.pairs(path))
    return Source(
        title=f"{path.name}: {len(kept)} recorded units, in another order for each seed",
        draw=lambda seed: permuted(kept, seed),
        total=len(kept),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """How a source is played. is_null: chance decides which version is called which, so that no abort is right."""

    source: Source
    is_null: bool = False

    def report(
        self, spec: "WorkflowSpec", seed: int, progress: Progress, watch: Watch | None = None
    ) -> BacktestReport:
        """One rollout."""
        drawn = self.source.draw(seed)
        drawn = relabelled(drawn, seed) if self.is_null else drawn
        return backtest(spec, progress.over(drawn), watch=watch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """How several rollouts ended. units: of the candidate, median and 80 %; runs: recorded units used up, median and 80 %."""

    outcomes: tuple[tuple[str, int], ...]
    rollouts: int
    units: tuple[float, float]
    runs: tuple[float, float]

    def count(self, outcome: str) -> int:
        """Of this outcome."""
        return dict(self.outcomes).get(outcome, 0)


def rates(reports: Iterable[BacktestReport]) -> Rates:
    """Of at least one report; every outcome that a backtest can have is counted, also when it did not occur."""
    found = list(reports)
    counts = Counter(report.outcome or UNDECIDED for report in found)
    shown = dict.fromkeys((Outcome.PROMOTED.value, Outcome.ABORTED.value, UNDECIDED, *counts))
    return Rates(
        outcomes=tuple((str(name), counts[name]) for name in shown),
        rollouts=len(found),
        units=_middle([report.units for report in found]),
        runs=_middle([sum(stage.pairs for stage in report.stages) for report in found]),
    )


def _middle(values: list[int]) -> tuple[float, float]:
    if len(values) == 1:
        return float(values[0]), float(values[0])
    tenths = quantiles(values, n=10, method="inclusive")
    return tenths[4], tenths[7]


def unfed(spec: "WorkflowSpec", reports: Iterable[BacktestReport]) -> Iterator[str]:
    """Gates of the stages that were reached about which no record says anything, each once, with what that means."""
    planned = {stage.name: [gate.name for gate in stage.gates] for stage in plan_stages(spec)}
    found: dict[str, str] = {}
    for report in reports:
        for stage in report.stages:
            is_fed = {gate.finding.gate: gate.is_fed for gate in stage.gates}
            for name in planned[stage.stage]:
                if name not in is_fed:
                    found[f"{stage.stage}/{name}"] = "it measures elsewhere, and is left out"
                elif not is_fed[name]:
                    found[f"{stage.stage}/{name}"] = "it never passes; --without leaves it out"
    for name, means in found.items():
        yield f"{name} is not fed by these records: {means}"
