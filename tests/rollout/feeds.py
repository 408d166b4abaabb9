"""How each signal is fed in tests: what makes its gate pass, and every way in which evidence can be missing.

A new signal needs an entry in FEEDS (or OUTSIDE, where its numbers are no units): test_missing_evidence.py then asks all of it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sluicegate.contracts.evidence import Ablation, ArmFacts, EvidenceKey, Observation, StageEvidence
from sluicegate.contracts.resources.rollout import ObservedOutput, RolloutSpec
from sluicegate.contracts.runs import Coalition
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.observability.fold import Fold
from sluicegate.rollout import planning

BASELINE: Final = {
    "WorkflowSuccessRate": "0.95",
    "WorkflowP95Latency": "0.05",
    "ComponentFallbackRateMax/agent": "0.02",
    "ContractViolations": "0.01",
    "WorkflowReward": "0.8",
}
HOUR: Final = 3600.0
Spoil = Callable[[ArmFacts, float | None], ArmFacts]


@dataclass(frozen=True, slots=True)
class Feed:
    """Of one signal.

    absent: the value can be left out (else only NaN stands for "none"). spoil: facts whose value is None, NaN or infinite.
    alone: it is missing where one arm lacks it, of both nobody asks. units: enough to pass. gate: more fields of the gate. spec: more of the rollout. ablated: evidence is in Observation.ablation.
    """

    stages: tuple[Stage, ...]
    spoil: Spoil
    absent: bool = True
    alone: bool = False
    units: int = 120
    gate: dict[str, Any] = field(default_factory=lambda: {"margin": "0.2"})
    spec: dict[str, Any] = field(default_factory=dict)
    ablated: bool = False


def _set(name: str) -> Spoil:
    def spoil(facts: ArmFacts, value: float | None) -> ArmFacts:
        changes: dict[str, Any] = {name: value}
        return replace(facts, **changes)

    return spoil


def _latency(facts: ArmFacts, value: float | None) -> ArmFacts:
    return replace(facts, latencies_ms=() if value is None else (value,))


def _fallback(facts: ArmFacts, value: float | None) -> ArmFacts:
    return replace(facts, fallbacks={} if value is None else {"agent": value})


def _choice(facts: ArmFacts, value: float | None) -> ArmFacts:
    return replace(facts, choices={} if value is None else {"agent.intent": {"ask": value}})


def _nothing(facts: ArmFacts, value: float | None) -> ArmFacts:
    return facts


EVERYWHERE: Final = tuple(Stage)
MIRRORED: Final = (Stage.CANARY, Stage.SHADOW)

FEEDS: Final[dict[Signal, Feed]] = {
    Signal.SUCCESS_RATE: Feed(EVERYWHERE, _set("success"), absent=False),
    Signal.P95_LATENCY: Feed(EVERYWHERE, _latency, units=400),
    Signal.FALLBACK_RATE_MAX: Feed(EVERYWHERE, _fallback, absent=False),
    Signal.CONTRACT_VIOLATIONS: Feed(EVERYWHERE, _set("violated"), absent=False),
    Signal.DISAGREEMENT: Feed(MIRRORED, _set("disagrees")),
    Signal.REWARD: Feed(EVERYWHERE, _set("reward")),
    Signal.DRIFT: Feed(
        (*MIRRORED, Stage.CONTROLLED),
        _choice,
        alone=True,
        spec={"observed": (ObservedOutput(component="agent", output="intent", numeric=False, live=False),)},
    ),
    Signal.SHAPLEY_VARIANCE: Feed(
        (Stage.SHADOW,), _nothing, units=1200, gate={"delta": "0.5", "deltaPhi": "0.5"}, ablated=True
    ),
}
OUTSIDE: Final = frozenset({Signal.EXTERNAL})
"""Judged by numbers that are measured elsewhere."""


@dataclass(frozen=True, slots=True)
class World:
    """How the units of a stage are, as the store gives them. shift: seconds from now to the newest; value: of the spoilt
    ones; every: so many-th unit is sound (0: none, 1: all)."""

    shift: float = -1.0
    every: int = 1
    value: float | None = None
    candidate: bool = True
    stable: bool = True
    dropped: int = 0
    part: float = 1.0
    fails: bool = False


KINDS: Final[dict[str, tuple[World, str]]] = {
    "nothing was observed": (World(part=0.0), "NoData"),
    "the value is absent": (World(every=0), "NoData"),
    "NaN": (World(every=0, value=math.nan), "NoData"),
    "infinite": (World(every=0, value=math.inf), "NoData"),
    "stale: units stopped coming": (World(shift=-0.5 * HOUR), "StaleData"),
    "partial: two of three units lack the value": (World(every=3, value=math.nan), "NoData"),
    "partial: most mirrors were dropped": (World(dropped=2), "TooManyDropped"),
    "the store fails": (World(fails=True), "NoData"),
    "the clock steps forward": (World(shift=-0.75 * HOUR), "StaleData"),
    "the clock steps back": (World(shift=0.75 * HOUR), "StaleData"),
    "the candidate's arm is empty": (World(candidate=False), "NoData"),
    "stable's arm is empty": (World(stable=False), "NoData"),
    "both arms are empty": (World(candidate=False, stable=False), "NoData"),
    "too few": (World(part=0.01), "NeedsMore"),
}
"""What is missing, and the reason that is given. "late" is in every row: sound evidence that comes after the deadline."""


def applies(signal: Signal, stage: Stage, kind: str) -> bool:
    """Whether it can happen to this signal in this stage."""
    feed, (world, _) = FEEDS[signal], KINDS[kind]
    if kind == "the value is absent":
        return feed.absent
    if feed.ablated and (not world.stable or world.value == math.inf):
        return kind == "both arms are empty"  # a pair has one reward of each, or none
    if world.dropped:
        return stage in MIRRORED_STAGES
    return stage is not Stage.FULL or world.stable or not world.candidate  # in Full there is no second arm


def reason(signal: Signal, kind: str) -> str:
    """Before the deadline."""
    if kind == "too few" and signal is Signal.P95_LATENCY:
        return "InsufficientSamples"
    return KINDS[kind][1]


def evidence(
    signal: Signal, world: World, spec: RolloutSpec, stage: Stage, now: datetime
) -> StageEvidence | None:
    """What a look at `now` sees."""
    if world.fails:
        return None
    feed = FEEDS[signal]
    fold = Fold(EvidenceKey("ro-1", stage, 1), planning.questions(spec, stage, BASELINE, 1000.0))
    count = math.ceil(feed.units * world.part)
    newest = now + timedelta(seconds=world.shift)
    for number in range(1, count + 1):
        sound = world.every > 0 and number % world.every == 0
        at = newest - timedelta(seconds=count - number)
        fold.add(_unit(feed, world, fold.key, number, at, sound=sound))
    return fold.evidence()


SOUND: Final = ArmFacts(
    success=1.0,
    latencies_ms=(100.0,),
    fallbacks={"agent": 0.0},
    reward=0.9,
    disagrees=0.0,
    choices={"agent.intent": {"ask": 1.0}},
)


def _unit(
    feed: Feed, world: World, key: EvidenceKey, number: int, at: datetime, *, sound: bool
) -> Observation:
    facts = SOUND if sound else feed.spoil(SOUND, world.value)
    one = Observation(
        sequence=number,
        key=key,
        unit=f"unit-{number}",
        runs=(f"run-{number}",),
        at=at,
        stable=(SOUND if feed.alone else facts) if world.stable else None,
        candidate=facts if world.candidate else None,
        control=facts if world.stable else None,
        dropped=world.dropped,
        ablation=_ablation(world, number, sound=sound) if feed.ablated and world.candidate else None,
    )
    if key.stage in MIRRORED_STAGES:
        return one
    if key.stage is Stage.FULL:
        return replace(one, stable=None, control=None)
    return (
        replace(one, control=None, stable=None) if number % 2 else replace(one, control=None, candidate=None)
    )


def _ablation(world: World, number: int, *, sound: bool) -> Ablation:
    """Two components that add nothing: in each coalition the same reward."""
    coalition = Coalition(players=("agent", "memory"), mask=number % 4, probability=0.25)
    return Ablation(coalition=coalition, reward=0.5, stable=0.5 if sound else world.value)
