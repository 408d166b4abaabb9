"""How much work a schema makes of one value, told from the schema alone: what multiplies is seen before anything is validated.

A validator looks at a definition once for each way that leads to it. Two references in each of twenty-five definitions are
2^25 ways; a definition that two of its parts apply to the same field doubles with every level of the value; and
``unevaluatedProperties`` looks once more at all that stands beside it, so that nested ones multiply without a reference.

Counted are evaluations: of every schema and of every keyword in it. With ``again`` for allOf, anyOf, oneOf and if:

    of(s)   = 1 + keywords + sum of(schemas of the same value) + of(below) + (seen(s) where s has unevaluated…)
    seen(s) = sum seen(schemas of the same value) + sum of(those of them that are looked at again)

which is how jsonschema-rs works: nested ``unevaluatedProperties`` grow by 2.6 a level in the formula, and by 2.6 as
measured. of(below) is the place below that costs most, since other places are other values. Entries of an enum are no
evaluations. Where a definition contains itself, jsonschema-rs remembers what it found: asking whether a value is valid stays
linear, and only telling every violation multiplies, level by level of the value.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urljoin

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.limits import MAX_DEPTH

MAX_EFFORT: Final = 20_000.0
"""Evaluations of one value, on the way down that costs most. Measured: jsonschema-rs makes from 20 000 (addresses of e-mail)
to 160 000 (types) in a millisecond when a value is valid, and from 70 to 250 when each of them says what it refuses."""
MAX_STORED: Final = 100_000_000.0
"""What is not compiled at all, wherever it comes from: a value would take about a second."""
MAX_WAYS: Final = 20_000.0
"""Ways from schemas with ``unevaluated…`` to others of the same value, by references: the compiler goes each of them.
Measured: 0.2 s for 16 000, 7 s for 65 000."""
ENDLESS: Final = float("inf")
_MOST_VISITS: Final = 100_000
"""Schemas times levels that are counted."""
_ELSEWHERE: Final = 100.0
"""Of a reference to what is not in the document: a meta-schema."""

_SAME_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SAME_MAPS: Final = ("dependentSchemas", "dependencies")
_SAME: Final = ("if", "then", "else", "not")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_OTHERS: Final = {
    True: ("additionalProperties", "unevaluatedProperties"),
    False: ("items", "additionalItems", "unevaluatedItems"),
}
_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
_LOOKED_AT_AGAIN: Final = frozenset({*_SAME_LISTS, "if"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Of a schema. most: evaluations of a value, by definitions that do not contain themselves. allowed: of a new schema.

    told: levels of a value of which every violation may be told; MAX_DEPTH: of any value.
    """

    most: float = 1.0
    allowed: float = MAX_EFFORT
    ways: float = 0.0
    told: int = MAX_DEPTH

    @property
    def is_affordable(self) -> bool:
        """For whoever writes it now."""
        return self.most <= self.allowed and self.is_usable

    @property
    def is_usable(self) -> bool:
        """For who has it already: whether the compiler, and then a value, ends in about a second."""
        return self.most <= MAX_STORED and self.ways <= MAX_WAYS


@dataclass(slots=True, kw_only=True)
class _Node:
    """A schema, its parts by their numbers. same: of the same value, and whether they are looked at again. places: of named
    fields and of items; every, others: of every field (True) and item (False), and of those that have no place."""

    own: float
    is_unevaluated: bool
    same: list[tuple[int, bool]] = field(default_factory=list)
    places: dict[str | int, int] = field(default_factory=dict)
    every: dict[bool, list[int]] = field(default_factory=lambda: {True: [], False: []})
    others: dict[bool, list[int]] = field(default_factory=lambda: {True: [], False: []})

    @property
    def below(self) -> list[int]:
        """All of other values."""
        lists = (*self.every.values(), *self.others.values())
        return [*self.places.values(), *(one for group in lists for one in group)]

    def most(self, below: list[float], *, kind: bool) -> float:
        """Of one field (True) or item (False), the one that costs most."""
        others = sum(map(below.__getitem__, self.others[kind]))
        named = (below[one] for place, one in self.places.items() if isinstance(place, str) is kind)
        return sum(map(below.__getitem__, self.every[kind])) + max(others, max(named, default=0.0))


