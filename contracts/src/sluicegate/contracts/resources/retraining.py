"""RetrainingRun: one training, from its trigger to the versions that it registers. Its spec is immutable."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import (
    Condition,
    Decimals,
    Digest,
    Flag,
    Fraction,
    Free,
    Int,
    Model,
    Name,
    Number,
    ObjectName,
    Person,
    Rate,
    Resource,
    Status,
    Text,
    Uid,
    VersionText,
)
from sluicegate.contracts.resources.strategy import Approvals


class TriggerType(StrEnum):
    """Why it was started."""

    DRIFT = "Drift"
    REWARD_DECAY = "RewardDecay"
    SCHEDULE = "Schedule"
    MANUAL = "Manual"


class Trigger(Model):
    """What started it, as it was seen."""

    type: TriggerType
    """Why."""
    message: Text = ""
    """A sentence with the numbers."""
    evidence_digest: Digest | None = None
    """Of the evidence."""
    requested_by: Person | None = None
    """Of Manual: who."""


class TrainedComponent(Model):
    """A component that gets a new version; one training may make several."""

    name: Name
    """In the workflow."""
    registry: ObjectName | None = None
    """The AgentComponent in which the version is registered. Absent: the one of the component's name."""
    base_version: VersionText
    """Where it starts."""
    base_digest: Digest | None = None
    """Of what is deployed as that version."""
    version: VersionText
    """What is registered."""


class Grade(StrEnum):
    """How much of a run was recorded."""

    A = "A"  # exact tokens
    B = "B"  # messages
    C = "C"  # scores and text


class DataSelection(Model):
    """Which recorded runs are trained on; the same selection gives the same data set."""

    from_time: datetime
    """Runs since then."""
    until: datetime
    """Runs before then."""
    revisions: Annotated[tuple[Digest, ...], Field(max_length=64)] = ()
    """Of these revisions. Absent: of all."""
    grades: Annotated[tuple[Grade, ...], Field(max_length=3)] = (Grade.A, Grade.B)
    """Recorded at least so well."""
    min_reward: Rate | None = None
    """At least so good."""
    min_runs: Annotated[int, Field(strict=True, ge=1)] = 1
    """With fewer there is no training."""
    max_runs: Annotated[int, Field(strict=True, ge=1)] | None = None
    """At most so many, chosen by hash."""
    holdout: Fraction = Fraction(numerator=1, denominator=10)
    """Kept for the evaluation."""
    dataset_digest: Digest | None = None
    """When given, another data set is refused."""


class Workload(StrEnum):
    """As what it runs."""

    PROCESS = "Process"  # local mode
    JOB = "Job"
    TRAIN_JOB = "TrainJob"
    RAY_JOB = "RayJob"
    JOB_SET = "JobSet"


class WorkerResources(Model):
    """What one worker asks for, in Kubernetes quantities."""

    cpu: Annotated[str, Field(strict=True, max_length=32)] | None = None
    """Cores: `4`, `500m`."""
    memory: Annotated[str, Field(strict=True, max_length=32)] | None = None
    """`64Gi`."""
    gpus: Annotated[int, Field(strict=True, ge=0, le=4096)] = 0
    """Of the kind that `gpuResource` names."""
    gpu_resource: Annotated[str, Field(strict=True, max_length=253)] = "nvidia.com/gpu"
    """The extended resource."""
    shared_memory: Annotated[str, Field(strict=True, max_length=32)] | None = None
    """Of /dev/shm."""


