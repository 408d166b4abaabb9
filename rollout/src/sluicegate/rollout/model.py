"""What a decision sees and what it answers: observed state in, a plan out. Data only.

How a Plan is carried out (the operator's executor):

1. ``plan.before()``: Apply and Delete of children, in order. Apply creates the object, or is a no-op when it
   exists with the same spec; another spec under the same name is a Conflict (read again).
2. the status, when it differs from the one observed, with the resourceVersion that was read.
3. ``plan.after()``, only when the status was accepted: Hold, Release, Route, Unroute, Emit, Discard.

A crash between two steps is harmless: the next look derives what is missing from the stored status. A Conflict
is never a verdict: the key is looked at again with a fresh read.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from sluicegate.contracts.drills import DrillCounts
from sluicegate.contracts.errors import Forbidden, Problem, Refused
from sluicegate.contracts.evidence import EvidenceKey, Question, StageEvidence
from sluicegate.contracts.resources import (
    AgentWorkflow,
    Decision,
    FallbackRuleSet,
    Resource,
    WorkflowRevision,
    WorkflowRollout,
)
from sluicegate.contracts.resources.fallback import RuleSetStatus
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.resources.workflow import Protocol, Runtime, WorkflowStatus
from sluicegate.contracts.routes import RoutePlan
from sluicegate.contracts.stages import Signal
from sluicegate.contracts.watch import WatchEvidence
from sluicegate.rollout.found import CarriedTable, FoundRuleSet
from sluicegate.rollout.measurements import Measurement
from sluicegate.rollout.permissions import Verb

FINALIZER = "sluicegate.io/drain"
"""On every AgentWorkflow: its traffic goes back to stable before it is deleted."""

CONTROLLER = "system:sluicegate"
"""The caller's name when the control loop itself writes."""

S_co = TypeVar("S_co", WorkflowStatus, RolloutStatus, RuleSetStatus, covariant=True)


class Ref(NamedTuple):
    """An object by kind (PascalCase), namespace and name."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it: ``AgentWorkflow shop/support-bot``."""
        return f"{self.kind} {self.namespace}/{self.name}"


def ref_of(resource: Resource) -> Ref:
    """The reference to `resource`."""
    return Ref(kind=resource.kind, namespace=resource.metadata.namespace, name=resource.metadata.name)


class Severity(StrEnum):
    """Kubernetes' two event types."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something worth telling: reason is PascalCase, from `events.py`. key: equal keys are the same event."""

    about: Ref
    reason: str
    message: str
    severity: Severity = Severity.NORMAL
    key: str = ""


@dataclass(frozen=True, slots=True)
class Apply:
    """Create this child; a no-op when it is there already."""

    resource: Resource


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete this child; a no-op when it is gone."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Discard:
    """Delete what was made beside the rollout, as a Job of a gate; what cannot be deleted ends by itself."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Hold:
    """Put our finalizer on exactly this object; a no-op when it is there."""

    ref: Ref
    uid: str


@dataclass(frozen=True, slots=True)
class Release:
    """Take our finalizer off exactly this object, others stay; a no-op when it or the object is gone."""

    ref: Ref
    uid: str


@dataclass(frozen=True, slots=True)
class Route:
    """Make this the workflow's plan. The stored version again: only `lease_until` moved (a renewal)."""

    plan: RoutePlan


@dataclass(frozen=True, slots=True)
class Unroute:
    """Remove the workflow's plan: the workflow is going."""

    namespace: str
    workflow: str


@dataclass(frozen=True, slots=True)
class Emit:
    """Record this event."""

    event: Event


