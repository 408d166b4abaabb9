"""Decision: one person's act; immutable."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from sluicegate.contracts.resources.base import Digest, Model, Name, Resource
from sluicegate.contracts.stages import Action, Stage


class TargetRef(Model):
    """What the decision is about; the uid pins it."""

    kind: Literal["WorkflowRollout", "AgentWorkflow"] = "WorkflowRollout"
    name: str
    uid: str


class Expected(Model):
    """What the person saw; the decision counts only while this is still so."""

    candidate: Digest | None = None
    stage: Stage | None = None
    attempt: int | None = None


class FallbackReview(Model):
    """A sampled fallback, judged."""

    run_id: str
    component: Name
    verdict: Literal["Acceptable", "Unacceptable"]


class DecisionSpec(Model):
    """Who wants what, of which candidate, why. `decided_by` must be the caller."""

    action: Action
    target: TargetRef
    expected: Expected = Expected()
    decided_by: str
    reason: Annotated[str, Field(max_length=4096)] = ""
    evidence_digest: str | None = None
    expires_at: datetime | None = None
    review: FallbackReview | None = None
    full: bool = False  # Promote: through all stages at once (needs override rights and a reason)


class Decision(Resource):
    """One person's act on a rollout."""

    kind: Literal["Decision"] = "Decision"
    spec: DecisionSpec
