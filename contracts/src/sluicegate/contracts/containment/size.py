"""Bounds of a question, asked before the library is: its work cannot be interrupted.

What costs: values of the schema, their depth, the cases into which unions, conditions and dependencies split it (they
multiply), pairs of enum members, and what repetitions of patterns unroll to. The bounds were found by measuring
(benchmarks/containment.py): within them no question took longer than some seconds or more than some hundred MB.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, Final

from sluicegate.contracts.references import target

MAX_NODES: Final = 4_000
MAX_DEPTH: Final = 60
MAX_CASES: Final = 32.0
MAX_WEIGHT: Final = 200_000.0
MAX_PATTERNS: Final = 64
MAX_UNROLLED: Final = 10_000
MAX_COST: Final = 1e7
"""Of one question to the library; about a second."""
_DEEPEST: Final = 40
_MUCH: Final = 1e12
_SIZE = re.compile(r"\{(\d{0,6}),?(\d{0,6})\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Of a schema. weight: its values with references written out. cases: disjuncts after multiplying out.

    unrolled: characters of its patterns with repetitions written out.
    """

    nodes: int
    depth: int
    weight: float
    cases: float
    patterns: int
    unrolled: int

    @property
    def is_readable(self) -> bool:
        """Whether it may be looked at at all."""
        return (
            self.nodes <= MAX_NODES
            and self.depth <= MAX_DEPTH
            and self.weight <= MAX_WEIGHT
            and self.unrolled <= MAX_UNROLLED
        )

    @property
    def is_small(self) -> bool:
        """Whether the library may be asked."""
        return self.is_readable and self.cases <= MAX_CASES and self.patterns <= MAX_PATTERNS

    def __str__(self) -> str:
        """For people."""
        return f"{self.nodes} values ({self.weight:.0f} with references written out) in {self.depth} levels, patterns of {self.unrolled} characters"


def cost(one: Size, other: Size) -> float:
    """Of comparing two schemas; about 10⁷ a second."""
    return one.weight * other.weight * one.cases * other.cases


def size_of(schema: Any) -> Size:
    """In one pass, without recursion deeper than the bound; stops counting far beyond the bounds."""
    nodes = depth = patterns = unrolled = 0
    waiting = [(schema, 1)]
    while waiting and nodes <= MAX_NODES * 32:
        value, level = waiting.pop()
        nodes += 1
        depth = max(depth, level)
        if isinstance(value, dict):
            found = _patterns_in(value)
            patterns += len(found)
            unrolled += sum(map(written_out, found))
            waiting += [(item, level + 1) for item in value.values()]
        elif isinstance(value, list):
            waiting += [(item, level + 1) for item in value]
    is_large = depth > MAX_DEPTH or nodes > MAX_NODES
    cases = math.inf if is_large else _Cases(schema).of(schema)
    weight = math.inf if is_large else _Weights(schema).of(schema, 0)
    return Size(nodes=nodes, depth=depth, weight=weight, cases=cases, patterns=patterns, unrolled=unrolled)


def _patterns_in(schema: dict[str, Any]) -> list[str]:
    patterns = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    names = schema.get("patternProperties")
    return [*patterns, *(names if isinstance(names, dict) else ())]


