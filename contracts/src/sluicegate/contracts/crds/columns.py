"""What `kubectl get` shows and what field selectors can select by."""

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column. priority 1: shown by -o wide only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    description: str = ""

    def to_json(self) -> dict[str, Any]:
        """As in a CRD."""
        found: dict[str, Any] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        if self.description:
            found["description"] = self.description
        if self.priority:
            found["priority"] = self.priority
        return found


def _wide(name: str, path: str, type: str = "string", description: str = "") -> Column:
    return Column(name, path, type, 1, description)


_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
_READY: Final = Column("Ready", '.status.conditions[?(@.type=="Ready")].status')
_READY_WIDE: Final = _wide("Ready", '.status.conditions[?(@.type=="Ready")].status')
_REASON: Final = _wide("Reason", '.status.conditions[?(@.type=="Ready")].reason')

COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "AgentWorkflow": (
        Column("Phase", ".status.phase"),
        Column("Stage", ".status.stage"),
        Column("Candidate", ".status.progress.candidate"),
        Column("Traffic", ".status.progress.traffic"),
        Column("Gate", ".status.progress.gate"),
        _READY,
        _AGE,
        _wide("Stable", ".status.stableVersion"),
        _REASON,
        _wide("Samples", ".status.progress.samples"),
        _wide("Decision-In", ".status.progress.decisionIn"),
        _wide("Next", ".status.progress.nextEvaluationAt"),
        _wide("Attempt", ".status.progress.attempt", "integer"),
    ),
    "WorkflowRevision": (
        Column("Workflow", ".spec.workflow"),
        Column("Number", ".spec.number", "integer"),
        Column("Version", ".spec.version"),
        Column("Changed-By", ".spec.changedBy"),
        _AGE,
        _wide("Digest", ".spec.digest"),
        _wide("Reason", ".spec.reason"),
    ),
    "WorkflowRollout": (
        Column("Workflow", ".spec.workflow"),
        Column("Phase", ".status.phase"),
        Column("Stage", ".status.state"),
        Column("Candidate", ".spec.candidate.version"),
        Column("Traffic", ".status.summary.traffic"),
        Column("Gate", ".status.summary.gate"),
        Column("Outcome", ".status.outcome"),
        _AGE,
        _wide("Stable", ".spec.stable.version"),
        _READY_WIDE,
        _REASON,
        _wide("Samples", ".status.summary.samples"),
        _wide("Decision-In", ".status.summary.decisionIn"),
        _wide("Next", ".status.nextEvaluationAt"),
        _wide("Attempt", ".status.attempt", "integer"),
    ),
    "Decision": (
        Column("Action", ".spec.action"),
        Column("Target", ".spec.target.name"),
        Column("By", ".spec.decidedBy"),
        _AGE,
        _wide("Stage", ".spec.expected.stage"),
        _wide("Expires", ".spec.expiresAt"),
        _wide("Reason", ".spec.reason"),
    ),
    "AgentComponent": (
        Column("Owner", ".spec.owner"),
        Column("Role", ".spec.role"),
        Column("Protocol", ".spec.protocol"),
        _AGE,
        _wide("Description", ".spec.description"),
    ),
    "ChangeProposal": (
        Column("Class", ".spec.changeClass"),
        Column("State", ".status.state"),
        Column("Votes", ".status.tally"),
        Column("Chosen", ".status.chosen"),
        Column("By", ".spec.proposedBy"),
        _AGE,
        _wide("Title", ".spec.title"),
        _wide("Closes", ".spec.closesAt"),
    ),
    "FallbackRuleSet": (
        Column("Version", ".spec.version"),
        Column("Serving", ".status.servingVersion"),
        Column("Complete", ".status.proof.complete", "boolean"),
        _READY,
        _AGE,
        _wide("Owner", ".spec.owner"),
        _wide("Hit-Policy", ".spec.hitPolicy"),
        _wide("Drilled", ".status.lastPassedDrillAt", "date"),
        _REASON,
    ),
    "RetrainingRun": (
        Column("Workflow", ".spec.workflow"),
        Column("Trigger", ".spec.trigger.type"),
        Column("State", ".status.state"),
        Column("Progress", ".status.progress"),
        Column("Outcome", ".status.outcome"),
        _AGE,
        _wide("Backend", ".spec.backend.type"),
        _wide("Workload", ".spec.backend.workload"),
        _wide("Attempt", ".status.attempt", "integer"),
        _wide("Message", ".status.message"),
    ),
    "GovernancePolicy": (
        Column("Enforcement", ".spec.enforcement"),
        Column("Workflows", ".status.workflows", "integer"),
        Column("Blocked", ".status.blocked", "integer"),
        _READY,
        _AGE,
        _wide("Would-Block", ".status.wouldBlock", "integer"),
        _wide("Description", ".spec.description"),
    ),
}

SELECTABLE: Final[dict[str, tuple[str, ...]]] = {
    "AgentWorkflow": (".spec.runtime", ".status.phase", ".status.stage", ".status.rollout"),
    "WorkflowRevision": (".spec.workflow", ".spec.version", ".spec.digest"),
    "WorkflowRollout": (".spec.workflow", ".status.phase", ".status.state", ".status.outcome"),
    "Decision": (".spec.action", ".spec.target.kind", ".spec.target.name", ".spec.decidedBy"),
    "AgentComponent": (".spec.owner", ".spec.role", ".spec.protocol"),
    "ChangeProposal": (".spec.changeClass", ".spec.proposedBy", ".status.state"),
    "FallbackRuleSet": (".spec.owner", ".spec.version", ".status.phase"),
    "RetrainingRun": (".spec.workflow", ".spec.trigger.type", ".status.state", ".status.outcome"),
    "GovernancePolicy": (".spec.enforcement", ".status.phase"),
}
"""At most eight per kind."""
