"""How a new revision reaches the users: stages, gates, budgets, and their defaults."""

from typing import Annotated, Any, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import Flag, Fraction, Model, Name, Number, Rate
from sluicegate.contracts.resources.source import Source
from sluicegate.contracts.stages import Signal, Stage


class Gate(Model):
    """One question that a stage must answer.

    margin: how much worse still counts as not worse, absolute on rates. on_fail: Abort, or Hold for a person.
    delta, delta_phi: of RewardShapleyVariance.
    """

    name: Name
    """Unique in the stage."""
    signal: Signal = Signal.EXTERNAL
    """What it looks at; see [gates](gates.md). Not written with `source`: then it is External."""
    source: Source | None = None
    """Instead of `signal`: where else it is measured."""
    margin: Rate | None = None
    """How much worse still counts as not worse: an absolute difference of rates. Absent: the stage's default."""
    delta: Rate | None = None
    """Of RewardShapleyVariance, required there: how much the variance of the contributions may differ from stable's."""
    delta_phi: Rate | None = None
    """Of RewardShapleyVariance: how much a single contribution may differ from stable's. Absent: 0.05."""
    on_fail: Literal["Abort", "Hold"] = "Abort"
    """Abort, or Hold for a person."""
    required: Flag = True
    """Not required: shown, and decides nothing."""


class Approvals(Model):
    """People who must agree before the stage is left."""

    required: Annotated[int, Field(strict=True, ge=1, le=20)] = 1
    """Distinct people."""
    expires_after_seconds: Annotated[int, Field(strict=True, ge=60)] = 604_800
    """An approval counts so long."""
    allow_author: Flag = False
    """Whether who made the change may approve it."""


class StageSpec(Model):
    """A stage; what is absent comes from the defaults of that stage."""

    name: Stage
    """Stages are written in the order of passage."""
    share: Fraction | None = None
    """Of the units: mirrored in Canary and Shadow, answered by the candidate in Controlled. Full is 1/1."""
    min_runs: Annotated[int, Field(strict=True, ge=1, le=100_000_000)] | None = None
    """Units of the candidate before the stage may be left."""
    min_duration_seconds: Annotated[int, Field(strict=True, ge=0)] | None = None
    """Active time since the candidate was first seen."""
    max_duration_seconds: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Active time after which a stage that is not passed waits for a person."""
    ablation_share: Fraction | None = None
    """Share of the mirrored units for which the candidate runs a second time, with components forced onto their declared fallbacks: what each of them adds to the reward. Nothing where no reward is declared."""
    version_share: Fraction | None = None
    """Share of the mirrored units for which the candidate runs once more with some of its components in stable's version: which of the changed components moved the reward. Nothing where no reward is declared. Default: 0."""
    control_share: Fraction | None = None
    """Share of the mirrored units for which stable runs a second time: the noise floor."""
    gates: Annotated[tuple[Gate, ...], Field(max_length=32)] | None = None
    """Instead of the stage's default gates."""
    approvals: Approvals | None = None
    """People who must agree before the stage is left."""
    review_fallbacks: Annotated[int, Field(strict=True, ge=0, le=50)] | None = None
    """Fallbacks that people must judge before the stage is left; 0: none."""


class ErrorBudget(Model):
    """Chance, over the whole rollout, to abort a candidate that is not worse, and to promote one that is."""

    abort: Rate = "0.05"
    """To abort a candidate that is not worse; split over all required gates."""
    promote: Rate = "0.05"
    """To pass a candidate that is worse by the margin; not split, since it would have to pass every gate."""


class MirrorLimits(Model):
    """What mirrors may use; beyond it they are dropped, counted, and in the end NoData."""

    max_concurrency: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 32
    """Mirrored runs at a time, per gateway worker; the copies of one run go one after the other."""
    max_seconds_per_minute: Annotated[int, Field(strict=True, ge=1)] | None = None
    """Time of components that mirrors may use, per worker."""
    max_cost_per_hour: Number | None = None
    """Sum of the `usage.cost` that components report, per worker."""


class Strategy(Model):
    """How a new revision reaches the users."""

    stages: Annotated[tuple[StageSpec, ...], Field(max_length=4)] = ()
    """Stages that differ from their defaults."""
    skip_stages: Annotated[tuple[Stage, ...], Field(max_length=3)] = ()
    """Stages that are left out; Full cannot be."""
    error_budget: ErrorBudget = ErrorBudget()
    """Chances of a wrong decision."""
    mirror_budget: MirrorLimits = MirrorLimits()
    """What mirrors may use."""
    outcome_window_seconds: Annotated[int, Field(strict=True, ge=0, le=2_592_000)] = 60
    """How long a unit stays open after its last run, for more runs of the session and for rewards and outcomes that come later."""
    evaluation_interval_seconds: Annotated[int, Field(strict=True, ge=1, le=3600)] = 10
    """Time between two looks at the gates; looking often costs no error rate."""
    rollback_window_seconds: Annotated[int, Field(strict=True, ge=0, le=31_536_000)] = 86_400
    """How long after a promotion the stable before it may come back without stages."""


_DAY = 86_400
_DEFAULTS: dict[Stage, dict[str, Any]] = {
    Stage.CANARY: {
        "share": Fraction(numerator=1, denominator=100),
        "min_runs": 200,
        "min_duration_seconds": 0,
        "max_duration_seconds": 14 * _DAY,
    },
    Stage.SHADOW: {
        "share": Fraction(numerator=5, denominator=100),
        "min_runs": 1000,
        "min_duration_seconds": 0,
        "max_duration_seconds": 14 * _DAY,
        "control_share": Fraction(numerator=1, denominator=2),
        "ablation_share": Fraction(numerator=1, denominator=2),
    },
    Stage.CONTROLLED: {
        "share": Fraction(numerator=20, denominator=100),
        "min_runs": 1000,
        "min_duration_seconds": 2 * _DAY,
        "max_duration_seconds": 14 * _DAY,
    },
    Stage.FULL: {
        "share": Fraction(numerator=1, denominator=1),
        "min_runs": 100,
        "min_duration_seconds": _DAY,
        "max_duration_seconds": 7 * _DAY,
    },
}
"""What a stage has where the strategy says nothing (ARCHITECTURE section 4), as StageSpec fields."""


def stages_passed(strategy: Strategy) -> dict[Stage, dict[str, Any]]:
    """The stages that a candidate passes, in order, Full always the last: StageSpec fields, defaults filled in."""
    given = {stage.name: dict(stage) for stage in strategy.stages}
    return {
        name: defaults | {field: value for field, value in given.get(name, {}).items() if value is not None}
        for name, defaults in _DEFAULTS.items()
        if name is Stage.FULL or name not in strategy.skip_stages
    }
