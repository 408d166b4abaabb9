"""How lists merge under server-side apply; the others are replaced whole."""

from typing import Any, Final


def _keyed(*keys: str) -> dict[str, Any]:
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


_SET: Final[dict[str, Any]] = {"x-kubernetes-list-type": "set"}

LISTS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("WorkflowSpec", "components"): _keyed("name"),
    ("WorkflowSpec", "steps"): _keyed("name"),
    ("WorkflowContract", "semantics"): _keyed("field"),
    ("WorkflowContract", "enforcement"): _keyed("field"),
    ("MessageContract", "enforcement"): _keyed("field"),
    ("SemanticDomain", "values"): _keyed("value"),
    ("SemanticValue", "aliases"): _SET,
    ("Retry", "retryOn"): _SET,
    ("Lineage", "redact"): _SET,
    ("Strategy", "stages"): _keyed("name"),
    ("Strategy", "skipStages"): _SET,
    ("JobSource", "env"): _keyed("name"),
    ("StageSpec", "gates"): _keyed("name"),
    ("RolloutSpec", "stages"): _keyed("name"),
    ("RolloutSpec", "components"): _SET,
    ("PlannedStage", "gates"): _keyed("name"),
    ("ComponentSpec", "versions"): _keyed("version"),
    ("ProposalSpec", "options"): _keyed("name"),
    ("ProposalSpec", "subjects"): _keyed("kind", "name"),
    ("ProposalOption", "evidence"): _keyed("name"),
    ("RuleSetSpec", "columns"): _keyed("name"),
    ("RuleSetSpec", "rules"): _keyed("id"),
    ("RuleSetSpec", "examples"): _keyed("name"),
    ("RuleColumn", "values"): _SET,
    ("RuleCell", "oneOf"): _SET,
    ("RetrainingSpec", "components"): _keyed("name"),
    ("DataSelection", "revisions"): _SET,
    ("DataSelection", "grades"): _SET,
    ("GovernanceSpec", "roles"): _keyed("name"),
    ("GovernanceSpec", "rules"): _keyed("name"),
    ("GovernanceSpec", "freezes"): _keyed("name"),
    ("GovernanceSpec", "exceptions"): _keyed("name"),
    ("GovernanceRole", "users"): _SET,
    ("GovernanceRole", "groups"): _SET,
    ("GovernanceRule", "changeClasses"): _SET,
    ("GovernanceRule", "stages"): _SET,
    ("GovernanceRule", "quorum"): _keyed("role"),
    ("GovernanceRule", "evidence"): _keyed("type"),
    ("RequiredEvidence", "producers"): _SET,
    ("Freeze", "actions"): _SET,
    ("BreakGlass", "roles"): _SET,
    ("PolicyException", "rules"): _SET,
    ("PolicyException", "namespaces"): _SET,
    ("PolicyException", "workflows"): _SET,
    ("Scope", "namespaces"): _SET,
    ("WorkflowStatus", "conditions"): _keyed("type"),
    ("RolloutStatus", "conditions"): _keyed("type"),
    ("ProposalStatus", "conditions"): _keyed("type"),
    ("RuleSetStatus", "conditions"): _keyed("type"),
    ("RuleSetStatus", "versions"): _keyed("version"),
    ("RuleSetStatus", "usedBy"): _SET,
    ("RetrainingStatus", "conditions"): _keyed("type"),
    ("GovernanceStatus", "conditions"): _keyed("type"),
}
"""By (model, field)."""
