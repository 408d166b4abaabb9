"""What happens to one field that breaks its contract."""

from typing import Annotated

from pydantic import Field, JsonValue

from sluicegate.contracts.resources.base import Model
from sluicegate.contracts.runs import Policy


class FieldPolicy(Model):
    """What happens when a field, or anything below it, breaks the contract. Elsewhere a violation fails."""

    field: Annotated[str, Field(strict=True, max_length=512, pattern=r"^(input|output)([.\[].*)?$")]
    """`input.<path>` or `output.<path>`; `[*]` is every item."""
    policy: Policy
    """Fail: as without it. Warn: goes on as it is. Map: becomes `value`. Redact: is left out. All but Fail are events of the run and go on."""
    value: JsonValue = None
    """Of Map: what stands there instead; must meet the contract."""


Enforcement = Annotated[tuple[FieldPolicy, ...], Field(max_length=64)]
"""The first that fits a violation holds."""
