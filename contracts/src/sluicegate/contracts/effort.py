"""How much work a schema makes of one value, told from the schema alone: what multiplies is seen before anything is validated.

A validator looks at a definition once for each way that leads to it. Two references in each of twenty-five definitions are
2^25 ways; a definition that two of its parts apply to the same field doubles with every level of the value; and
``unevaluatedProperties`` looks once more at all that stands beside it, so that nested ones multiply without a reference.

Counted are evaluations: of every schema and of every keyword in it. With ``again`` for allOf, anyOf, oneOf and if:

    of(s)   = 1 + keywords + sum of(schemas of the same value) + of(below) + (seen(s) where s has unevaluated…)
    seen(s) = sum seen(schemas of the same value) + sum of(those of them that are looked at again)

which is how jsonschema-rs works: nested ``unevaluatedProperties`` grow by 2.6 a level in the formula, and by 2.6 as
measured. of(below) is the sum of all that stands below, fields of a list once. Where a definition contains itself
it goes level by level of the value: the place below that costs most, since other places are other values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urljoin

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.limits import MAX_DEPTH

MAX_EFFORT: Final = 20_000.0
"""Evaluations of one value, and of each item of a list. Measured: jsonschema-rs makes from 20 000 (addresses of e-mail) to
160 000 (types) in a millisecond when a value is valid, and from 70 to 250 when each of them says what it refuses: this
is up to 1 ms, and up to 0.3 s for what breaks every rule in every way."""
MAX_DEEP: Final = 2_000_000.0
"""The same of a value in which a definition contains itself: far more than is made, where one field tells its parts apart."""
LEAST_DEPTH: Final = 4
"""A schema that contains itself must be affordable for values of so many levels."""
ENDLESS: Final = float("inf")
_MOST_STEPS: Final = 1_000_000
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
    """Of a schema. most: evaluations of a value; of one of LEAST_DEPTH levels, where a definition contains itself.

    depth: levels of a value that may be validated. told: of one of which every violation may be told. MAX_DEPTH: any value.
    """

    most: float
    is_affordable: bool
    depth: int = MAX_DEPTH
    told: int = MAX_DEPTH


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


@dataclass(slots=True)
class _Tally:
    """Evaluations: of the value itself, of what stands at each place, and of any other field or item."""

    own: float = 0.0
    places: dict[str | int, float] = field(default_factory=dict)
    fields: float = 0.0
    items: float = 0.0

    def at(self, place: str | int) -> float:
        """Of what stands there."""
        return self.places.get(place, self.fields if isinstance(place, str) else self.items)

    def __add__(self, other: "_Tally") -> "_Tally":
        return _Tally(
            self.own + other.own,
            {place: self.at(place) + other.at(place) for place in self.places.keys() | other.places.keys()},
            self.fields + other.fields,
            self.items + other.items,
        )

    @property
    def most(self) -> float:
        """On the way down that costs most."""
        return self.own + max((self.fields, self.items, *self.places.values()))


class _TooMuchError(Exception):
    """The schema is too large to be told by levels."""


def effort_of(schema: Any) -> Effort:
    """Linear in the schema where no definition contains itself, else bounded; never raises."""
    if not isinstance(schema, dict):
        return Effort(most=1.0, is_affordable=True)
    nodes = _Graph(schema).nodes
    same = [[child for child, _ in node.same] for node in nodes]
    order = _children_first([[*one, *node.below] for one, node in zip(same, nodes, strict=True)])
    if order is not None:
        most = _total(nodes, order)
        return Effort(most=most, is_affordable=most <= MAX_EFFORT)
    order = _children_first(same)
    if order is None:  # for ever, at the same value
        return Effort(most=ENDLESS, is_affordable=False, depth=0, told=0)
    return _of_depths(_Levels(nodes, order))


def excess(effort: Effort, path: str) -> Problem:
    """What is said of a schema that is not affordable, found at `path`."""
    is_recursive = effort.depth < MAX_DEPTH
    below = f" of {LEAST_DEPTH} levels, since it contains itself" if is_recursive else ""
    most = MAX_DEEP if is_recursive else MAX_EFFORT
    return Problem(
        path=path,
        message=f"would take too long to check a value{below}: its parts multiply",
        value=f"{effort.most:.3g} evaluations",
        allowed=f"at most {most:.0f}",
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


def _total(nodes: list[_Node], order: list[int]) -> float:
    """Evaluations of the first schema, children before parents."""
    found, seen = [0.0] * len(nodes), [0.0] * len(nodes)
    for at in order:
        node = nodes[at]
        seen[at] = sum(seen[child] + (found[child] if again else 0.0) for child, again in node.same)
        found[at] = (
            node.own + sum(found[child] for child, _ in node.same) + sum(map(found.__getitem__, node.below))
        )
        found[at] += seen[at] if node.is_unevaluated else 0.0
    return found[0]


def _of_depths(levels: "_Levels") -> Effort:
    """Of a schema that contains itself: for values of one level more each time, while they can be afforded."""
    depth = told = 0
    most = ENDLESS
    try:
        for level in range(MAX_DEPTH + 1):
            found = levels.next()
            if found > MAX_DEEP:
                break
            depth, told = level, level if found <= MAX_EFFORT else told
            most = found if level == LEAST_DEPTH else most
    except _TooMuchError:
        pass
    return Effort(most=most, is_affordable=most <= MAX_DEEP, depth=depth, told=told)


class _Levels:
    """Evaluations for values of no level, one, two, and so on."""

    def __init__(self, nodes: list[_Node], order: list[int]) -> None:
        self.nodes, self.order = nodes, order
        self.below = [0.0] * len(nodes)
        self.steps = 0

    def next(self) -> float:
        """Of the first schema. Raises _TooMuchError when too much was counted."""
        found: list[_Tally] = [_NONE] * len(self.nodes)
        seen: list[_Tally] = [_NONE] * len(self.nodes)
        for at in self.order:
            node = self.nodes[at]
            tally = self._own(node)
            for child, again in node.same:
                tally = self._sum(tally, found[child])
                seen[at] = self._sum(seen[at], seen[child])
                seen[at] = self._sum(seen[at], found[child]) if again else seen[at]
            found[at] = self._sum(tally, seen[at]) if node.is_unevaluated else tally
        self.below = [tally.most for tally in found]
        return self.below[0]

    def _own(self, node: _Node) -> _Tally:
        every = {kind: sum(map(self.below.__getitem__, ones)) for kind, ones in node.every.items()}
        others = {kind: sum(map(self.below.__getitem__, ones)) for kind, ones in node.others.items()}
        places = {
            place: self.below[child] + every[isinstance(place, str)] for place, child in node.places.items()
        }
        return _Tally(node.own, places, every[True] + others[True], every[False] + others[False])

    def _sum(self, one: _Tally, other: _Tally) -> _Tally:
        self.steps += 1 + len(one.places) + len(other.places)
        if self.steps > _MOST_STEPS:
            raise _TooMuchError
        return one if other is _NONE else other if one is _NONE else one + other


_NONE: Final = _Tally()


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
    """Each is an evaluation, and so is every name and value that one of them lists."""
    listed = (schema.get(word) for word in ("properties", "patternProperties", "required", "enum"))
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
