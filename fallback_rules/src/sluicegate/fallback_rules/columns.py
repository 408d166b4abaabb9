"""Reading of columns."""

from sluicegate.contracts.expressions import compile_expression
from sluicegate.contracts.resources.fallback import ColumnType, RuleColumn
from sluicegate.fallback_rules.rows import Column
from sluicegate.fallback_rules.scales import Mistyped, scale_of
from sluicegate.fallback_rules.told import Told

_RANGED = (ColumnType.INTEGER, ColumnType.NUMBER)
_RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
"""Words of CEL that are no names (its language definition, "reserved")."""


def column_of(column: RuleColumn, path: str, told: Told) -> Column | None:
    """The column, or None and what is wrong with it."""
    before = len(told.problems)
    if column.name in _RESERVED:
        told.tell(f"{path}.name", "is a word of CEL", value=column.name, hint=f"{column.name}_, for instance")
    _check_values(column, path, told)
    _check_bounds(column, path, told)
    value = told.compiled(f"{path}.value", column.value, compile_expression)
    if value is not None and any(reference[0] == "headers" for reference in value.references):
        told.tell(
            f"{path}.value", "reads headers", value=column.value, allowed="input, steps, run",
            hint="map the header into the workflow's input",
        )  # fmt: skip
    if len(told.problems) > before or value is None:
        return None
    scale = scale_of(column)
    if not scale.low < scale.high:
        told.tell(f"{path}.minimum", "leaves no value", value=column.minimum, hint="widen the bounds")
        return None
    return Column(name=column.name, spec=column, scale=scale, value=value)


def _check_values(column: RuleColumn, path: str, told: Told) -> None:
    is_enum = column.type is ColumnType.ENUM
    if is_enum and not column.values:
        told.tell(f"{path}.values", "are required with type Enum", hint="list all values there are")
    if not is_enum and column.values:
        told.tell(
            f"{path}.values", "have a meaning with type Enum only", value=column.values, hint="remove it"
        )
    for number, value in enumerate(column.values):
        if column.values.index(value) != number:
            told.tell(f"{path}.values[{number}]", "is there twice", value=value, hint="remove it")


def _check_bounds(column: RuleColumn, path: str, told: Told) -> None:
    before = len(told.problems)
    for field, bound in (("minimum", column.minimum), ("maximum", column.maximum)):
        if bound is None:
            continue
        if column.type not in _RANGED:
            message = "has a meaning with type Integer and Number only"
            told.tell(f"{path}.{field}", message, value=bound, hint="remove it")
            continue
        unbounded = column.model_copy(update={"minimum": None, "maximum": None})
        try:
            scale_of(unbounded).bound(bound)
        except Mistyped as error:
            told.mistyped(f"{path}.{field}", error, bound)
    low, high = column.minimum, column.maximum
    if before == len(told.problems) and low and high and float(low) > float(high):
        told.tell(
            f"{path}.minimum",
            "is above maximum",
            value=low,
            allowed=f"at most {high}",
            hint="exchange the two",
        )