class _Weights:
    """Values of a schema, those behind a reference once for every reference; a cycle counts once."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.known: dict[int, float] = {}

    def of(self, value: Any, depth: int) -> float:
        if not isinstance(value, dict | list):
            return 1.0
        if id(value) in self.known:
            return self.known[id(value)]
        if depth > MAX_DEPTH * 3:
            return _MUCH
        self.known[id(value)] = 1.0
        weight = 1.0
        for item in value.values() if isinstance(value, dict) else value:
            weight += self.of(item, depth + 1)
        reference = value.get("$ref") if isinstance(value, dict) else None
        if isinstance(reference, str):
            weight += self.of(target(reference, self.root), depth + 1)
        self.known[id(value)] = weight = min(weight, _MUCH)
        return weight


def written_out(pattern: str) -> int:
    """Characters of a pattern when its counted repetitions are written out; those of groups multiply."""
    totals = [0]
    last = 0
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        found = _SIZE.match(pattern, at) if sign == "{" else None
        if found:
            times = max(int(found[1] or 0), int(found[2] or 0), 1)
            totals[-1] += last * (times - 1)
            last *= times
            at = found.end()
            continue
        if sign == "(":
            totals.append(0)
        elif sign == ")" and len(totals) > 1:
            last = totals.pop() + 1
            totals[-1] += last
        else:
            last = 1
            totals[-1] += 1
            at += sign == "\\"
        at += 1
        if totals[0] > MAX_UNROLLED * 100:
            break
    return sum(totals)


class _Cases:
    """Disjuncts of a schema: unions add, what holds together multiplies, a negation turns parts into disjuncts."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.seen: dict[int, float] = {}
        self.depth = 0

    def of(self, schema: Any) -> float:
        if not isinstance(schema, dict):
            return 1.0
        known = self.seen.get(id(schema))
        if known is not None:
            return known
        if self.depth > _DEEPEST:
            return math.inf
        self.seen[id(schema)] = 1.0  # a cycle adds nothing more
        self.depth += 1
        self.seen[id(schema)] = cases = self._cases(schema)
        self.depth -= 1
        return cases

    def _cases(self, schema: dict[str, Any]) -> float:
        cases = 1.0
        for keyword, value in schema.items():
            rule = _RULES.get(keyword)
            if rule is not None:
                cases *= max(1.0, rule(self, value))
        if "if" in schema:
            cases *= 1.0 + self.parts(schema["if"])
        return cases

    def parts(self, schema: Any) -> float:
        """Disjuncts of its negation: one for each thing that it asks for."""
        if not isinstance(schema, dict):
            return 1.0
        return sum(self._asked(keyword, value) for keyword, value in schema.items()) or 1.0

    def _asked(self, keyword: str, value: Any) -> float:
        if keyword in {
            "properties",
            "dependentSchemas",
            "patternProperties",
            "dependentRequired",
            "anyOf",
            "oneOf",
        }:
            return float(len(value)) if isinstance(value, dict | list) else 1.0
        if keyword == "allOf" and isinstance(value, list):
            return sum(self.parts(item) for item in value)
        return 1.0

    def union(self, value: Any) -> float:
        return sum(self.of(item) for item in value) if isinstance(value, list) else 1.0

    def exclusive(self, value: Any) -> float:
        """One of n: the n, with all the others refused."""
        return self.union(value) if isinstance(value, list) and len(value) < 3 else 2 * self.union(value)

    def together(self, value: Any) -> float:
        return math.prod(self.of(item) for item in _items(value))

    def widest(self, value: Any) -> float:
        """Of values below: they do not multiply with each other until two objects are compared."""
        return max((self.of(item) for item in _items(value)), default=1.0)

    def halves(self, value: Any) -> float:
        """Present or absent, for each name."""
        return 2.0 ** min(len(value), 64) * self.together(value) if isinstance(value, dict) else 1.0

    def single(self, value: Any) -> float:
        return self.of(value)

    def referred(self, value: Any) -> float:
        return self.of(target(value, self.root)) if isinstance(value, str) else 1.0

    def negated(self, value: Any) -> float:
        return self.parts(value) * max(1.0, self.of(value) / 2)


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


_RULES: Final = {
    "$ref": _Cases.referred,
    "anyOf": _Cases.union,
    "oneOf": _Cases.exclusive,
    "allOf": _Cases.together,
    "not": _Cases.negated,
    "then": _Cases.single,
    "else": _Cases.single,
    "dependentRequired": _Cases.halves,
    "dependentSchemas": _Cases.halves,
    "dependencies": _Cases.halves,
    "properties": _Cases.widest,
    "patternProperties": _Cases.widest,
    "$defs": _Cases.widest,
    "definitions": _Cases.widest,
    "prefixItems": _Cases.widest,
    "items": _Cases.single,
    "contains": _Cases.single,
    "additionalProperties": _Cases.single,
    "unevaluatedProperties": _Cases.single,
    "unevaluatedItems": _Cases.single,
    "propertyNames": _Cases.single,
}
