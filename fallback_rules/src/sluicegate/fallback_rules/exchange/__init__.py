"""Tables of other programs: JDM of rule editors, spreadsheets, DMN for auditors. Texts and bytes in, texts and bytes out; no files."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.paths import join
from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.contracts.suggestions import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A table that was read. notes: what was guessed, or left out, in sentences."""

    spec: RuleSetSpec
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A table for another program. notes: what that program reads differently, in sentences."""

    content: bytes
    notes: tuple[str, ...] = ()


def validated(data: dict[str, Any]) -> RuleSetSpec:
    """The spec of what was read. Raises Refused with everything that does not fit the resource."""
    try:
        return RuleSetSpec.model_validate(data)
    except ValidationError as error:
        problems = (
            Problem(
                path=join("spec", one["loc"]),
                message=one["msg"],
                value=shown(one["input"]),
                hint="see the reference",
            )
            for one in error.errors(include_url=False)
        )
        raise Refused(tuple(problems)) from None


def refused(message: str, hint: str, *, path: str = "") -> Refused:
    """One problem of the whole."""
    return Refused((Problem(path=path, message=message, hint=hint),))