Act = Apply | Delete | Discard | Hold | Release | Route | Unroute | Emit


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Generic[S_co]):
    """The answer of a reconcile.

    status: what the status has to be; equal to the one observed when nothing changed. requeue_after:
    seconds until the next look without an event; None: only events matter.
    """

    status: S_co
    actions: tuple[Act, ...] = ()
    requeue_after: float | None = None

    def before(self) -> tuple[Apply | Delete, ...]:
        """Children: before the status is written."""
        return tuple(act for act in self.actions if isinstance(act, Apply | Delete))

    def after(self) -> tuple[Discard | Hold | Release | Route | Unroute | Emit, ...]:
        """Only once the status was accepted."""
        return tuple(act for act in self.actions if not isinstance(act, Apply | Delete))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a plan is not followed. reason: of the condition TrafficProgrammed.

    stalls: a person is needed; nothing advances meanwhile. lasting: the candidate keeps its traffic for as long as it
    lasts, since nothing takes it away by itself.
    """

    reason: str
    message: str
    stalls: bool = False
    lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowObserved:
    """All that `reconcile_workflow` needs.

    revisions, rollouts: those owned by this workflow. plan: the RoutePlan as stored, None when there is
    none. programmed: the lowest plan version that all live gateways have applied. trouble: why it is not followed.
    watch: of `decay.look`, None when nothing is watched or the store did not answer. rule_sets: of `fallbacks.names`.
    drill: of `drills.look`.
    """

    workflow: AgentWorkflow
    revisions: tuple[WorkflowRevision, ...] = ()
    rollouts: tuple[WorkflowRollout, ...] = ()
    plan: RoutePlan | None = None
    programmed: int = 0
    live_gateways: int = 0
    trouble: Trouble | None = None
    watch: WatchEvidence | None = None
    rule_sets: tuple[FoundRuleSet, ...] = ()
    drill: DrillCounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutObserved:
    """All that `reconcile_rollout` needs.

    workflow: None when it is gone. decisions: all whose target is this rollout. evidence: of `look(rollout)`,
    None when there is none; of another key it is ignored. plan, programmed, live_gateways: as above.
    sampled_fallbacks: those of this stage and attempt to review, each as ``<run id>/<component>``. measurements: of gates
    with a source, those that the status may not hold yet. rule_sets: of `fallbacks.names`.
    """

    rollout: WorkflowRollout
    workflow: AgentWorkflow | None
    stable: WorkflowRevision | None
    candidate: WorkflowRevision | None
    decisions: tuple[Decision, ...] = ()
    evidence: StageEvidence | None = None
    plan: RoutePlan | None = None
    programmed: int = 0
    live_gateways: int = 0
    trouble: Trouble | None = None
    sampled_fallbacks: frozenset[str] = frozenset()
    measurements: tuple[Measurement, ...] = ()
    rule_sets: tuple[FoundRuleSet, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSetObserved:
    """All that `reconcile_rule_set` needs, but the proof. users: names of the workflows that use it, in order. carried: what the
    plans of the first of them have of it. unknown: those whose plan could not be read. statuses: of the same workflows.
    """

    rule_set: FallbackRuleSet
    users: tuple[str, ...] = ()
    carried: tuple[CarriedTable, ...] = ()
    unknown: tuple[str, ...] = ()
    statuses: tuple[WorkflowStatus, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which evidence a rollout needs now: fold the observations of `key` for `questions`."""

    key: EvidenceKey
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What this version and this mode can run; the rest is refused at admission."""

    signals: frozenset[Signal] = frozenset(Signal)
    protocols: frozenset[Protocol] = frozenset({Protocol.NATIVE, Protocol.HTTP, Protocol.OPENAI})
    runtimes: frozenset[Runtime] = frozenset({Runtime.MANAGED})
    config_maps: bool = False  # endpoint.promptRef.configMap
    secrets: bool = False  # credentialRef.secretKeyRef
    services: bool = False  # endpoint.serviceRef
    jobs: bool = False  # source.job


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionContext:
    """What admission may look at besides the object itself.

    revisions: of the workflow that is admitted. target: what a Decision is about, None when it does not
    exist. permissions: the custom verbs that the caller holds on the object, of a Decision: on its target; None: all
    but attest (local mode: whoever reaches the socket). controller: the name under which the control loop writes.
    collectors: garbage collection and the like, which delete and unlink what they do not write. is_status: the
    status is written. may_run_jobs: whether the caller may create Jobs in the namespace.
    """

    now: datetime
    revisions: tuple[WorkflowRevision, ...] = ()
    target: AgentWorkflow | WorkflowRollout | None = None
    permissions: frozenset[Verb] | None = None
    capabilities: Capabilities = field(default_factory=Capabilities)
    controller: str = CONTROLLER
    collectors: frozenset[str] = frozenset()
    is_status: bool = False
    may_run_jobs: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The answer to a write: refused when there is any problem. forbidden: the caller may not do this at all."""

    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    forbidden: bool = False

    @property
    def allowed(self) -> bool:
        """No problem."""
        return not self.problems

    def require(self) -> None:
        """Raise Forbidden or Refused with every problem, or return."""
        if self.problems:
            raise (Forbidden if self.forbidden else Refused)(self.problems)
