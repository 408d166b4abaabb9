"""JSON that the YAML reader could not take: tabs between tokens, surrogate pairs in escapes."""

import json
import math
import re
from typing import Any

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.limits import MAX_DEPTH, MAX_INTEGER, MAX_NODES
from sluicegate.contracts.suggestions import shown
from sluicegate.contracts.yaml_events import Loaded

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def looks_like_json(text: str) -> bool:
    """Begins as JSON objects and lists do."""
    return text.lstrip()[:1] in ("{", "[")


def load_json(text: str, source: str) -> Loaded:
    """The one value of a JSON text, without lines. Raises Refused."""
    problems: list[str] = []
    if _depth(text) > MAX_DEPTH:
        raise _refused(
            f"nested more than {MAX_DEPTH} levels deep", source, allowed=f"at most {MAX_DEPTH} levels"
        )
    if text.count(",") + text.count(":") > MAX_NODES:
        raise _refused("the file holds too many values", source, allowed=f"at most {MAX_NODES}")
    try:
        value = json.loads(
            text,
            object_pairs_hook=lambda pairs: _object(pairs, problems),
            parse_float=lambda digits: _float(digits, problems),
            parse_int=lambda digits: _integer(digits, problems),
            parse_constant=lambda word: problems.append(f"{word} is not a finite number"),
        )
        text_of_all = json.dumps(value, ensure_ascii=False)
        text_of_all.encode()
    except json.JSONDecodeError as error:
        raise _refused(
            f"not valid JSON: {error.msg}", source, value=f"column {error.colno}", line=error.lineno,
            hint="check quotes, commas and brackets near this line",
        ) from None  # fmt: skip
    except UnicodeEncodeError:
        raise _refused(
            "a text holds half of a surrogate pair", source, hint="write the character itself"
        ) from None
    if problems:
        raise Refused(tuple(Problem(path="", message=message, source=source) for message in problems))
    return Loaded(value, 1, {})


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in _STRING.sub("", text):
        if character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
    return deepest


def _object(pairs: list[tuple[str, Any]], problems: list[str]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) < len(pairs):
        names = [name for name, _ in pairs]
        problems.extend(f"{shown(name)} is given twice" for name in built if names.count(name) > 1)
    return built


def _float(digits: str, problems: list[str]) -> float:
    number = float(digits)
    if not math.isfinite(number):
        problems.append(f"{shown(digits)} is not a finite number")
    return number


def _integer(digits: str, problems: list[str]) -> int:
    number = int(digits) if len(digits) <= 20 else MAX_INTEGER + 1
    if abs(number) > MAX_INTEGER:
        problems.append(f"{shown(digits)} is too large a whole number; at most {MAX_INTEGER}, or quote it")
    return number


def _refused(message: str, source: str, **facts: Any) -> Refused:
    return Refused((Problem(path="", message=message, source=source, **facts),))
