"""JSON from outside: bounded in depth before it is parsed."""

import re
from typing import Any

import orjson

MAX_DEPTH = 64
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


class JsonError(ValueError):
    """Not JSON, or nested too deep."""


def parse(body: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text. Raises JsonError: not JSON (NaN and Infinity are not), not UTF-8, or too deep."""
    if body.count(b"{") + body.count(b"[") > max_depth and is_deeper(body, max_depth):
        raise JsonError(f"nested deeper than {max_depth} levels")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise JsonError(str(error)) from error


def is_deeper(body: bytes, limit: int) -> bool:
    """Whether brackets outside strings nest deeper than `limit`; stops as soon as they do."""
    depth = 0
    for token in _TOKENS.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth > limit:
                return True
        elif first in b"]}":
            depth -= 1
    return False
