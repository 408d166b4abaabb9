"""What a compiled table is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sluicegate.contracts.expressions import Compiled
from sluicegate.contracts.resources.fallback import RuleColumn
from sluicegate.contracts.schemas import SchemaCheck
from sluicegate.fallback_rules.scales import Intervals, Scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column and its line. value: takes it from input, steps and run."""

    name: str
    spec: RuleColumn
    scale: Scale
    value: Compiled

    @property
    def variable(self) -> str:
        """Its type in CEL: of a value that may be absent nothing is known."""
        return "dyn" if self.spec.may_be_absent else self.scale.variable


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a row asks of a column: a point of some intervals, or absence."""

    intervals: Intervals = ()
    absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A rule. number: its place in the table as written, from 0. formulas: output field → CEL, instead of `answer`."""

    id: str
    number: int
    cells: Mapping[str, Cell]
    guard: Compiled | None
    priority: int
    answer: Any
    formulas: tuple[tuple[str, Compiled], ...]
    reason: str | None

    @property
    def path(self) -> str:
        """Where it is written."""
        return f"spec.rules[{self.number}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A table whose every part is sound by itself."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    check: SchemaCheck
