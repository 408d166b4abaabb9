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
    names = Names()
    _walk(root(serialized), frozenset(), names)
    return names


def root(serialized: bytes) -> bytes:
    """The outermost `Expr`."""
    message = fields_of(serialized)
    kind = message[1][0].rsplit(b"/", 1)[-1]
    return fields_of(message[_ANY_VALUE][0])[_EXPR_OF[kind]][0]


def _walk(data: bytes, bound: frozenset[str], names: Names) -> None:
    node = fields_of(data)
    path = _chain(node, bound, names)
    if path is not None:
        if path[0] not in bound:
            names.references.append(path)
            if _SELECT in node and 3 in fields_of(node[_SELECT][0]):
                names.guards.append(path)
        return
    if _COMPREHENSION in node:
        _walk_comprehension(fields_of(node[_COMPREHENSION][0]), bound, names)
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
        return (text_at(fields_of(node[_IDENT][0]), 1).lstrip("."),)
    if _SELECT in node:
        select = fields_of(node[_SELECT][0])
        base = _chain(fields_of(select[1][0]), bound, names)
        return None if base is None else (*base, text_at(select, 2))
    if _CALL in node:
        call = fields_of(node[_CALL][0])
        if text_at(call, 2) == "_[_]":
            return _indexed(call[3], bound, names)
    return None


def _indexed(arguments: list[bytes], bound: frozenset[str], names: Names) -> Path | None:
    base = _chain(fields_of(arguments[0]), bound, names)
    if base is None:
        return None
    index = fields_of(arguments[1])
    if _CONST in index:
        constant = fields_of(index[_CONST][0])
        return (*base, text_at(constant, _STRING_CONST) if _STRING_CONST in constant else ANY_INDEX)
    _walk(arguments[1], bound, names)
    return (*base, ANY_INDEX)


def _children(node: dict[int, list[bytes]]) -> Iterator[bytes]:
    if _SELECT in node:
        yield fields_of(node[_SELECT][0])[1][0]
    for call in node.get(_CALL, ()):
        fields = fields_of(call)
        yield from fields.get(1, ())
        yield from fields.get(3, ())
    for items in node.get(_LIST, ()):
        yield from fields_of(items).get(1, ())
    for struct in node.get(_STRUCT, ()):
        for entry in fields_of(struct).get(2, ()):
            fields = fields_of(entry)
            yield from fields.get(3, ())
            yield from fields.get(4, ())


def text_at(message: dict[int, list[bytes]], number: int) -> str:
    """A field that holds a text; empty when it is absent."""
    return message[number][0].decode() if number in message else ""


def fields_of(data: bytes) -> dict[int, list[bytes]]:
    """Fields of one protobuf message, by number, each as its bytes: of a number those that encode it."""
    fields: dict[int, list[bytes]] = {}
    at, end = 0, len(data)
    while at < end:
        begin = at + 1
        key = data[at]
        if key >= 0x80:
            key, begin = varint(data, at)
        wire = key & 7
        if wire == 2:
            size = data[begin]
            begin += 1
            if size >= 0x80:
                size, begin = varint(data, begin - 1)
            at = begin + size
        elif wire == 0:
            at = varint(data, begin)[1]
        else:
            at = begin + (8 if wire == 1 else 4)
        number = key >> 3
        if number in fields:
            fields[number].append(data[begin:at])
        else:
            fields[number] = [data[begin:at]]
    return fields


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where the next field does."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
