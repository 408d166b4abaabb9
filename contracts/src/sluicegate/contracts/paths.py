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
