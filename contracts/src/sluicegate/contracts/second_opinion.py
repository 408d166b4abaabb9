"""Two validators: a value is valid where both say so. For checks before a release, not for runs.

The product validates with jsonschema-rs; here python's jsonschema (extra `ci`) looks as well, with some keywords of
`second_keywords`. Neither fetches anything, and neither can be made to take long by a pattern.
Where they disagree the stricter one counts, and the disagreement is told, since another consumer may see it as either does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.contracts import second_keywords
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.runs import Violation
from sluicegate.contracts.schemas import Schema, SchemaCheck, compile_schema

CODE: Final = "ValidatorsDisagree"
_DEFAULT: Final = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """Of one value. violations: by the product's validator; what only the second refuses has the code SecondOpinion."""

    is_valid: bool
    violations: tuple[Violation, ...] = ()
    disagreement: Diagnostic | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondOpinion:
    """A schema, compiled by both."""

    first: SchemaCheck
    refusals: Callable[[Any], Iterable[str]]
    path: str

    def of(self, value: Any, root: str) -> Opinion:
        """`root`: how violations name the value, ``output`` for instance."""
        violations = () if self.first.is_valid(value) else self.first.violations(value, root)
        said, failed = self._second(value)
        if said is None or bool(violations) == bool(said):
            disagreement = (
                None if failed is None else self._told(f"the second validator gave no answer: {failed}")
            )
            return Opinion(is_valid=not violations, violations=violations, disagreement=disagreement)
        if violations:
            told = self._told(f"only jsonschema-rs refuses the value: {violations[0].message}")
            return Opinion(is_valid=False, violations=violations, disagreement=told)
        own = tuple(Violation(code="SecondOpinion", path=root, message=text[:200]) for text in said[:20])
        return Opinion(
            is_valid=False,
            violations=own,
            disagreement=self._told(f"only python's jsonschema refuses the value: {said[0]}"),
        )

    def _second(self, value: Any) -> tuple[list[str] | None, str | None]:
        try:
            return list(self.refusals(value)), None
        except Exception as error:  # noqa: BLE001 - recursion, numbers too large: its own kinds of failure
            return None, f"{type(error).__name__}: {str(error)[:160]}"

    def _told(self, message: str) -> Diagnostic:
        return Diagnostic(
            code=CODE, severity=Severity.WARNING, path=self.path, message=message[:300],
            hint="say it in keywords that both read alike; the stricter answer counts",
        )  # fmt: skip


def second_opinion(schema: Schema, path: str) -> SecondOpinion:
    """Compile the schema found at `path` with both. Raises Refused as `compile_schema` does."""
    first = compile_schema(schema)
    return SecondOpinion(first=first, refusals=_refusals(schema), path=path)


def _refusals(schema: Schema) -> Callable[[Any], Iterable[str]]:
    import jsonschema  # type: ignore[import-untyped]  # noqa: PLC0415 - the extra `ci`
    from referencing import Registry  # noqa: PLC0415

    dialect = (
        {"$schema": schema.get("$schema", _DEFAULT)} if isinstance(schema, dict) else {"$schema": _DEFAULT}
    )
    known = jsonschema.validators.validator_for(dialect)
    cls = jsonschema.validators.extend(known, second_keywords.of(known, jsonschema.ValidationError, schema))
    formats = jsonschema.FormatChecker(formats=())
    formats.checkers = known.FORMAT_CHECKER.checkers | {"regex": (second_keywords.is_regex, ())}
    validator = cls(schema, registry=Registry(), format_checker=formats)
    return lambda value: (error.message for error in validator.iter_errors(value))
