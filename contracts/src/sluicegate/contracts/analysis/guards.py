"""A condition as alternatives of tests on single variables, so that one can say when it holds and when it does not.

What cannot be read so counts as free: an alternative is never dropped for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

from sluicegate.contracts.analysis.ranges import Ranges, Variable, ranges_of
from sluicegate.contracts.analysis.values import MIRRORED, NEGATED, Comparison, some
from sluicegate.contracts.cel_tree import Constant, Items, Node, Operation, Reference
from sluicegate.contracts.expressions import compile_expression, tree
from sluicegate.contracts.verification.facts import Facts, Site, Use

_MAX_ALTERNATIVES: Final = 256
_COMPARED: Final[Mapping[str, str]] = {
    "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=",
}  # fmt: skip

Alternative = Mapping[Variable, tuple[Comparison, ...]]
"""All of these tests pass."""
Alternatives = tuple[Alternative, ...]
_FREE: Final[Alternatives] = ({},)


class _TooManyError(Exception):
    """The condition has more alternatives than anybody would read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The condition of a step. holds, fails: in which cases; nothing is known of those when there would be too many."""

    step: int
    path: str
    text: str
    node: Node
    holds: Alternatives
    fails: Alternatives


@lru_cache(maxsize=2)
def guards(facts: Facts) -> tuple[Guard, ...]:
    """Of every step with a condition that compiles, in order."""
    conditions = (use for use in facts.uses if use.site is Site.WHEN and use.compiled is not None)
    return tuple(_guard(use, use.step) for use in conditions if use.step is not None)


def _guard(use: Use, step: int) -> Guard:
    node, holds, fails = _read(use.text)
    return Guard(step=step, path=use.path, text=use.text, node=node, holds=holds, fails=fails)


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[Node, Alternatives, Alternatives]:
    node = tree(compile_expression(text))
    try:
        return node, _alternatives(node, wanted=True), _alternatives(node, wanted=False)
    except _TooManyError:
        return node, _FREE, _FREE


def possible(alternatives: Alternatives, ranges: Ranges) -> Alternatives:
    """Those that some values meet."""
    return tuple(
        one for one in alternatives if all(some(ranges.of(name), tests) for name, tests in one.items())
    )


@lru_cache(maxsize=2)
def never_hold(facts: Facts) -> frozenset[int]:
    """The steps whose condition no values meet; conditions that are false without looking at any are `verification`'s."""
    ranges = ranges_of(facts)
    return frozenset(
        guard.step for guard in guards(facts) if guard.holds and not possible(guard.holds, ranges)
    )


def variables(alternatives: Alternatives) -> tuple[Variable, ...]:
    """All that they look at, in order."""
    return tuple(dict.fromkeys(name for one in alternatives for name in one))


def _alternatives(node: Node, *, wanted: bool) -> Alternatives:
    """The cases in which the node gives `wanted`."""
    match node:
        case Constant(value) if isinstance(value, bool):
            return _FREE if value is wanted else ()
        case Reference(keys, tested):
            return _one(Variable(keys, "has" if tested else "value"), Comparison("==", (wanted,)))
        case Operation("!_", (inner,)):
            return _alternatives(inner, wanted=not wanted)
        case Operation("_&&_" | "_||_" as sign, (left, right)):
            parts = (_alternatives(left, wanted=wanted), _alternatives(right, wanted=wanted))
            return _both(*parts) if (sign == "_&&_") is wanted else _either(*parts)
        case Operation("_?_:_", (asked, yes, no)):
            first = _both(_alternatives(asked, wanted=True), _alternatives(yes, wanted=wanted))
            return _either(first, _both(_alternatives(asked, wanted=False), _alternatives(no, wanted=wanted)))
        case Operation("@in", (Reference() | Operation() as inner, Items(nodes))):
            return _membership(inner, nodes, wanted=wanted)
        case Operation(sign, (left, right)) if sign in _COMPARED:
            return _comparison(_COMPARED[sign], left, right, wanted=wanted)
    return _FREE


def _membership(inner: Node, nodes: tuple[Node, ...], *, wanted: bool) -> Alternatives:
    variable = _variable(inner)
    constants = tuple(node.value for node in nodes if isinstance(node, Constant))
    if variable is None or len(constants) < len(nodes):
        return _FREE
    return _one(variable, Comparison("==" if wanted else "!=", constants))


def _comparison(sign: str, left: Node, right: Node, *, wanted: bool) -> Alternatives:
    if isinstance(left, Constant):
        sign, left, right = MIRRORED[sign], right, left
    variable = _variable(left)
    if variable is None or not isinstance(right, Constant):
        return _FREE
    return _one(variable, Comparison(sign if wanted else NEGATED[sign], (right.value,)))


def _variable(node: Node) -> Variable | None:
    match node:
        case Reference(keys, False):
            return Variable(keys)
        case Operation("size", (Reference(keys, False),)):
            return Variable(keys, "size")
    return None


def _one(variable: Variable, test: Comparison) -> Alternatives:
    return ({variable: (test,)},)


def _both(left: Alternatives, right: Alternatives) -> Alternatives:
    if len(left) * len(right) > _MAX_ALTERNATIVES:
        raise _TooManyError
    return tuple(_merged(one, other) for one, other in product(left, right))


def _merged(one: Alternative, other: Alternative) -> Alternative:
    found = dict(one)
    for name, tests in other.items():
        found[name] = (*found.get(name, ()), *tests)
    return found


def _either(left: Alternatives, right: Alternatives) -> Alternatives:
    if len(left) + len(right) > _MAX_ALTERNATIVES:
        raise _TooManyError
    return (*left, *right)