def effort_of(schema: Any) -> Effort:
    """Linear in the schema; never raises."""
    if not isinstance(schema, dict):
        return Effort()
    nodes = _Graph(schema).nodes
    same = [[child for child, _ in node.same] for node in nodes]
    level = _children_first(same)
    if level is None:  # for ever, at the same value
        return Effort(most=ENDLESS, told=0)
    ways = _ways(nodes, level)
    allowed = max(MAX_EFFORT, 2 * sum(node.own for node in nodes))
    order = _children_first([[*one, *node.below] for one, node in zip(same, nodes, strict=True)])
    below = [0.0] * len(nodes)
    if order is not None:
        _count(nodes, order, below, below)
        told = MAX_DEPTH if below[0] <= allowed else 0
        return Effort(most=below[0], allowed=allowed, ways=ways, told=told)
    found = [0.0] * len(nodes)
    _count(nodes, level, below, found)
    return Effort(most=max(found), allowed=allowed, ways=ways, told=_told(nodes, level, found))


def excess(effort: Effort, path: str) -> Problem:
    """What is said of a schema that is not affordable, found at `path`."""
    is_compiled = effort.ways <= MAX_WAYS
    return Problem(
        path=path,
        message="would take too long to check a value: its parts multiply",
        value=f"{effort.most:.3g} evaluations"
        if is_compiled
        else f"{effort.ways:.3g} ways below unevaluated…",
        allowed=f"at most {effort.allowed if is_compiled else MAX_WAYS:.0f}",
        hint="refer to a definition once for one value, let no definition refer to itself but for a field or an item, and "
        "write unevaluatedProperties only at the outermost schema",
    )


def is_deeper(value: Any, depth: int) -> bool:
    """Whether objects and lists are nested deeper than `depth` levels."""
    level = [value]
    for _ in range(depth + 1):
        level = [item for one in level if isinstance(one, dict | list) for item in _items(one)]
        if not level:
            return False
    return True


def _count(nodes: list[_Node], order: list[int], below: list[float], found: list[float]) -> None:
    """Evaluations of each schema into `found`, children before parents; `below`: those of other values."""
    own, seen, fields, items = ([0.0] * len(nodes) for _ in range(4))
    for at in order:
        node = nodes[at]
        own[at], fields[at], items[at] = node.own, node.most(below, kind=True), node.most(below, kind=False)
        for child, again in node.same:
            own[at] += own[child]
            fields[at] += fields[child]
            items[at] += items[child]
            seen[at] += seen[child] + (found[child] if again else 0.0)
        seen_here = seen[at] if node.is_unevaluated else 0.0
        own[at] += seen_here
        found[at] = own[at] + max(fields[at], items[at])


def _ways(nodes: list[_Node], order: list[int]) -> float:
    """From all schemas with ``unevaluated…`` to others of the same value."""
    ways = [0.0] * len(nodes)
    for at in order:
        ways[at] = 1.0 + sum(ways[child] for child, _ in nodes[at].same)
    return sum(way for way, node in zip(ways, nodes, strict=True) if node.is_unevaluated)


