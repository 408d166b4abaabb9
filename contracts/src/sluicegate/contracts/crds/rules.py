"""A CEL rule of a CRD, and what CEL cannot see as plain JSON Schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]
"""FieldValueDuplicate exists too; the API server drops the message of it."""

INVALID: Final = "FieldValueInvalid"
FORBIDDEN: Final = "FieldValueForbidden"
REQUIRED: Final = "FieldValueRequired"


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule over `self`. at: the field that it is about, as `.name`."""

    holds: str
    message: str
    at: str = ""
    reason: Reason = INVALID

    def to_json(self) -> dict[str, Any]:
        """As in a CRD."""
        found = {"rule": self.holds, "message": self.message, "reason": self.reason}
        if self.at:
            found["fieldPath"] = self.at
        return found


@dataclass(frozen=True, slots=True)
class Guard:
    """What a model's objects must keep. shape: JSON Schema keywords, for what CEL cannot see (free-form leaves)."""

    rules: tuple[Rule, ...] = ()
    shape: Mapping[str, Any] = field(default_factory=dict)


IMMUTABLE: Final = Rule("self == oldSelf", "is immutable; create another object", reason=FORBIDDEN)
EPOCH: Final = Rule(
    "!has(oldSelf.status) || !has(oldSelf.status.epoch) || "
    "(has(self.status) && has(self.status.epoch) && self.status.epoch >= oldSelf.status.epoch)",
    "must not fall: another operator leads since",
    at=".status.epoch",
    reason=FORBIDDEN,
)


def only_with(field: str, condition: str, message: str) -> Rule:
    """`field` has a meaning under `condition` only."""
    return Rule(f"!has(self.{field}) || {condition}", message, at=f".{field}", reason=FORBIDDEN)


def required_with(field: str, condition: str, message: str) -> Rule:
    """`field` must be there under `condition`."""
    return Rule(f"has(self.{field}) || !({condition})", message, at=f".{field}", reason=REQUIRED)
