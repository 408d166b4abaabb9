"""Semantic domains: which values a field may take, and what they are also called."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.contracts.paths import EACH, field_pattern
from sluicegate.contracts.resources.workflow import SemanticDomain
from sluicegate.contracts.runs import Policy, Violation

UNKNOWN: Final = "UnknownValue"
"""Code of a value that its domain does not know."""


def normalised(text: str) -> str:
    """Two spellings of one word are the same: NFC, case folded, outer spaces gone."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledDomain:
    """Known spellings of a field below a root such as ``steps.plan``. replacement: for unknown values, with policy Map."""

    root: str
    below: tuple[str, ...]
    exact: frozenset[str]
    spellings: Mapping[str, str]
    replacement: str | None
    policy: Policy = Policy.FAIL

    def apply(self, value: Any) -> tuple[Any, tuple[Violation, ...]]:
        """The value in the domain's own words (a copy where something changed), and what it does not know.

        Only violations of policy Fail are failures. A field that is absent or null is no violation: that is for the schema to say.
        """
        unknown: list[Violation] = []
        return self._apply(value, self.below, unknown), tuple(unknown)

    def _apply(self, value: Any, below: tuple[str, ...], unknown: list[Violation]) -> Any:
        if not below:
            return self._resolve(value, unknown)
        step, rest = below[0], below[1:]
        if step == EACH and isinstance(value, list):
            items = [self._apply(item, rest, unknown) for item in value]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        if isinstance(value, dict) and step in value:
            new = self._apply(value[step], rest, unknown)
            return value if new is value[step] else value | {step: new}
        return value

    def _resolve(self, value: Any, unknown: list[Violation]) -> Any:
        if value is None or (isinstance(value, str) and value in self.exact):
            return value
        known = self.spellings.get(normalised(value)) if isinstance(value, str) else None
        if known is not None:
            return known
        message = f"the value is none of the {len(self.exact)} values that {self.root} may have here"
        if not unknown:
            unknown.append(
                Violation(
                    code=UNKNOWN, path="/".join((self.root, *self.below)), message=message, policy=self.policy
                )
            )
        return self.replacement if self.replacement is not None else value


def compile_domain(domain: SemanticDomain) -> tuple[str | None, CompiledDomain]:
    """The step whose output it constrains (None: the input), and the domain. ValueError for a bad field path."""
    path = field_pattern(domain.field)
    is_step = path[0] == "steps" and len(path) > 2 and EACH not in path[:2]
    if not is_step and not (path[0] == "input" and len(path) > 1):
        raise ValueError(f"{domain.field} is not a path into steps.<name> or input")
    step = path[1] if is_step else None
    spellings: dict[str, str] = {}
    for value in domain.values:
        for spelling in (value.value, *value.aliases):
            spellings.setdefault(normalised(spelling), value.value)
    return step, CompiledDomain(
        root=f"steps.{step}" if step else "input",
        below=path[2:] if step else path[1:],
        exact=frozenset(value.value for value in domain.values),
        spellings=spellings,
        replacement=domain.map_to if domain.on_unknown == "Map" else None,
        policy=Policy(domain.on_unknown),
    )
