"""What the API server itself refuses: CEL rules by model, and how lists merge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule over `self`. at: the field that it is about, as `.name`; words: CEL that makes the message, with the values."""

    holds: str
    message: str
    at: str = ""
    reason: Reason = "FieldValueInvalid"
    words: str = ""

    def to_json(self) -> dict[str, Any]:
        """As in a CRD."""
        found = {"rule": self.holds, "message": self.message, "reason": self.reason}
        if self.words:
            found["messageExpression"] = self.words
        if self.at:
            found["fieldPath"] = self.at
        return found


@dataclass(frozen=True, slots=True)
class Guard:
    """What a model's objects must keep. shape: plain JSON Schema, for what CEL cannot see (free-form leaves)."""

    rules: tuple[Rule, ...] = ()
    shape: Mapping[str, Any] = field(default_factory=dict)


def _keyed(*keys: str) -> dict[str, Any]:
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


_SET: Final[dict[str, Any]] = {"x-kubernetes-list-type": "set"}

LISTS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("WorkflowSpec", "components"): _keyed("name"),
    ("WorkflowSpec", "steps"): _keyed("name"),
    ("WorkflowContract", "semantics"): _keyed("field"),
    ("SemanticDomain", "values"): _keyed("value"),
    ("SemanticValue", "aliases"): _SET,
    ("Retry", "retryOn"): _SET,
    ("Lineage", "redact"): _SET,
    ("Strategy", "stages"): _keyed("name"),
    ("Strategy", "skipStages"): _SET,
    ("StageSpec", "gates"): _keyed("name"),
    ("RolloutSpec", "stages"): _keyed("name"),
    ("RolloutSpec", "components"): _SET,
    ("PlannedStage", "gates"): _keyed("name"),
    ("ComponentSpec", "versions"): _keyed("version"),
    ("WorkflowStatus", "conditions"): _keyed("type"),
    ("RolloutStatus", "conditions"): _keyed("type"),
}
"""How lists merge, by (model, field); the others are replaced whole."""

_IMMUTABLE: Final = Rule(
    "self == oldSelf", "is immutable; create another object", reason="FieldValueForbidden"
)
_EPOCH: Final = Rule(
    "!has(oldSelf.status) || !has(oldSelf.status.epoch) || "
    "(has(self.status) && has(self.status.epoch) && self.status.epoch >= oldSelf.status.epoch)",
    "must not fall: another operator leads since",
    at=".status.epoch",
    reason="FieldValueForbidden",
)

BY_MODEL: Final[dict[str, Guard]] = {
    "AgentWorkflow": Guard((_EPOCH,)),
    "WorkflowRollout": Guard((_EPOCH,)),
    "RolloutSpec": Guard((_IMMUTABLE,)),
    "RevisionSpec": Guard((_IMMUTABLE,)),
    "DecisionSpec": Guard((_IMMUTABLE,)),
    "Fraction": Guard(
        (
            Rule(
                "self.numerator <= self.denominator",
                "is above the denominator: a share is at most 1",
                at=".numerator",
            ),
        )
    ),
}
