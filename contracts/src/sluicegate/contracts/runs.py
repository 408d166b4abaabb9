"""The run document: what happened in one arm of one run.

Written by the gateway to its spool, moved by the ingester to the store, shown by `run show`. Field names are
the JSON keys. Times are RFC 3339 UTC, durations milliseconds.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Arm(StrEnum):
    """Who ran. A document's key is (run id, arm)."""

    STABLE = "stable"
    CANDIDATE = "candidate"
    CONTROL = "control"  # second copy of stable: the noise floor
    ABLATED = "ablated"  # second copy of the candidate with components forced onto their fallbacks
    ABLATED_STABLE = "stable-ablated"  # a copy of stable with the same components forced onto theirs
    MIXED = "mixed"  # a copy of the candidate with some components in stable's version


class Game(StrEnum):
    """What a component that is left out of a coalition is replaced by."""

    FALLBACK = "Fallback"  # what it declares as its fallback
    VERSION = "Version"  # stable's version of it


class RunOutcome(StrEnum):
    """How a run ended."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    REJECTED = "Rejected"  # the caller's input broke the contract; says nothing about the arm


class StepOutcome(StrEnum):
    """How a step ended."""

    OK = "Ok"
    SKIPPED = "Skipped"  # its condition was false
    FALLBACK = "Fallback"
    FAILED = "Failed"


class Failure(StrEnum):
    """Why a call failed; also the values of `retry.retryOn`."""

    TIMEOUT = "Timeout"
    UNAVAILABLE = "Unavailable"  # no connection, 502, 503, 504
    RATE_LIMITED = "RateLimited"  # 429
    REJECTED = "Rejected"  # other 4xx
    FAULT = "Fault"  # 500, or a protocol error
    INVALID_INPUT = "InvalidInput"  # our mapping broke the component's input contract
    INVALID_OUTPUT = "InvalidOutput"
    EXPRESSION = "Expression"  # a condition or mapping could not be evaluated
    DEADLINE = "Deadline"  # the run's budget was spent before the call
    CIRCUIT_OPEN = "CircuitOpen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A broken contract. kind = ``code path`` without values, so that kinds can be counted."""

    code: str
    path: str
    message: str

    @property
    def kind(self) -> str:
        """What is counted: the code and where, without the value."""
        return f"{self.code} {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call to a component."""

    number: int
    started_ms: float  # since the start of the run
    service_ms: float
    queue_ms: float | None = None  # as the component reports it (Server-Timing: queue)
    status: int | None = None
    failure: Failure | None = None
    message: str | None = None
    usage: dict[str, Any] | None = None  # tokens and cost, as the component reports them


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """A degradation that the contract declares and that was used."""

    strategy: str  # Skip Value Component StableVersion; Reported: the component says that it degraded
    reason: Failure
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of a run."""

    name: str
    component: str
    version: str
    outcome: StepOutcome
    started_ms: float = 0.0
    latency_ms: float = 0.0
    request: Any = None
    response: Any = None
    attempts: tuple[Attempt, ...] = ()
    fallback: Fallback | None = None
    violations: tuple[Violation, ...] = ()
    stubbed: bool = False  # a mirrored run used the declared stub instead of a live component


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a mirrored answer compares with the one the user got."""

    agrees: bool  # no fact differs
    similarity: float  # [0, 1]
    differences: tuple[str, ...] = ()  # paths with both values, at most 20
    texts: float | None = None  # similarity of those texts that stable's own judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Coalition:
    """Which components a run of a coalition kept; the other players were replaced, as the game says.

    players: components that can be replaced, in the workflow's order. mask: bit i is set when player i ran.
    probability: chance of this coalition among the units that have one.
    """

    players: tuple[str, ...]
    mask: int
    probability: float
    game: Game = Game.FALLBACK

    @property
    def left_out(self) -> frozenset[str]:
        """The players that did not run."""
        return frozenset(name for bit, name in enumerate(self.players) if not self.mask >> bit & 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run in one arm."""

    run_id: str
    arm: Arm
    serving: bool  # True: its answer went to the user
    namespace: str
    workflow: str
    revision: str  # name of the WorkflowRevision
    version: str  # spec.version of that revision
    components: dict[str, str]  # component -> version
    started_at: str
    latency_ms: float
    outcome: RunOutcome
    unit: str  # salted hash of the routing key, or the run id
    window_seconds: float | None = None  # how long its unit stays open for more; None: no unit is made of it
    sla: dict[str, float] = field(default_factory=dict)  # of the contract, by name
    input: Any = None
    input_hash: str = ""
    lineage_digest: str = ""
    output: Any = None
    rollout: str | None = None  # uid
    stage: str | None = None
    attempt: int = 0
    position: float = 0.0  # where the unit hashes to in [0, 1)
    probability: float = 1.0  # chance of this unit to be in this arm
    error: str | None = None
    violations: tuple[Violation, ...] = ()  # of the workflow's own contract
    steps: tuple[StepRecord, ...] = ()
    reward: float | None = None
    reward_source: str | None = None  # Evaluator | Outcome
    comparison: Comparison | None = None
    coalition: Coalition | None = None  # of an ablated or mixed run
    bodies: str = "Kept"  # Kept | Dropped (back-pressure) | Sampled (left out by lineage.sampleBodies)
    worker: str = ""
    trace_id: str = ""
    tags: dict[str, str] = field(default_factory=dict)
