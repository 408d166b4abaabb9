"""What is wrong with a table, gathered while it is read."""

from collections.abc import Callable, Hashable, Iterable

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.expressions import Compiled, ExpressionError
from sluicegate.contracts.suggestions import shown
from sluicegate.fallback_rules.scales import Mistyped


class Told:
    """Problems in the order in which they were found."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def tell(
        self, path: str, message: str, *, value: object = None, allowed: str | None = None, hint: str
    ) -> None:
        """One more; `value` is shown, shortened."""
        found = None if value is None else shown(value)
        self.problems.append(Problem(path=path, message=message, value=found, allowed=allowed, hint=hint))

    def mistyped(self, path: str, error: Mistyped, value: object) -> None:
        """A value that a column cannot have."""
        self.tell(
            path, str(error), value=value, allowed=error.allowed, hint=error.hint or "correct the value"
        )

    def unique(self, field: str, key: str, names: Iterable[Hashable]) -> None:
        """Tell every name that another of the list has as well."""
        first: dict[Hashable, int] = {}
        for number, name in enumerate(names):
            if first.setdefault(name, number) != number:
                self.tell(
                    f"spec.{field}[{number}].{key}", f"is that of spec.{field}[{first[name]}] as well", value=name,
                    hint="give every one its own",
                )  # fmt: skip

    def compiled(self, path: str, text: str, compiled: Callable[[str], Compiled]) -> Compiled | None:
        """The expression, or None and what is wrong with it."""
        try:
            return compiled(text)
        except ExpressionError as error:
            at = f" (column {error.column})" if error.column else ""
            hint = error.hint or "correct the expression; names are those of columns"
            self.tell(path, f"is not CEL: {error.message}{at}", value=text, hint=hint)
            return None