def _told(nodes: list[_Node], order: list[int], below: list[float]) -> int:
    """Levels of a value that can be told, of a schema that contains itself; `below`: evaluations of one without any."""
    for level in range(min(MAX_DEPTH, _MOST_VISITS // len(nodes))):
        if below[0] > MAX_EFFORT:
            return max(level - 1, 0)
        found = [0.0] * len(nodes)
        _count(nodes, order, below, found)
        below = found
    return min(MAX_DEPTH, _MOST_VISITS // len(nodes))


def _children_first(children: list[list[int]]) -> list[int] | None:
    """An order from the root's last descendants up; None when one is its own descendant."""
    order: list[int] = []
    state = [0] * len(children)  # 1: being looked at, 2: done
    for start in range(len(children)):
        waiting = [(start, 0)] if not state[start] else []
        state[start] = state[start] or 1
        while waiting:
            at, number = waiting.pop()
            if number == len(children[at]):
                state[at] = 2
                order.append(at)
                continue
            waiting.append((at, number + 1))
            child = children[at][number]
            if state[child] == 1:
                return None
            if not state[child]:
                state[child] = 1
                waiting.append((child, 0))
    return order


class _Graph:
    """Which schema applies which. nodes: the root first, then those that it reaches."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.named = _Names(root)
        self.nodes: list[_Node] = []
        self.known: dict[int, int] = {}
        self.waiting: list[tuple[dict[str, Any], _Node]] = []
        self._at(root)
        while self.waiting:
            self._fill(*self.waiting.pop())

    def _at(self, schema: Any) -> int | None:
        if not isinstance(schema, dict):
            return None
        if id(schema) not in self.known:
            self.known[id(schema)] = len(self.nodes)
            self.nodes.append(
                _Node(own=_keywords(schema), is_unevaluated=any(word in schema for word in _UNEVALUATED))
            )
            self.waiting.append((schema, self.nodes[-1]))
        return self.known[id(schema)]

    def _fill(self, schema: dict[str, Any], node: _Node) -> None:
        for word, child in _same_value(schema):
            found = self._at(child)
            if found is not None:
                node.same.append((found, word in _LOOKED_AT_AGAIN))
        for word in _REFERENCES:
            if isinstance(schema.get(word), str):
                targets = self.named.targets(schema[word], schema)
                node.own += 0.0 if targets else _ELSEWHERE
                found_at = [self._at(target) for target in targets]
                node.same += [(one, False) for one in found_at if one is not None]
        self._fill_below(schema, node)

    def _fill_below(self, schema: dict[str, Any], node: _Node) -> None:
        items = schema.get("items")
        named: list[tuple[str | int, Any]] = [*_dict(schema.get("properties")).items()]
        named += [*enumerate(_list(schema.get("prefixItems"))), *enumerate(_list(items))]
        for place, child in named:
            found = self._at(child)
            if found is not None:
                node.places[place] = found
        every = {True: [*_dict(schema.get("patternProperties")).values(), schema.get("propertyNames")]}
        every[False] = [schema.get("contains")]
        others = {kind: [schema.get(word) for word in words] for kind, words in _OTHERS.items()}
        for groups, wanted in ((node.every, every), (node.others, others)):
            for kind, children in wanted.items():
                groups[kind] = [one for one in map(self._at, children) if one is not None]


def _same_value(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for word in _SAME_LISTS:
        yield from ((word, item) for item in _list(schema.get(word)))
    for word in _SAME_MAPS:
        yield from ((word, item) for item in _dict(schema.get(word)).values())
    yield from ((word, schema[word]) for word in _SAME if word in schema)


def _keywords(schema: dict[str, Any]) -> float:
    """Each is an evaluation, and so is every name that one of them lists; an enum is looked up."""
    listed = (schema.get(word) for word in ("properties", "patternProperties", "required"))
    return 1.0 + len(schema) + sum(len(one) for one in listed if isinstance(one, dict | list))


class _Names:
    """What a reference may name. Where drafts differ about which base holds, every enclosing one is tried: rather too many."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.resources: dict[str, Any] = {"": root}
        self.anchors: dict[str, list[Any]] = {}
        self.bases: dict[int, tuple[str, ...]] = {}
        waiting: list[tuple[Any, tuple[str, ...]]] = [(root, ("",))]
        while waiting:
            value, bases = waiting.pop()
            if isinstance(value, dict):
                bases = self._noted(value, bases)
            waiting += [(item, bases) for item in _items(value) if isinstance(item, dict | list)]

    def _noted(self, schema: dict[str, Any], bases: tuple[str, ...]) -> tuple[str, ...]:
        names = [schema[word] for word in ("$anchor", "$dynamicAnchor") if isinstance(schema.get(word), str)]
        for word in ("$id", "id"):
            if isinstance(schema.get(word), str):
                uri, _, anchor = schema[word].partition("#")
                names += [anchor] if anchor else []
                if uri:
                    self.resources.setdefault(urljoin(bases[-1], uri), schema)
                    bases = (*bases, urljoin(bases[-1], uri))
        for name in names:
            self.anchors.setdefault(name, []).append(schema)
        self.bases[id(schema)] = tuple(dict.fromkeys((*self.bases.get(id(schema), ()), *bases)))
        return bases

    def targets(self, reference: str, schema: dict[str, Any]) -> list[Any]:
        """Each but once; none when it is not in this document."""
        uri, _, fragment = reference.partition("#")
        if fragment and not fragment.startswith("/"):
            return self.anchors.get(fragment, [])
        bases = dict.fromkeys(urljoin(base, uri) if uri else base for base in self.bases[id(schema)])
        found = [_followed(self.resources.get(base), unquote(fragment)) for base in bases]
        return list({id(one): one for one in found if one is not None}.values())


def _followed(found: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(name)] if name.isdecimal() and int(name) < len(found) else None
        else:
            found = _dict(found).get(name)
    return found


def _items(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else _list(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
