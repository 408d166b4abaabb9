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
    DIVERTED = (
        "Diverted"  # rules of business answered at once, the workflow did not run; says nothing about the arm
    )


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


class Policy(StrEnum):
    """What happens to a value that breaks its contract."""

    FAIL = "Fail"
    MAP = "Map"  # another value stands there instead
    REDACT = "Redact"  # it is left out
    WARN = "Warn"  # it goes on as it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A broken contract. kind = ``code path`` without values, so that kinds can be counted."""

    code: str
    path: str
    message: str
    policy: Policy = Policy.FAIL  # what was done about it

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


class Trigger(StrEnum):
    """Why the rules of business were asked."""

    SESSION = "session"  # this session's runs failed in a row
    WORKFLOW = "workflow"  # too many runs of this version failed within the window
    DRILL = "drill"  # a rehearsal


class Link(StrEnum):
    """Who may answer, in the order in which they are asked."""

    COMPONENT = "Component"
    WORKFLOW = "Workflow"
    RULES = "Rules"
    STATIC = "Static"


class LinkOutcome(StrEnum):
    """How a link of the chain did."""

    ANSWERED = "Answered"
    FAILED = "Failed"
    DIVERTED = "Diverted"  # not asked: the escalation is on
    ABSENT = "Absent"  # there is none
    NO_RULE = "NoRule"  # no rule holds and there is no default, or the input cannot be read
    INVALID = "Invalid"  # its answer breaks the workflow's output contract, or the table's own


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink:
    """One link of the chain that a run went through."""

    link: Link
    outcome: LinkOutcome
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusinessAnswer:
    """What the rules of business did for a run. It never counts as a success of the workflow."""

    trigger: Trigger
    rule_set: str
    version: str | None = None  # of the rule set; None: there was none
    digest: str | None = None
    answered_by: Link | None = None  # None: nobody, the user got the run's error
    rule: str | None = None  # None: the default, or another link answered
    values: dict[str, Any] = field(default_factory=dict)  # column -> what the rules saw
    answer: Any = None
    hand_off: str | None = None
    probe: bool = False  # the run was let through to see whether the workflow is back
    chain: tuple[ChainLink, ...] = ()


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
    component_sla: dict[str, dict[str, float]] = field(
        default_factory=dict
    )  # the same of components that promise something
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
    choices: dict[str, dict[str, float]] = field(default_factory=dict)  # of the user's run; as in ArmFacts
    numbers: dict[str, tuple[float, ...]] = field(default_factory=dict)
    coalition: Coalition | None = None  # of an ablated or mixed run
    business: BusinessAnswer | None = None  # the rules of business were asked
    bodies: str = "Kept"  # Kept | Dropped (back-pressure) | Sampled (left out by lineage.sampleBodies)
    worker: str = ""
    trace_id: str = ""
    tags: dict[str, str] = field(default_factory=dict)
