"""Shared shapes of the resources: metadata, fractions, rates, conditions."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

GROUP = "sluicegate.io"
API_VERSION = "sluicegate.io/v1alpha1"
CHANGED_BY = "sluicegate.io/changed-by"
"""Annotation that the API sets: who made the present spec (the author, for four eyes)."""


class Model(BaseModel):
    """Frozen, closed, camelCase outside and snake_case inside."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, use_enum_values=False
    )

    def to_json(self) -> dict[str, Any]:
        """As JSON with camelCase keys, absent where unset."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def _rate(text: str) -> str:
    if not Decimal(0) <= Decimal(text) <= Decimal(1):
        raise ValueError("must lie in [0, 1]")
    return text


Int = Annotated[int, Field(strict=True)]
Text = Annotated[str, Field(strict=True, max_length=4096)]
Flag = Annotated[bool, Field(strict=True)]
Name = Annotated[
    str, Field(strict=True, min_length=1, max_length=63, pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
]
VersionText = Annotated[
    str, Field(strict=True, min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")
]
Expression = Annotated[str, Field(strict=True, min_length=1, max_length=4096)]
Rate = Annotated[str, Field(strict=True, max_length=32, pattern=r"^(0|1)(\.[0-9]+)?$"), AfterValidator(_rate)]
"""A rate as a decimal string, "0.995"; never a float."""
Number = Annotated[str, Field(strict=True, max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?$")]
"""A non-negative number as a decimal string."""
Schema = dict[str, Any] | Flag
"""A JSON Schema, draft 2020-12."""
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class Fraction(Model):
    """A share of traffic, exact."""

    numerator: Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]
    denominator: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)] = 100

    @model_validator(mode="after")
    def _within_one(self) -> "Fraction":
        if self.numerator > self.denominator:
            raise ValueError(f"{self.numerator}/{self.denominator} is above 1")
        return self


class OwnerReference(Model):
    """The object that this one belongs to; deleted with it."""

    kind: str
    name: str
    uid: str


class Metadata(Model):
    """Object metadata, the Kubernetes shape."""

    name: Annotated[
        str, Field(strict=True, min_length=1, max_length=253, pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")
    ]
    namespace: Name = "default"
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(Model):
    """metav1.Condition: `last_transition_time` moves only when `status` changes."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]*$")]
    message: str = ""
    observed_generation: int = 0
    last_transition_time: datetime


class Resource(Model):
    """What every kind has."""

    api_version: Literal["sluicegate.io/v1alpha1"] = "sluicegate.io/v1alpha1"
    kind: str
    metadata: Metadata
