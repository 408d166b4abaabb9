"""Reading of a serialised CEL syntax tree: which names an expression refers to.

cel-expr-python has no tree in Python; it serialises `cel.expr.ParsedExpr` and `CheckedExpr` (proto/cel/expr/
syntax.proto and checked.proto of the CEL specification, which fix the field numbers below).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

Path = tuple[str, ...]
ANY_INDEX = "[]"
"""Stands for an index that is a number or only known at run time."""

_ANY_VALUE = 2
_EXPR_OF = {b"cel.expr.ParsedExpr": 2, b"cel.expr.CheckedExpr": 4}
_CONST, _IDENT, _SELECT, _CALL, _LIST, _STRUCT, _COMPREHENSION = 3, 4, 5, 6, 7, 8, 9
_STRING_CONST = 6


@dataclass(slots=True)
class Names:
    """References in order of appearance (paths from a root), and those tested by `has()`."""

    references: list[Path] = field(default_factory=list)
    guards: list[Path] = field(default_factory=list)


def names_in(serialized: bytes) -> Names:
    """All names that are not bound by a macro of the expression itself."""
    message = _message(serialized)
    kind = message[1][0].rsplit(b"/", 1)[-1]
    names = Names()
    _walk(_message(message[_ANY_VALUE][0])[_EXPR_OF[kind]][0], frozenset(), names)
    return names


def _walk(data: bytes, bound: frozenset[str], names: Names) -> None:
    node = _message(data)
    path = _chain(node, bound, names)
    if path is not None:
        if path[0] not in bound:
            names.references.append(path)
            if _SELECT in node and 3 in _message(node[_SELECT][0]):
                names.guards.append(path)
        return
    if _COMPREHENSION in node:
        _walk_comprehension(_message(node[_COMPREHENSION][0]), bound, names)
        return
    for child in _children(node):
        _walk(child, bound, names)


def _walk_comprehension(fields: dict[int, list[bytes]], bound: frozenset[str], names: Names) -> None:
    inner = bound | {fields[number][0].decode() for number in (1, 3, 8) if number in fields}
    for number in (2, 4):  # the range and the start value are outside the macro's variables
        for child in fields.get(number, ()):
            _walk(child, bound, names)
    for number in (5, 6, 7):
        for child in fields.get(number, ()):
            _walk(child, inner, names)


def _chain(node: dict[int, list[bytes]], bound: frozenset[str], names: Names) -> Path | None:
    """`a.b["c"][0]` as a path, or None when the node is something else."""
    if _IDENT in node:
        return (_text(_message(node[_IDENT][0]), 1).lstrip("."),)
    if _SELECT in node:
        select = _message(node[_SELECT][0])
        base = _chain(_message(select[1][0]), bound, names)
        return None if base is None else (*base, _text(select, 2))
    if _CALL in node:
        call = _message(node[_CALL][0])
        if _text(call, 2) == "_[_]":
            return _indexed(call[3], bound, names)
    return None


def _indexed(arguments: list[bytes], bound: frozenset[str], names: Names) -> Path | None:
    base = _chain(_message(arguments[0]), bound, names)
    if base is None:
        return None
    index = _message(arguments[1])
    if _CONST in index:
        constant = _message(index[_CONST][0])
        return (*base, _text(constant, _STRING_CONST) if _STRING_CONST in constant else ANY_INDEX)
    _walk(arguments[1], bound, names)
    return (*base, ANY_INDEX)


def _children(node: dict[int, list[bytes]]) -> Iterator[bytes]:
    if _SELECT in node:
        yield _message(node[_SELECT][0])[1][0]
    for call in node.get(_CALL, ()):
        fields = _message(call)
        yield from fields.get(1, ())
        yield from fields.get(3, ())
    for items in node.get(_LIST, ()):
        yield from _message(items).get(1, ())
    for struct in node.get(_STRUCT, ()):
        for entry in _message(struct).get(2, ()):
            fields = _message(entry)
            yield from fields.get(3, ())
            yield from fields.get(4, ())


def _text(message: dict[int, list[bytes]], number: int) -> str:
    return message[number][0].decode() if number in message else ""


def _message(data: bytes) -> dict[int, list[bytes]]:
    """Fields of one protobuf message, by number; numbers as empty bytes, since only their presence is used."""
    fields: dict[int, list[bytes]] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        value = b""
        if wire == 0:
            _, at = _varint(data, at)
        elif wire == 2:
            size, at = _varint(data, at)
            value = data[at : at + size]
            at += size
        else:
            at += 8 if wire == 1 else 4
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
