"""Field paths as people read them: ``spec.components[0].sla.maxLatencyMs``."""

import json
import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")


def child(path: str, key: str | int) -> str:
    """The path of one field or item below `path`; unusual names are quoted: ``labels["a.b"]``."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN.match(key):
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
