"""What is observed of the arms, and what a stage's evidence is.

One Observation is one *unit* (the session, or the run where there is no routing key) in one stage of one
attempt: the facts of every arm that took part. In mirrored stages an observation is paired: stable and
candidate (and for a part of the pairs a second copy of stable, `control`) saw the same request. In split
stages exactly one of `stable` and `candidate` is set.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from sluicegate.contracts.runs import Arm, Coalition, Game
from sluicegate.contracts.stages import Signal, Stage

OTHER_VALUES: Final = "(other)"
"""In ArmFacts.choices: the rarest values of a field together, where there are more than MOST_VALUES."""

MOST_VALUES: Final = 32
MOST_NUMBERS: Final = 64
VECTOR: Final = 16
"""Numbers to which a vector is projected, so that MOST_NUMBERS are four vectors."""


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
    disagrees: share of runs whose answer differs in a fact from the one the user got, without a better reward.
    similarity: mean similarity of its answers to the user's, [0, 1]. texts: for each run that `disagrees` counts, at
    most 64, the similarity of its texts to the user's where the facts agree; None where it decides nothing.
    outcome: what the business said of it later, its reward, or 1 and 0 for Succeeded and Failed; evaluated: the evaluator's
    reward of the same runs, which the business's replaces in `reward`. None where nobody said anything.
    choices: observed field, ``component.path``, -> value -> share of what the component gave there (shares sum to 1; a mean
    over the runs in which it gave any). numbers: the same for fields of numbers, each given number, at most 64; of vectors
    their projections, one after the other.
    """

    success: float
    latencies_ms: tuple[float, ...]
    fallbacks: dict[str, float] = field(default_factory=dict)
    violations: tuple[str, ...] = ()
    violated: float = 0.0
    reward: float | None = None
    disagrees: float | None = None
    evaluated: float | None = None
    outcome: float | None = None
    similarity: float | None = None
    texts: tuple[float | None, ...] = ()
    choices: dict[str, dict[str, float]] = field(default_factory=dict)
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablation:
    """What a unit's copy with a coalition earned; no evidence of any arm.

    reward: mean over its runs in [0, 1], 0 for a run that failed; None when unknown. stable: the same of stable under the
    same coalition, over the same runs; None where stable is not ablated, or it is unknown of a run.
    """

    coalition: Coalition
    reward: float | None = None
    stable: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run of a unit of several, so that a finding can name the run that shows it. Never evidence itself."""

    run: str
    candidate: ArmFacts
    stable: ArmFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One unit, closed. `sequence` is assigned by the store: folds go in this order.

    by_run: of a unit of several runs, those in which the candidate took part, at most 8. ablation: of the fallback
    game; mixed: of the version game.
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
    mixed: Ablation | None = None


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
    mixed: Ablation | None = None
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
    mirrored stages the candidate is compared with the second copy of stable, and only where there is one. level: α of
    an interval that the fold itself follows over time (RewardShapleyVariance, whose margin is `delta`).
    output: only for ComponentDrift, one question per observed field of a component. numeric: it holds numbers. length: and
    these are vectors of so many.
    """

    signal: Signal
    margin: float
    component: str | None = None
    boundary_ms: float | None = None
    latency_slack: float = 0.25
    latency_floor_ms: float = 50.0
    baseline: float | None = None
    against_control: bool = False
    output: str | None = None
    numeric: bool = False
    level: float = 0.05
    length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerEvidence:
    """How the answers of both copies compare with the users' (ResponseDisagreement).

    similarity, stable_similarity: means over units, [0, 1]. floor: texts that are less similar than this differ; None
    until `have` of `want` similarities of stable's second copy are known. unjudged: units folded before that, by their
    facts alone though they have texts. only_candidate, only_stable: units in which one of the two differs more.
    """

    similarity: float | None = None
    stable_similarity: float | None = None
    floor: float | None = None
    have: int = 0
    want: int = 0
    unjudged: int = 0
    only_candidate: int = 0
    only_stable: int = 0


class CloudLook(NamedTuple):
    """Of vectors compared as wholes: looks so far, p of the latest, log e-value of all of them together."""

    looks: int = 0
    p: float = 1.0
    log_e: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCounts:
    """What both arms gave in one field of a component, in the units that were compared.

    counts: (value or range of numbers, candidate's units, stable's), a unit of several runs in parts; of numbers
    ascending. moved: the value, or the border, whose share moved most surely; the evidence's candidate and stable are its
    shares. unseen: (value, candidate's units, up to three run ids) of values that stable never gave. cloud: of vectors.
    """

    moved: str
    numeric: bool = False
    counts: tuple[tuple[str, float, float], ...] = ()
    unseen: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    cloud: CloudLook | None = None


class Estimate(NamedTuple):
    """A contribution to the reward with its standard error."""

    component: str
    value: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Contributions of the candidate beside stable's, from pairs in which both were ablated alike (RewardShapleyVariance).

    What is compared in SignalEvidence is the population variance of the contributions, corrected for noise. error:
    standard error of the difference. shifts: candidate − stable of each component. steady: pairs between the first and
    the last of the looks in a row, one after every 50 pairs, at which the interval of the difference was inside ±`margin`.
    """

    error: float
    shifts: tuple[Estimate, ...]
    steady: int


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
    answers: AnswerEvidence | None = None
    likeness: Likeness | None = None
    output: str | None = None  # field of a component, for ComponentDrift
    outputs: OutputCounts | None = None


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
    """Units of one game and arm by coalition; see `Coalition` for players and masks.

    cells: (mask, units, sum of rewards, sum of their squares), ascending; empty where there are more players than a
    table is kept for. missing: units whose reward stayed unknown, or that fit into no cell. estimates: contributions as
    of the last unit, of `units` units; spread: their population variance, corrected for noise. Both are there from two
    units on.
    """

    players: tuple[str, ...]
    cells: tuple[tuple[int, int, float, float], ...] = ()
    missing: int = 0
    arm: Arm = Arm.ABLATED
    game: Game = Game.FALLBACK
    units: int = 0
    estimates: tuple[Estimate, ...] = ()
    spread: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """The evaluator's reward beside what the business said of the same units, in both arms.

    units: comparisons. missing: candidate's units that lack one of the two. reward, stable_reward, outcome,
    stable_outcome: means, [0, 1]. gain_log_e: against "the reward is better by `tolerance` at most". flat_log_e: against
    "the outcome is better by `tolerance` or more". rise_log_e: against "the outcome is not better". Each holds at any time.
    """

    units: int
    missing: int
    reward: float
    stable_reward: float
    outcome: float
    stable_outcome: float
    tolerance: float
    gain_log_e: float
    flat_log_e: float
    rise_log_e: float


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
    stable_ablated: AblatedUnits | None = None
    mixed: AblatedUnits | None = None
    routing: RoutingCounts = RoutingCounts()
    improvement: Improvement | None = None

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
