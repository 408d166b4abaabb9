"""The syntax tree of a CEL expression, as far as one can reason about it without running it.

What is not named here (macros, structures, arithmetic on what is only known at run time) is `UNKNOWN`: whoever reads a tree
must take it for anything. Field numbers as in `cel_syntax`.
"""

import struct
from dataclasses import dataclass
from typing import Final

from sluicegate.contracts import cel_syntax
from sluicegate.contracts.cel_syntax import fields_of, text_at

Scalar = str | int | float | bool | None
Keys = tuple[str | int, ...]

_CONST, _IDENT, _SELECT, _CALL, _LIST = 3, 4, 5, 6, 7
_NULL, _BOOL, _INT, _UINT, _DOUBLE, _STRING = 1, 2, 3, 4, 5, 6
_TESTS: Final = 3
"""Field of a select that says that it is has()."""


@dataclass(frozen=True, slots=True)
class Reference:
    """``steps.plan.items[0]``: keys from a root; a number is an index. tested: inside has()."""

    keys: Keys
    tested: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Items:
    """A list literal."""

    nodes: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Operation:
    """A call of a function or operator under CEL's own name (`_&&_`, `@in`, `size`); a receiver is the first argument."""

    function: str
    arguments: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything."""


Node = Reference | Constant | Items | Operation | Unknown
UNKNOWN: Final = Unknown()


def read(serialized: bytes) -> Node:
    """The tree of a serialised expression."""
    return _node(cel_syntax.root(serialized))


def _node(data: bytes) -> Node:
    node = fields_of(data)
    if _CONST in node:
        return _constant(fields_of(node[_CONST][0]))
    if _IDENT in node:
        return Reference((text_at(fields_of(node[_IDENT][0]), 1).lstrip("."),))
    if _SELECT in node:
        return _select(fields_of(node[_SELECT][0]))
    if _CALL in node:
        return _call(fields_of(node[_CALL][0]))
    if _LIST in node:
        return Items(tuple(map(_node, fields_of(node[_LIST][0]).get(1, ()))))
    return UNKNOWN


def _select(select: dict[int, list[bytes]]) -> Node:
    base = _node(select[1][0])
    if not isinstance(base, Reference):
        return UNKNOWN
    return Reference((*base.keys, text_at(select, 2)), tested=_TESTS in select)


def _call(call: dict[int, list[bytes]]) -> Node:
    arguments = tuple(map(_node, (*call.get(1, ()), *call.get(3, ()))))
    function = text_at(call, 2)
    if function != "_[_]":
        return Operation(function, arguments)
    base, index = arguments
    if not isinstance(base, Reference) or not isinstance(index, Constant):
        return UNKNOWN
    is_key = isinstance(index.value, str | int) and not isinstance(index.value, bool)
    return Reference((*base.keys, index.value)) if is_key else UNKNOWN  # type: ignore[arg-type]


def _constant(constant: dict[int, list[bytes]]) -> Node:
    if _NULL in constant:
        return Constant(None)
    if _BOOL in constant:
        return Constant(_whole(constant[_BOOL][0]) != 0)
    if _INT in constant:
        value = _whole(constant[_INT][0])
        return Constant(value - (1 << 64) if value >= 1 << 63 else value)
    if _UINT in constant:
        return Constant(_whole(constant[_UINT][0]))
    if _DOUBLE in constant:
        return Constant(float(struct.unpack("<d", constant[_DOUBLE][0])[0]))
    return Constant(text_at(constant, _STRING)) if _STRING in constant else UNKNOWN


def _whole(varint: bytes) -> int:
    return cel_syntax.varint(varint, 0)[0]
