"""What a comparison of two versions of a workflow says."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sluicegate.contracts.containment import Verdict
from sluicegate.contracts.diagnostics import Diagnostic, Severity

CALLERS: Final = "callers"
NOT_PROVEN: Final = "NotProven"


class Level(StrEnum):
    """What counts as a change, from the least to the most; each includes those before it."""

    WIRE = "Wire"  # types, required fields, fields that are refused
    SCHEMA = "Schema"  # all of JSON Schema: enums, bounds, patterns, formats
    SEMANTIC = "Semantic"  # also semantic domains, promised SLAs, conditions and mappings


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """One who relies on what the workflow gives: ``callers``, or ``steps.<name>``, which reads other steps.

    reasons: the codes of the diagnostics because of which the verdict is not Compatible, in order.
    """

    name: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two versions and whether the new one may stand in for the old one.

    diagnostics: errors are what breaks (with a witness) or what is not proven (code ``NotProven``), warnings and
    infos never change the verdict. Ordered by the place in the new version, the same for the same two versions.
    """

    old: str  # version
    new: str
    level: Level
    verdict: Verdict
    consumers: tuple[Consumer, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Those that stand in the way."""
        return tuple(item for item in self.diagnostics if item.severity is Severity.ERROR)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Breaking before Unknown before Compatible; of none: Compatible."""
    found = set(verdicts)
    return next((item for item in (Verdict.BREAKING, Verdict.UNKNOWN) if item in found), Verdict.COMPATIBLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A finding, and for whom it counts; an error without consumers counts for the whole only."""

    diagnostic: Diagnostic
    consumers: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What it makes of the consumers."""
        if self.diagnostic.severity is not Severity.ERROR:
            return Verdict.COMPATIBLE
        return Verdict.UNKNOWN if self.diagnostic.code == NOT_PROVEN else Verdict.BREAKING