class Backend(Model):
    """What trains, and where. What the framework did not honour is told in status."""

    type: Annotated[str, Field(strict=True, min_length=1, max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9-]*$")]
    """The framework: `TRL`, `Verl`, `Custom`, for instance."""
    workload: Workload = Workload.JOB
    """The kind of object that is made for it."""
    algorithm: Annotated[str, Field(strict=True, max_length=63)] | None = None
    """`SFT`, `DPO`, `KTO`, `GRPO`, for instance. Absent: chosen by what the data allow."""
    image: Annotated[str, Field(strict=True, max_length=1024)] | None = None
    """Of the trainer; best with its digest."""
    workers: Annotated[int, Field(strict=True, ge=1, le=4096)] = 1
    """Processes of the training."""
    resources: WorkerResources = WorkerResources()
    """Of one worker."""
    queue: Name | None = None
    """A LocalQueue of Kueue; the workload is made suspended for it."""
    priority_class: ObjectName | None = None
    """Of Kueue, or of the pods."""
    scheduler: ObjectName | None = None
    """Of the pods. Absent: the cluster's."""
    seed: Annotated[int, Field(strict=True, ge=0, le=4_294_967_295)] = 0
    """Of everything random in it."""
    parameters: Free = Field(default_factory=dict)
    """Of the framework, handed on as they are."""


class RetrainingLimits(Model):
    """What it may use before it is ended."""

    deadline_seconds: Annotated[int, Field(strict=True, ge=60, le=31_536_000)] = 86_400
    """From start to end."""
    pre_running_deadline_seconds: Annotated[int, Field(strict=True, ge=60, le=31_536_000)] = 86_400
    """Waiting for a place to run."""
    heartbeat_seconds: Annotated[int, Field(strict=True, ge=10, le=86_400)] = 900
    """Without a step so long: it hangs."""
    max_attempts: Annotated[int, Field(strict=True, ge=1, le=20)] = 3
    """A preemption is no attempt."""
    max_cost: Number | None = None
    """In the unit of `usage.cost`."""


class RetrainingSpec(Model):
    """One training; immutable. It is ended early by a Decision (Abort)."""

    workflow: Name
    """Whose runs, and whose components."""
    trigger: Trigger
    """Why."""
    components: Annotated[tuple[TrainedComponent, ...], Field(min_length=1, max_length=16)]
    """What is trained."""
    data: DataSelection
    """On what."""
    backend: Backend
    """By what."""
    limits: RetrainingLimits = RetrainingLimits()
    """What it may use."""
    approvals: Approvals | None = None
    """People who must agree before it starts. Absent: nobody."""
    register_as: Literal["Proposed", "Approved"] = "Proposed"
    """Lifecycle of what is registered."""
    roll_out: Flag = False
    """Whether the workflow gets the new versions at once, which starts a rollout."""


class WorkloadRef(Model):
    """The object that trains."""

    api_version: str
    """Of its kind."""
    kind: str
    """Of the object."""
    name: str
    """Of the object."""
    uid: str
    """Of exactly this object."""


class Dataset(Model):
    """What was trained on."""

    digest: Digest
    """Of its manifest."""
    runs: Int
    """In it."""
    holdout: Int = 0
    """Of them, kept for the evaluation."""
    grades: dict[str, Int] = Field(default_factory=dict)
    """Runs by grade."""


class Artifact(Model):
    """What came out, of one component."""

    component: Name
    """In the workflow."""
    version: VersionText
    """As registered."""
    digest: Digest
    """Of the files."""
    location: str | None = None
    """Where they are."""
    registered: bool = False
    """Whether the registry has it."""
    before: dict[str, Decimals] = Field(default_factory=dict)
    """Measures of the base on the holdout."""
    after: dict[str, Decimals] = Field(default_factory=dict)
    """Measures of this version on the holdout."""


class RetrainingStatus(Status):
    """How far it is."""

    state: Literal[
        "Pending", "AwaitingApproval", "Preparing", "Queued", "Running", "Evaluating", "Registering", "Done"
    ] = "Pending"
    """Where it stands."""
    outcome: (
        Literal["Succeeded", "Failed", "Aborted", "Rejected", "Expired", "NotEnoughData", "NotBetter"] | None
    ) = None
    """How it ended."""
    attempt: Int = 1
    """One higher with every restart that is not a preemption."""
    preemptions: Int = 0
    """How often it was moved away."""
    workload: WorkloadRef | None = None
    """What trains."""
    dataset: Dataset | None = None
    """What it trains on."""
    progress: Rate | None = None
    """Share that is done."""
    heartbeat_at: datetime | None = None
    """The last step that was seen."""
    honoured: Free = Field(default_factory=dict)
    """Parameters as the framework used them."""
    metrics: dict[str, Decimals] = Field(default_factory=dict)
    """The last numbers of the training."""
    artifacts: tuple[Artifact, ...] = ()
    """What came out."""
    approved_by: tuple[Person, ...] = ()
    """Distinct people."""
    decisions: tuple[Uid, ...] = ()
    """Uids of the Decisions that were read."""
    started_at: datetime | None = None
    """When its data were chosen."""
    running_since: datetime | None = None
    """When the workload began to train."""
    ended_at: datetime | None = None
    """When it was done."""
    message: str = ""
    """Why, in a sentence."""
    conditions: tuple[Condition, ...] = ()
    """See [conditions](conditions.md)."""


class RetrainingRun(Resource):
    """One training of components on recorded runs."""

    kind: Literal["RetrainingRun"] = "RetrainingRun"
    """Always this."""
    spec: RetrainingSpec
    """The order; immutable."""
    status: RetrainingStatus | None = None
    """Written by the control loop only."""
