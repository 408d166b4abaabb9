"""Rule sets of files, and inputs of a command line."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sluicegate.console.files import documents
from sluicegate.contracts.errors import NotFound, Problem, Refused

if TYPE_CHECKING:
    from sluicegate.contracts.documents import Document
    from sluicegate.contracts.resources import FallbackRuleSet
    from sluicegate.fallback_rules.table import Answered, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """One rule set as written. table: None when `problems` kept it from being compiled."""

    document: "Document"
    resource: "FallbackRuleSet | None"
    table: "Table | None"
    problems: tuple[Problem, ...]

    @property
    def name(self) -> str:
        """``FallbackRuleSet/support-fallback``, as far as it is written."""
        metadata = self.document.data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return f"FallbackRuleSet/{name or '?'}"


def rule_sets(paths: Sequence[Path], *, recursive: bool = False) -> tuple[RuleSet, ...]:
    """All rule sets of some files; other kinds are passed over. Raises Refused when a file cannot be read or none holds a rule set."""
    problems: list[Problem] = []
    found = tuple(_read(one) for one in _of_our_kind(documents(paths, problems, recursive=recursive)))
    if problems:
        raise Refused(tuple(problems))
    if not found:
        raise Refused(
            (
                Problem(
                    path="-f",
                    message="no FallbackRuleSet",
                    value=", ".join(map(str, paths)),
                    hint="kind: FallbackRuleSet",
                ),
            )
        )
    return found


def _of_our_kind(read: "Iterator[Document]") -> "Iterator[Document]":
    return (document for document in read if document.data.get("kind") == "FallbackRuleSet")


def _read(document: "Document") -> RuleSet:
    from sluicegate.contracts.parsing import located, parse
    from sluicegate.contracts.resources import FallbackRuleSet
    from sluicegate.fallback_rules.table import compile_table

    resource = table = None
    problems: tuple[Problem, ...] = ()
    try:
        resource = parse(document)
        assert isinstance(resource, FallbackRuleSet)  # noqa: S101 - its kind was looked at
        table = compile_table(resource.spec)
    except Refused as error:
        problems = tuple(located(problem, document.lines, document.source) for problem in error.problems)
    return RuleSet(
        document=document,
        resource=resource if isinstance(resource, FallbackRuleSet) else None,
        table=table,
        problems=problems,
    )


def only_table(path: Path) -> "tuple[FallbackRuleSet, Table]":
    """The one rule set of a file, compiled. Raises Refused with everything that is wrong with it."""
    found = rule_sets([path])
    if len(found) != 1:
        raise Refused(
            (Problem(path=str(path), message="exactly one FallbackRuleSet is needed", value=str(len(found))),)
        )
    (one,) = found
    if one.resource is None or one.table is None:
        raise Refused(one.problems)
    return one.resource, one.table


def given_input(text: str) -> dict[str, Any]:
    """``{"amount": 5}``, or ``@file`` with it; of columns, or of a run when it has input, steps or run."""
    source = "--input"
    if text.startswith("@"):
        source = text[1:]
        try:
            text = Path(source).read_text(encoding="utf-8")
        except OSError as error:
            raise NotFound(f"{source}: {error.strerror or error}") from None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Refused(
            (Problem(path=source, message=f"is not JSON: {error}", hint="--input '{\"amount\": 5}'"),)
        ) from None
    if not isinstance(value, dict):
        raise Refused((Problem(path=source, message="is no object", hint="--input '{\"amount\": 5}'"),))
    return value


def answered(table: "Table", given: dict[str, Any]) -> "Answered":
    """The answer to column → value, or to a run: ``{"input": {…}, "steps": {…}}``."""
    columns = {column.name for column in table.columns}
    if given and given.keys() <= {"input", "steps", "run"} and not given.keys() <= columns:
        return table.answer({"input": {}, "steps": {}, "run": {}} | given)
    return table.decide(given)
