"""What is observed of the arms, and what a stage's evidence is.

One Observation is one *unit* (the session, or the run where there is no routing key) in one stage of one
attempt: the facts of every arm that took part. In mirrored stages an observation is paired: stable and
candidate (and for a part of the pairs a second copy of stable, `control`) saw the same request. In split
stages exactly one of `stable` and `candidate` is set.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from sluicegate.contracts.runs import Coalition
from sluicegate.contracts.stages import Signal, Stage


class EvidenceKey(NamedTuple):
    """Evidence is never shared between candidates, stages or attempts."""

    rollout: str  # uid; a rollout has one candidate
    stage: Stage
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFacts:
    """One arm's part in a unit; means over the unit's runs.

    success: share of runs that ended with a contract-conforming answer, [0, 1].
    latencies_ms: end-to-end latency of each run, milliseconds, at most 64 kept.
    fallbacks: component -> share of runs in which it fell back (forced ablations excluded), [0, 1].
    violations: kinds seen, each ``code path`` such as ``Enum steps.plan.intent``.
    violated: share of runs with any violation. reward: mean in [0, 1]; None when unknown.
    disagrees: share of runs whose answer differs from the one the user got, without a better reward.
    """

    success: float
    latencies_ms: tuple[float, ...]
    fallbacks: dict[str, float] = field(default_factory=dict)
    violations: tuple[str, ...] = ()
    violated: float = 0.0
    reward: float | None = None
    disagrees: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """What the ablated copy of a unit earned; no evidence of any arm.

    reward: mean over its runs in [0, 1], 0 for a run that failed; None when unknown.
    """

    coalition: Coalition
    reward: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run of a unit of several, so that a finding can name the run that shows it. Never evidence itself."""

    run: str
    candidate: ArmFacts
    stable: ArmFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One unit, closed. `sequence` is assigned by the store: folds go in this order.

    by_run: of a unit of several runs, those in which the candidate took part, at most 8.
    """

    sequence: int
    key: EvidenceKey
    unit: str
    runs: tuple[str, ...]  # run ids, at most 8 kept
    at: datetime
    stable: ArmFacts | None = None
    candidate: ArmFacts | None = None
    control: ArmFacts | None = None
    dropped: int = 0  # mirrors of this unit that were dropped for want of budget
    by_run: tuple[RunFacts, ...] = ()
    ablation: Ablation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawObservation:
    """What a gateway writes beside its run documents: one run's part in a unit, not yet closed.

    session: the unit is a session that may see more runs. The unit is closed at once when neither `session`
    nor `expects_reward` (a reward that is still missing and may come by the outcome call) holds, else when
    `window_seconds` have passed since its last run.
    """

    key: EvidenceKey
    unit: str
    run_id: str
    at: datetime
    stable: ArmFacts | None = None
    candidate: ArmFacts | None = None
    control: ArmFacts | None = None
    ablation: Ablation | None = None
    dropped: int = 0
    session: bool = False
    expects_reward: bool = False
    window_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a fold computes for a gate: is the candidate worse on `signal`, is it not worse by `margin`?

    component: only for ComponentFallbackRateMax, one question per component. boundary_ms: for latency, the
    SLA; None: frozen from stable's first 59 latencies: their p95 times 1 + latency_slack, and at least latency_floor_ms
    above it, since a fast agent's jitter is no harm. baseline: for
    Full, where there is no second arm: the rate or mean to compare with instead of stable. against_control: in
    mirrored stages the candidate is compared with the second copy of stable, and only where there is one.
    """

    signal: Signal
    margin: float
    component: str | None = None
    boundary_ms: float | None = None
    latency_slack: float = 0.25
    latency_floor_ms: float = 50.0
    baseline: float | None = None
    against_control: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalEvidence:
    """The state of one question, as a gate needs it.

    harm_log_e: log e-value against "the candidate is not worse"; >= log(1/alpha) shows harm.
    safe_log_e: log e-value against "the candidate is worse by `margin` or more"; >= log(1/alpha) shows
    non-inferiority. Both hold at any stopping time (Ville). candidate, stable: means over the units that
    have the value (rates in [0, 1]; for latency the share above `boundary`). growth: expected gain of
    safe_log_e per unit at the present estimate, for "needs about N more"; None when not positive.
    """

    signal: Signal
    component: str | None = None
    units: int = 0
    missing: int = 0  # units in which the value was absent
    candidate: float | None = None
    stable: float | None = None
    harm_log_e: float = 0.0
    safe_log_e: float = 0.0
    margin: float = 0.0
    boundary: float | None = None  # latency in ms above which a run counts as slow
    growth: float | None = None
    candidate_p95_ms: float | None = None
    stable_p95_ms: float | None = None
    witnesses: tuple[str, ...] = ()  # run ids in which the candidate was worse, newest last, at most 5


class RoutingSpan(NamedTuple):
    """Units whose arm was chosen in one span of time. end: Unix seconds at which it is over."""

    end: int
    chosen: int
    others: int
    unknown: int  # what they were chosen for is not known: their copies were dropped, or both arms answered


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingCounts:
    """How many units each arm received, by the time at which it was chosen.

    In split stages chosen is the candidate and others is stable; in mirrored stages the pairs with a second copy of
    stable and those without, since units that were not mirrored are not observed. until: every unit that closed before
    it is counted. sessions: units stay open for more runs.
    """

    spans: tuple[RoutingSpan, ...] = ()
    until: datetime | None = None
    sessions: bool = False

    def before(self, moment: datetime) -> tuple[int, int, int]:
        """Chosen, others and unknown, of the spans that were over at `moment`."""
        limit = moment.timestamp()
        over = [span for span in self.spans if span.end <= limit]
        return (
            sum(span.chosen for span in over),
            sum(span.others for span in over),
            sum(span.unknown for span in over),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AblatedUnits:
    """Ablated units of a stage by coalition; see `Coalition` for players and masks.

    cells: (mask, units, sum of rewards, sum of their squares), ascending. missing: ablated units whose reward stayed
    unknown, or that fit into no cell.
    """

    players: tuple[str, ...]
    cells: tuple[tuple[int, int, float, float], ...] = ()
    missing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEvidence:
    """All evidence of one (rollout, stage, attempt), as folded up to `cursor`.

    unseen_violations: kind -> (runs of the candidate that showed it, up to five run ids), only kinds that
    stable never showed; at most 64 kinds, further sightings are counted in unseen_overflow.
    """

    key: EvidenceKey
    cursor: int = 0
    units: int = 0  # candidate units
    stable_units: int = 0
    dropped: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    units_per_hour: float | None = None
    signals: tuple[SignalEvidence, ...] = ()
    unseen_violations: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    unseen_overflow: int = 0
    ablated: AblatedUnits | None = None
    routing: RoutingCounts = RoutingCounts()

    def of(self, signal: Signal) -> tuple[SignalEvidence, ...]:
        """Evidence of one signal: one entry, or one per component."""
        return tuple(item for item in self.signals if item.signal is signal)


class EvidenceSource(Protocol):
    """Where observations come from, in the store's order."""

    def observations(self, key: EvidenceKey, *, after: int, limit: int = 10_000) -> list[Observation]:
        """Observations of `key` with a sequence above `after`, ascending."""
        ...


class EvidenceStore(Protocol):
    """Where the folded state of a stage's gates is kept between looks."""

    def load(self, key: EvidenceKey) -> bytes | None:
        """State as saved last, or None."""
        ...

    def save(self, key: EvidenceKey, state: bytes) -> None:
        """Replace the state."""
        ...
