"""JSON as JSON: YAML does not know its surrogate pairs, and folds some characters of its texts."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.limits import MAX_DEPTH, MAX_INTEGER, MAX_NODES
from sluicegate.contracts.suggestions import shown

Note = Callable[[str, str], None]

_NOT_FINITE = "must be a finite number"
_TWICE = "a field is given twice"
_TOO_LARGE = f"the whole number is beyond ±{MAX_INTEGER}"
_HINTS = {
    _NOT_FINITE: "quote it if it is a text",
    _TWICE: "remove one",
    _TOO_LARGE: "quote it if it is a text",
}
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def looks_like_json(text: str) -> bool:
    """Begins as JSON objects and lists do."""
    return text.lstrip()[:1] in ("{", "[")


def json_value(text: str, source: str) -> Any:
    """The one value of a JSON text. Raises json.JSONDecodeError, or Refused for what JSON allows and we do not."""
    _check_size(text, source)
    problems: list[Problem] = []

    def note(message: str, value: str) -> None:
        problems.append(Problem(path="", message=message, value=value, source=source, hint=_HINTS[message]))

    value = json.loads(
        text,
        object_pairs_hook=lambda pairs: _object(pairs, note),
        parse_float=lambda digits: _float(digits, note),
        parse_int=lambda digits: _integer(digits, note),
        parse_constant=lambda word: note(_NOT_FINITE, word),
    )
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise refused(
            "a text holds half of a surrogate pair",
            source,
            value="a surrogate",
            hint="write the character itself",
        ) from None
    if problems:
        raise Refused(tuple(problems))
    return value


def syntax_problem(error: json.JSONDecodeError, source: str) -> Problem:
    """Where the JSON ends to be JSON."""
    return Problem(
        path="",
        message=f"not valid JSON: {error.msg}",
        value=f"column {error.colno}",
        hint="check quotes, commas and brackets near this line",
        line=error.lineno,
        source=source,
    )


def _check_size(text: str, source: str) -> None:
    depth = _depth(text)
    if depth > MAX_DEPTH:
        raise refused(
            "nested too deep",
            source,
            value=f"{depth} levels",
            allowed=f"at most {MAX_DEPTH} levels",
            hint="flatten it",
        )
    values = text.count(",") + text.count(":")
    if values > MAX_NODES:
        raise refused(
            "the file holds too many values",
            source,
            value=str(values),
            allowed=f"at most {MAX_NODES}",
            hint="split it",
        )


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in _STRING.sub("", text):
        if character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
    return deepest


def _object(pairs: list[tuple[str, Any]], note: Note) -> dict[str, Any]:
    built: dict[str, Any] = {}
    for name, value in pairs:
        if name in built:
            note(_TWICE, shown(name))
        built[name] = value
    return built


def _float(digits: str, note: Note) -> float:
    number = float(digits)
    if not math.isfinite(number):
        note(_NOT_FINITE, shown(digits))
    return number


def _integer(digits: str, note: Note) -> int:
    number = int(digits) if len(digits) <= 20 else MAX_INTEGER + 1
    if abs(number) > MAX_INTEGER:
        note(_TOO_LARGE, shown(digits))
    return number


def refused(message: str, source: str, **facts: Any) -> Refused:
    """One problem of the whole file."""
    problem = Problem(path="", message=message, source=source, **({"hint": "save it as UTF-8 text"} | facts))
    return Refused((problem,))
