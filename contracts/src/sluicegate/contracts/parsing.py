"""From documents to resources, with every mistake explained at once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from sluicegate.contracts.diagnostics import Diagnostic
from sluicegate.contracts.documents import Document
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.explanations import explain
from sluicegate.contracts.limits import MAX_PROBLEMS
from sluicegate.contracts.paths import named, parent
from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import API_VERSION, Resource
from sluicegate.contracts.suggestions import closest, shown


def parse(document: Document) -> Resource:
    """The resource that a document describes. Raises Refused with every problem, each with its line."""
    return _parse(document.data, document.lines, None if document.source == "-" else document.source)


def parse_data(data: dict[str, Any]) -> Resource:
    """The same for data that comes without a file."""
    return _parse(data, {}, None)


def _parse(data: dict[str, Any], lines: Mapping[str, int], source: str | None) -> Resource:
    problems = _unknown_type(data)
    if not problems:
        model = KINDS[data["kind"]].model
        try:
            return model.model_validate(data)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=True)
            problems = explain(found, model, data)
        except RecursionError:
            problems = [Problem(path="", message="nested too deep")]
    placed = [located(problem, lines, source) for problem in problems]
    raise Refused(tuple(sorted(placed, key=lambda problem: problem.line or 0)[:MAX_PROBLEMS]))


def _unknown_type(data: dict[str, Any]) -> list[Problem]:
    return [
        problem
        for problem in (
            _unknown_word(data, "apiVersion", (API_VERSION,)),
            _unknown_word(data, "kind", tuple(KINDS)),
        )
        if problem is not None
    ]


def _unknown_word(data: dict[str, Any], field: str, allowed: tuple[str, ...]) -> Problem | None:
    word = data.get(field)
    if isinstance(word, str) and word in allowed:
        return None
    if field not in data:
        near = closest(field, data)
        return Problem(
            path=field,
            message=f"{field} is missing",
            value="nothing",
            allowed=", ".join(allowed),
            hint=f"did you mean {field} instead of {near}?" if near else f"add `{field}: {allowed[0]}`",
        )
    near = closest(word, allowed) if isinstance(word, str) else None
    return Problem(
        path=field,
        message=f"unknown {field}",
        value=shown(word),
        allowed=", ".join(allowed),
        hint=f"did you mean {near}?" if near else f"`{field}: {allowed[0]}`, for instance",
    )


def located(problem: Problem, lines: Mapping[str, int], source: str | None) -> Problem:
    """The problem with the line of its path, or of the nearest field above it that was written."""
    line = lines.get(_written(problem.path, lines), 1 if lines else None)
    return replace(problem, line=problem.line or line, source=problem.source or source)


def placed(diagnostic: Diagnostic, document: Document) -> Diagnostic:
    """The same for a diagnostic, with the column, and the names of list items on its path. What says already where it was read stays there."""
    if diagnostic.source not in {None, document.source}:
        return diagnostic
    path = _written(diagnostic.path, document.lines)
    line = document.lines.get(path, 1 if document.lines else None)
    same = diagnostic.line in {None, line}
    return replace(
        diagnostic,
        source=document.source,
        place=diagnostic.place or named(diagnostic.path, document.data),
        line=diagnostic.line or line,
        column=diagnostic.column or (document.columns.get(path) if same else None),
    )


def _written(path: str, lines: Mapping[str, int]) -> str:
    """`path`, or the nearest above it that was written; empty for the document."""
    while path and path not in lines:
        path = parent(path)
    return path
