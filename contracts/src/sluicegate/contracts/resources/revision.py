"""WorkflowRevision: an immutable snapshot, what the gateway runs."""

from typing import Literal

from sluicegate.contracts.resources.base import Digest, Model, Name, Person, Resource, Text, Uid, VersionText
from sluicegate.contracts.resources.workflow import WorkflowSpec


class RevisionSpec(Model):
    """Immutable. `digest` covers all that a run depends on (contracts.digest.revision_digest)."""

    workflow: Name
    """Name of the workflow."""
    workflow_uid: Uid
    """Of exactly this workflow."""
    number: int
    """Counts up in the workflow."""
    version: VersionText
    """`spec.version` of the workflow."""
    digest: Digest
    """Of all that a run depends on."""
    body: WorkflowSpec
    """The workflow's spec as it was."""
    changed_by: Person | None = None
    """Who made it."""
    reason: Text | None = None
    """`changeReason`."""


class WorkflowRevision(Resource):
    """One accepted change of something that a run depends on."""

    kind: Literal["WorkflowRevision"] = "WorkflowRevision"
    """Always this."""
    spec: RevisionSpec
    """The snapshot; immutable."""
