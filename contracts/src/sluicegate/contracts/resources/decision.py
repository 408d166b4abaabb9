"""Decision: one person's act; immutable."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import Digest, Model, Name, ObjectName, Person, Resource, Uid
from sluicegate.contracts.stages import Action, Stage


class TargetRef(Model):
    """What the decision is about; the uid pins it."""

    kind: Literal[
        "WorkflowRollout", "AgentWorkflow", "ChangeProposal", "RetrainingRun", "FallbackRuleSet"
    ] = "WorkflowRollout"
    """What the act is about. This version acts on rollouts; of a workflow, name its rollout."""
    name: ObjectName
    """Of the object."""
    uid: Uid
    """Of exactly this object."""


class Expected(Model):
    """What the person saw; the decision counts only while this is still so."""

    candidate: Digest | None = None
    """Digest of the candidate."""
    stage: Stage | None = None
    """Stage it is in."""
    attempt: int | None = None
    """Attempt it is in."""
    generation: int | None = None
    """Of a proposal: the generation that was read."""


class FallbackReview(Model):
    """A sampled fallback, judged."""

    run_id: Uid
    """Of the run."""
    component: Name
    """Which fell back."""
    verdict: Literal["Acceptable", "Unacceptable"]
    """One Unacceptable holds the rollout."""

    @property
    def subject(self) -> str:
        """Names the fallback: ``<run id>/<component>``."""
        return f"{self.run_id}/{self.component}"


class DecisionSpec(Model):
    """Who wants what, of which candidate, why. `decided_by` must be the caller."""

    action: Action
    """What is wanted."""
    target: TargetRef
    """Of what."""
    expected: Expected = Expected()
    """What the person saw. Promote, Override, Approve and Retry must say it."""
    decided_by: Person
    """Must be the caller; filled in when absent."""
    reason: Annotated[str, Field(max_length=4096)] = ""
    """Needed by Override, Reject and a full Promote."""
    evidence_digest: Annotated[str, Field(max_length=128)] | None = None
    """Of what the person looked at; kept for the record."""
    expires_at: datetime | None = None
    """From then on it is not used any more."""
    review: FallbackReview | None = None
    """Of Review."""
    option: Name | None = None
    """Of Approve of a proposal: which of its options."""
    full: bool = False
    """Of Promote: past all stages at once; needs a reason."""


class Decision(Resource):
    """One person's act on a rollout."""

    kind: Literal["Decision"] = "Decision"
    """Always this."""
    spec: DecisionSpec
    """The act; immutable."""
