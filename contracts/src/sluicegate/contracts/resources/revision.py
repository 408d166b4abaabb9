"""WorkflowRevision: an immutable snapshot, what the gateway runs."""

from typing import Literal

from sluicegate.contracts.resources.base import Digest, Model, Name, Resource, VersionText
from sluicegate.contracts.resources.workflow import WorkflowSpec


class RevisionSpec(Model):
    """Immutable. `digest` covers all that a run depends on (contracts.digest.revision_digest)."""

    workflow: Name
    workflow_uid: str
    number: int
    version: VersionText
    digest: Digest
    body: WorkflowSpec
    changed_by: str | None = None
    reason: str | None = None


class WorkflowRevision(Resource):
    """One accepted change of something that a run depends on."""

    kind: Literal["WorkflowRevision"] = "WorkflowRevision"
    spec: RevisionSpec
