"""Paths into a JSON document: ``data.items[0].errors``."""

import re
from typing import Any

_PATH = re.compile(r"(?:[A-Za-z_][\w-]*|\[\d{1,6}\])(?:\.[A-Za-z_][\w-]*|\[\d{1,6}\])*", re.ASCII)
_STEP = re.compile(r"\[(\d+)\]|([\w-]+)", re.ASCII)


def web_path(text: str) -> tuple[str | int, ...]:
    """The steps of a path: names, and numbers for indices. ValueError when it is no such path."""
    if not _PATH.fullmatch(text):
        raise ValueError("is not a path into a JSON document")
    return tuple(int(index) if index else name for index, name in _STEP.findall(text))


def found_at(document: Any, path: tuple[str | int, ...]) -> Any:
    """The value there; None when the document has nothing at the path."""
    for step in path:
        if isinstance(step, int):
            if not isinstance(document, list) or step >= len(document):
                return None
            document = document[step]
        elif isinstance(document, dict):
            document = document.get(step)
        else:
            return None
    return document
