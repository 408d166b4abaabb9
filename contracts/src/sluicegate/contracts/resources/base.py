"""Shared shapes of the resources: metadata, fractions, rates, conditions."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic.alias_generators import to_camel

GROUP = "sluicegate.io"
API_VERSION = "sluicegate.io/v1alpha1"
CHANGED_BY = "sluicegate.io/changed-by"
"""Annotation that the API sets: who made the present spec (the author, for four eyes)."""


class Model(BaseModel):
    """Frozen, closed, camelCase outside and snake_case inside."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        use_enum_values=False,
        use_attribute_docstrings=True,
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
Decimals = Annotated[str, Field(strict=True, max_length=32, pattern=r"^-?[0-9]+(\.[0-9]+)?$")]
"""A number as a decimal string, "-0.25"."""
EXACT_PATTERNS = {r"^(0|1)(\.[0-9]+)?$": r"^(0(\.[0-9]+)?|1(\.0+)?)$"}
"""A model's pattern that stands beside a validator -> one pattern that says the same, for who has no validator."""
Schema = dict[str, Any] | Flag
"""A JSON Schema, draft 2020-12."""
Digest = Annotated[str, Field(max_length=71, pattern=r"^sha256:[0-9a-f]{64}$")]
ObjectName = Annotated[str, Field(max_length=253)]
"""Of an object, as stored."""
Free = Annotated[dict[str, JsonValue], Field(max_length=64)]
"""Whatever the reader of the field knows."""
Uid = Annotated[str, Field(max_length=128)]
Person = Annotated[str, Field(max_length=1024)]
"""A user's name, as the API knows it."""


class Fraction(Model):
    """A share of traffic, exact."""

    numerator: Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]
    """At most the denominator."""
    denominator: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)] = 100
    """100 unless given, so that a lone numerator is a percentage."""

    @model_validator(mode="after")
    def _within_one(self) -> "Fraction":
        if self.numerator > self.denominator:
            raise ValueError(f"{self.numerator}/{self.denominator} is above 1")
        return self


class OwnerReference(Model):
    """The object that this one belongs to; deleted with it."""

    kind: str
    """Kind of the owner."""
    name: str
    """Name of the owner."""
    uid: str
    """Of exactly this owner."""
    api_version: str | None = None
    """Of its kind; the API of a cluster says it."""
    controller: bool | None = None
    """Whether the owner manages this object."""
    block_owner_deletion: bool | None = None
    """Whether the owner waits for this object when it is deleted in the foreground."""


class Metadata(Model):
    """Object metadata, the Kubernetes shape."""

    name: Annotated[
        str, Field(strict=True, min_length=1, max_length=253, pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")
    ]
    """Unique for its kind in the namespace."""
    namespace: Name = "default"
    """Where the object lives."""
    uid: str | None = None
    """Given by the API; another object of the same name has another."""
    resource_version: str | None = None
    """Given by the API, new with every write; when sent, it must be current."""
    generation: int | None = None
    """Given by the API, one higher with every change of spec."""
    creation_timestamp: datetime | None = None
    """Given by the API."""
    deletion_timestamp: datetime | None = None
    """Set when deletion was asked for; the object goes when its finalizers are done."""
    finalizers: tuple[str, ...] = ()
    """What must be done before the object may go."""
    labels: dict[str, str] = Field(default_factory=dict)
    """For `-l key=value`."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """`sluicegate.io/changed-by`, set by the API, names who made the present spec."""
    owner_references: tuple[OwnerReference, ...] = ()
    """Owners; the object is deleted with them."""
    generate_name: str | None = None
    """What the API made the name from."""
    deletion_grace_period_seconds: int | None = None
    """Given by the API of a cluster."""
    managed_fields: Annotated[tuple[Any, ...], BeforeValidator(lambda _: ())] = Field(
        (), exclude=True, repr=False
    )
    """Who set which field, kept by the API of a cluster and not read here."""


class Condition(Model):
    """metav1.Condition: `last_transition_time` moves only when `status` changes."""

    type: str
    """See [conditions](conditions.md)."""
    status: Literal["True", "False", "Unknown"]
    """Unknown: not known yet."""
    reason: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]*$")]
    """One word for machines."""
    message: str = ""
    """A sentence with the numbers, for people."""
    observed_generation: int = 0
    """The generation of the object that this is about."""
    last_transition_time: datetime
    """When `status` changed last."""


StatusPhase = Literal["Pending", "Progressing", "Paused", "Healthy", "Degraded"]
"""One word for where an object stands."""


class Status(Model):
    """What the status of every kind begins with."""

    observed_generation: Int = 0
    """Of the spec that this status is about."""
    epoch: Int | None = None
    """Of the leader that wrote this, in a cluster; never falls."""
    phase: StatusPhase = "Pending"
    """One word for lists; the truth is in the conditions."""


class Resource(Model):
    """What every kind has."""

    api_version: Literal["sluicegate.io/v1alpha1"] = "sluicegate.io/v1alpha1"
    """Group and version."""
    kind: str
    """Of the object."""
    metadata: Metadata
    """Name, namespace and what the API keeps."""
