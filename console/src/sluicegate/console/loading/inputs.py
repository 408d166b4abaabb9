"""What is sent: recorded inputs, one JSON value a line, or inputs made of what the contract shows."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sluicegate.console.loading.plan import Script
from sluicegate.contracts.domains import CompiledDomain
from sluicegate.contracts.enforcing import Side
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.expressions import Compiled, ExpressionError
from sluicegate.contracts.json_text import json_value
from sluicegate.contracts.limits import MAX_BYTES, MAX_PROBLEMS
from sluicegate.contracts.resources.workflow import SemanticDomain
from sluicegate.contracts.runs import Violation
from sluicegate.contracts.schemas import Schema, SchemaCheck
from sluicegate.contracts.suggestions import shown

MADE: Final = 64
"""Inputs that are made where none are given."""
_MOST_DEPTH: Final = 16


def read(path: Path, problems: list[Problem]) -> list[tuple[int, Any]]:
    """The lines of a file with their numbers; what cannot be read is added to `problems`."""
    found: list[tuple[int, Any]] = []
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                if len(problems) >= MAX_PROBLEMS:
                    break
                value = _value(line, number, path, problems)
                if value is not problems:
                    found.append((number, value))
    except OSError as error:
        problems.append(Problem(path="--inputs", message=error.strerror or str(error), value=str(path)))
        return []
    if not found and not problems:
        hint = "one JSON value a line"
        problems.append(Problem(path="--inputs", message="no inputs", value=str(path), hint=hint))
    return found


def _value(line: bytes, number: int, path: Path, problems: list[Problem]) -> Any:
    """The value of a line, or `problems` itself when there is none."""
    try:
        return json_value(line[: MAX_BYTES + 1].decode(), str(path))
    except Refused as error:
        problems += [replace(one, line=number) for one in error.problems]
    except ValueError as error:
        problems.append(Problem(path="", message=f"not JSON: {error}", source=str(path), line=number))
    return problems


def check(
    values: Iterable[tuple[int, Any]],
    schema: SchemaCheck | Side,
    domains: Sequence[CompiledDomain],
    path: Path,
    problems: list[Problem],
) -> None:
    """Inputs that the contract refuses would say nothing about the service."""
    for number, value in values:
        known, found = value, list[Violation]()
        for domain in domains:
            known, unknown = domain.apply(known)
            found += unknown
        if not schema.is_valid(known):
            found += schema.violations(known, "input")
        if len(problems) >= MAX_PROBLEMS:
            return
        for violation in found:
            told = f"breaks the input contract: {violation.message}"
            problems.append(Problem(path=violation.path, message=told, source=str(path), line=number))


def scripts(values: Iterable[Any], key: Compiled | None) -> tuple[Script, ...]:
    """One script for each session, in the order of their first inputs; inputs without a key are sessions of their own."""
    sessions: dict[tuple[str, Any], list[Any]] = {}
    for number, value in enumerate(values):
        named = None if key is None else _key(key, value)
        sessions.setdefault(("line", number) if named is None else ("key", named), []).append(value)
    return tuple(Script(inputs=tuple(session)) for session in sessions.values())


def _key(key: Compiled, value: Any) -> str | None:
    try:
        found = key.evaluate({"input": value, "steps": {}, "run": {}, "headers": {}})
    except ExpressionError:
        return None
    return (
        str(found) if isinstance(found, str | int) and not isinstance(found, bool) and found != "" else None
    )


def made(
    schema: Schema, check: SchemaCheck | Side, domains: Sequence[SemanticDomain] = ()
) -> tuple[Any, ...]:
    """Inputs of the contract's examples, defaults and enumerations, and the words of its semantic domains; the same every time.

    Empty when none that is made so is valid: then recorded inputs are needed.
    """
    words = {domain.field.removeprefix("input."): _words(domain) for domain in domains}
    found: dict[str, Any] = {}
    for number in range(MADE):
        value = _made(schema, number, words, ())
        if check.is_valid(value):
            found.setdefault(json.dumps(value, sort_keys=True), value)
    return tuple(found.values())


def _words(domain: SemanticDomain) -> list[str]:
    return [word for value in domain.values for word in (value.value, *value.aliases)]


def _made(schema: Any, number: int, words: dict[str, list[str]], at: tuple[str, ...]) -> Any:
    """The number-th value of a schema."""
    told = words.get(".".join(at))
    if told:
        return told[number % len(told)]
    if not isinstance(schema, dict) or len(at) > _MOST_DEPTH:
        return {} if not at else f"text {number}"
    shown_by = _shown(schema)
    if shown_by:
        return shown_by[number % len(shown_by)]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    return _KINDS.get(kind, lambda *_: None)(schema, number, words, at)


def _shown(schema: dict[str, Any]) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    for field in ("examples", "enum"):
        if isinstance(schema.get(field), list) and schema[field]:
            return list(schema[field])
    return [schema[field] for field in ("example", "default") if field in schema]


def _object(schema: dict[str, Any], number: int, words: dict[str, list[str]], at: tuple[str, ...]) -> Any:
    properties = schema.get("properties")
    names = properties if isinstance(properties, dict) else {}
    return {name: _made(part, number, words, (*at, name)) for name, part in names.items()}


def _array(schema: dict[str, Any], number: int, words: dict[str, list[str]], at: tuple[str, ...]) -> Any:
    least = max(int(schema.get("minItems", 1)), 1)
    return [
        _made(schema.get("items", {}), number + index, words, (*at, "*")) for index in range(min(least, 100))
    ]


def _text(schema: dict[str, Any], number: int, _words: dict[str, list[str]], at: tuple[str, ...]) -> str:
    text = f"{at[-1] if at else 'text'} {number}"
    least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 4096))
    return text.ljust(min(least, 4096), ".")[-most:] if most else ""


def _number(schema: dict[str, Any], number: int, *_: Any) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    return low + number if "exclusiveMinimum" not in schema else low + 1 + number


def _bounded(schema: dict[str, Any], number: int, *rest: Any) -> Any:
    """A number that keeps its maximum where there is one."""
    value, high = _number(schema, number, *rest), schema.get("maximum")
    if high is None or value <= high:
        return value
    low = schema.get("minimum", 0)
    return low + (high - low) * (number % 8) / 8 if schema.get("type") == "number" else high


_KINDS: Final[dict[Any, Any]] = {
    "object": _object,
    "array": _array,
    "string": _text,
    "integer": _bounded,
    "number": _bounded,
    "boolean": lambda _schema, number, *_: bool(number % 2),
}


def no_inputs(url: str) -> Problem:
    """When nothing can be made of the contract."""
    return Problem(
        path="--inputs",
        message=f"no valid input for {shown(url)} can be made of the contract's examples, defaults and enumerations",
        hint="give recorded inputs, one JSON value a line, or add `examples` to the contract's input",
    )
