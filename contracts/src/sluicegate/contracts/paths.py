"""Field paths as people read them: ``spec.components[0].sla.maxLatencyMs``."""

import json
import re
from collections.abc import Iterable
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")


def child(path: str, key: str | int) -> str:
    """The path of one field or item below `path`; unusual names are quoted: ``labels["a.b"]``."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not (key.isascii() and key.isidentifier()) and not _PLAIN.match(key):
        return f"{path}[{json.dumps(key[:80], ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def join(path: str, keys: Iterable[str | int]) -> str:
    """The path after several steps down."""
    for key in keys:
        path = child(path, key)
    return path


def parent(path: str) -> str:
    """One step up; the empty path is the document."""
    if path.endswith('"]'):
        return path[: path.rindex('["')]
    return path[: max(path.rfind("."), path.rfind("["), 0)]


_STEP = re.compile(r'\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[\]]+)')
_NAMES = ("name", "id", "field", "value")


def named(path: str, data: Any) -> str:
    """The path with the names of list items in place of their numbers: ``spec.steps[plan].when``.

    An item has a name when it has a `name`, `id`, `field` or `value` that no other item of the list has, and that is not
    itself a number. The others keep their number, and so does all of a path that `data` does not have.
    """
    told, at = "", 0
    for step in _STEP.finditer(path):
        if step.start() != at:
            break
        number, quoted, key = step.groups()
        text = step[0]
        if number is not None:
            items = data if isinstance(data, list) else []
            name = _name(items, int(number))
            text = text if name is None else f"[{name}]"
            data = items[int(number)] if int(number) < len(items) else None
        else:
            data = data.get(json.loads(quoted) if quoted else key) if isinstance(data, dict) else None
        told, at = told + text, step.end()
    return told + path[at:]


def _name(items: list[Any], number: int) -> str | None:
    item = items[number] if number < len(items) else None
    word = next((word for word in _NAMES if isinstance(item, dict) and isinstance(item.get(word), str)), None)
    if word is None or item is None or item[word].isdecimal():  # [1] is the second item, whatever its name
        return None
    same = [one for one in items if isinstance(one, dict) and one.get(word) == item[word]]
    return str(item[word]) if len(same) == 1 else None


_PATTERN = re.compile(r"[A-Za-z_$][\w$-]*(?:\.[A-Za-z_$][\w$-]*|\[\*\]|\[\"[^\"\\]*\"\])*", re.ASCII)
_PATTERN_STEP = re.compile(r"\[(\*)\]|\[\"([^\"]*)\"\]|\.?([\w$-]+)", re.ASCII)
EACH = "*"
"""In a field pattern: every item of a list, every value of an object."""


def field_pattern(text: str) -> tuple[str, ...]:
    """``input.history[*].phone`` as its steps, ``*`` for each item. ValueError when it is not such a path."""
    if not _PATTERN.fullmatch(text):
        raise ValueError(f"{text[:80]} is not a path such as input.history[*].phone")
    return tuple(star or quoted or name for star, quoted, name in _PATTERN_STEP.findall(text))


RUN_PARTS = ("input", "output", "steps")
_RUN_PATH = re.compile(r"[A-Za-z_*][\w-]*(?:\.(?:\*|[\w-]+)|\[(?:\*|\d+)\])*", re.ASCII)
_RUN_STEP = re.compile(r"\[(\*|\d+)\]|(\*|[\w-]+)", re.ASCII)


def run_path(text: str) -> tuple[str | int, ...]:
    """``input.history[*].phone`` or ``steps.plan.output`` as its steps below a run; an index is a number.

    ValueError when it is no such path, or names the steps without saying which (``steps.*`` is every one).
    """
    if not _RUN_PATH.fullmatch(text):
        raise ValueError("is not a path into a run")
    keys = tuple(int(item) if item.isdecimal() else item or name for item, name in _RUN_STEP.findall(text))
    if keys[0] not in RUN_PARTS:
        raise ValueError("is not a path into a run: it does not begin at a part of it")
    if keys[0] == "steps" and not (len(keys) > 1 and isinstance(keys[1], str)):
        raise ValueError("is not a path into a run: it does not say which step")
    return keys
