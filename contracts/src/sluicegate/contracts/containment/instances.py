"""Values that a JSON Schema talks of: inside its bounds, on them, and one step beyond.

Guesses, deterministic and bounded: who uses one validates it. The simplest come first.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, zip_longest
from typing import Any, Final

import orjson

from sluicegate.contracts.containment.patterns import examples
from sluicegate.contracts.references import target

MOST: Final = 48
_DEEPEST: Final = 8
_LONGEST: Final = 300
_MOST_ITEMS: Final = 40
_BUDGET: Final = 4_000  # schemas visited in one question

BASIC: Final[tuple[Any, ...]] = (
    None, False, True, 0, 1, -1, 0.5, "", "a", [], {}, 2, 1.5, "0", "z", [0], {"a": 0}, [None, "a"],
)  # fmt: skip
_FORMATS: Final = {
    "date-time": ("2026-01-31T10:00:00Z",),
    "date": ("2026-01-31",),
    "time": ("10:00:00Z",),
    "duration": ("P1D",),
    "email": ("a@example.com",),
    "idn-email": ("a@example.com", "é@example.com"),
    "hostname": ("example.com",),
    "idn-hostname": ("example.com",),
    "ipv4": ("192.0.2.1",),
    "ipv6": ("2001:db8::1",),
    "uri": ("https://example.com/a",),
    "uri-reference": ("/a", "https://example.com/a"),
    "iri": ("https://example.com/é",),
    "iri-reference": ("/é",),
    "uuid": ("12345678-1234-4234-8234-123456789012",),
    "uri-template": ("/a/{b}",),
    "json-pointer": ("/a/0", ""),
    "relative-json-pointer": ("0/a",),
    "regex": ("^a$",),
}
_OF_TYPE: Final = {
    "string": ("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": (
        "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains",
        "unevaluatedItems", "additionalItems",
    ),
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties",
    ),
}  # fmt: skip
_CONSTANTS: Final = {"null": (None,), "boolean": (False, True)}


def instances(schema: Any, root: Any = None, *, most: int = MOST) -> list[Any]:
    """At most `most` distinct values; root: where the schema's local references begin, itself by default."""
    return _Maker(schema if root is None else root, most).of(schema, 0)


class _Maker:
    """One question: a shared budget, so that a schema of many branches ends too."""

    def __init__(self, root: Any, most: int) -> None:
        self.root = root
        self.most = most
        self.budget = _BUDGET

    def of(self, schema: Any, depth: int) -> list[Any]:
        self.budget -= 1
        if schema is False or depth > _DEEPEST or self.budget < 0:
            return []
        if not isinstance(schema, dict) or not schema:
            return list(BASIC)
        own = self._own(schema, depth)
        return _distinct(_in_turn(self._combined(schema, own, depth)), self.most)

    def _own(self, schema: dict[str, Any], depth: int) -> list[Any]:
        if "const" in schema:
            return [schema["const"]]
        if isinstance(schema.get("enum"), list):
            return list(schema["enum"][: self.most])
        parts = [list(islice(_MAKERS[name](self, schema, depth), 4 * self.most)) for name in _types(schema)]
        return _distinct(_in_turn(parts), self.most)

    def _combined(self, schema: dict[str, Any], own: list[Any], depth: int) -> Iterator[list[Any]]:
        """The schema's own values, those of its branches, and objects made of both."""
        yield own
        together = own[:4]
        for branch in self._together(schema):
            below = self.of(branch, depth + 1)
            yield below
            together = _merged(together, below) or together
        yield together
        for branch in self._alternatives(schema):
            below = self.of(branch, depth + 1)
            yield below
            yield _merged(together, below)

    def _together(self, schema: dict[str, Any]) -> Iterator[Any]:
        if isinstance(schema.get("$ref"), str):
            yield target(schema["$ref"], self.root)
        yield from _list(schema.get("allOf"))

    def _alternatives(self, schema: dict[str, Any]) -> Iterator[Any]:
        yield from _list(schema.get("anyOf"))
        yield from _list(schema.get("oneOf"))
        yield from (schema[keyword] for keyword in ("not", "if", "then", "else") if keyword in schema)
        dependent = schema.get("dependentSchemas")
        if isinstance(dependent, dict):
            yield from dependent.values()

    def strings(self, schema: dict[str, Any], _depth: int) -> Iterator[Any]:
        yield from _FORMATS.get(str(schema.get("format")), ())
        low, high = _count(schema.get("minLength")) or 0, _count(schema.get("maxLength"))
        if isinstance(schema.get("pattern"), str):
            found = examples(schema["pattern"])
            yield from found
            padding = [
                sign * (low - len(text)) for text in found[:1] for sign in "a0" if len(text) < low <= _LONGEST
            ]
            yield from (text + pad for text in found[:4] for pad in padding)
            yield from (pad + text for text in found[:4] for pad in padding)
        lengths = (low, high, low + 1, low - 1, None if high is None else high + 1, 1, 0)
        yield from ("a" * size for size in lengths if size is not None and 0 <= size <= _LONGEST)
        yield from (sign * low for sign in "0zA" if 0 < low <= _LONGEST)

    def numbers(self, schema: dict[str, Any], _depth: int) -> Iterator[Any]:
        step = _number(schema.get("multipleOf")) or 1
        bounds = [
            _number(schema.get(name))
            for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        ]
        known = [bound for bound in bounds if bound is not None]
        if len(known) > 1:
            known.append((known[0] + known[1]) / 2)
        whole = "integer" in _listed(schema.get("type")) or schema.get("type") == "integer"
        for at in dict.fromkeys([0, *known, 1, -1]):
            near = [at, at + step, at - step, *_multiples(at, step)]
            near += [] if whole else [at + 0.5, at - 0.5, at + 1e-3, at - 1e-3]
            yield from (_plain(value) for value in near if math.isfinite(value))

    def arrays(self, schema: dict[str, Any], depth: int) -> Iterator[Any]:
        prefix = _list(schema.get("prefixItems"))
        rest = schema.get("items", True)
        if isinstance(rest, list):
            prefix, rest = rest, schema.get("additionalItems", True)
        first = [(self.of(item, depth + 1) or [None])[0] for item in prefix[:_MOST_ITEMS]]
        items = self.of(rest, depth + 1) or [None]
        wanted = self.of(schema["contains"], depth + 1)[:4] if "contains" in schema else []
        yield []
        for size in _sizes(schema, "Items", len(first)):
            body = [*first, *(items[number % len(items)] for number in range(max(0, size - len(first))))][
                :size
            ]
            yield body
            yield [*first, *[items[0]] * max(0, size - len(first))][:size]
            for found in wanted:
                times = _count(schema.get("minContains")) or 1
                yield from (
                    [*body, *[found] * extra] for extra in (1, times, times + 1) if extra <= _MOST_ITEMS
                )
        base = [*first, items[0]]
        for number, below in enumerate([*prefix[:_MOST_ITEMS], rest]):
            for value in self.of(below, depth + 1)[:10]:
                yield [*base[:number], value, *base[number + 1 :]]

    def objects(self, schema: dict[str, Any], depth: int) -> Iterator[Any]:
        below = {
            name: self.of(item, depth + 1)
            for name, item in islice(_dict(schema.get("properties")).items(), 1_000)
        }
        needed = {name for name in _list(schema.get("required")) if isinstance(name, str)}
        other = self.of(schema.get("additionalProperties", True), depth + 1) if needed - below.keys() else []
        base = {name: (below.get(name) or other or [0])[0] for name in sorted(needed)}
        everything = {name: values[0] for name, values in below.items() if values} | base
        yield base
        yield everything
        for name, values in below.items():
            yield from ({**base, name: value} for value in values[:16])
        yield from self._others(schema, base, depth)
        for name, others in _dict(schema.get("dependentRequired")).items():
            yield {**base, name: 0}
            yield {**base, name: 0, **{str(other): 0 for other in _list(others)}}
        for size in _sizes(schema, "Properties", len(base)):
            filled = dict(islice(everything.items(), max(size, len(base)))) | base
            yield filled | {f"k{number}": 0 for number in range(max(0, size - len(filled)))}

    def _others(self, schema: dict[str, Any], base: dict[str, Any], depth: int) -> Iterator[Any]:
        """Names that are not listed."""
        extra = schema.get("additionalProperties", True)
        names = (
            [str(name) for name in self.of(schema["propertyNames"], depth + 1) if isinstance(name, str)]
            if "propertyNames" in schema
            else []
        )
        for name in [*names[:6], "k0"]:
            yield from ({**base, name: value} for value in self.of(extra, depth + 1)[:8])
        for pattern, item in islice(_dict(schema.get("patternProperties")).items(), 16):
            values = self.of(item, depth + 1)[:6]
            yield from ({**base, name: value} for name in examples(pattern)[:3] for value in values)

    def fixed(self, schema: dict[str, Any], _depth: int) -> Iterator[Any]:
        for name in _listed(schema.get("type")):
            yield from _CONSTANTS.get(name, ())


_MAKERS: Final[dict[str, Callable[[_Maker, dict[str, Any], int], Iterable[Any]]]] = {
    "null": _Maker.fixed,
    "boolean": _Maker.fixed,
    "integer": _Maker.numbers,
    "number": _Maker.numbers,
    "string": _Maker.strings,
    "array": _Maker.arrays,
    "object": _Maker.objects,
    "any": lambda _maker, _schema, _depth: BASIC,
}


def _types(schema: dict[str, Any]) -> list[str]:
    """Those it names; else of what its keywords speak, and anything."""
    named = [name for name in _listed(schema.get("type")) if name in _MAKERS]
    return named or [
        *(name for name, words in _OF_TYPE.items() if any(word in schema for word in words)),
        "any",
    ]


def _merged(left: list[Any], right: list[Any]) -> list[Any]:
    ones = [value for value in left if isinstance(value, dict)][:6]
    others = [value for value in right if isinstance(value, dict)][:8]
    return [{**one, **other} for one in ones for other in others]


def _in_turn(parts: Iterable[list[Any]]) -> Iterator[Any]:
    """The first of each, then the second of each: no part crowds out another."""
    nothing = object()
    for values in zip_longest(*parts, fillvalue=nothing):
        yield from (value for value in values if value is not nothing)


def _distinct(values: Iterable[Any], most: int) -> list[Any]:
    found: dict[bytes, Any] = {}
    for value in values:
        try:
            found.setdefault(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), value)
        except TypeError:
            continue
        if len(found) >= most:
            break
    return list(found.values())


def _sizes(schema: dict[str, Any], what: str, least: int) -> list[int]:
    low, high = _count(schema.get(f"min{what}")) or 0, _count(schema.get(f"max{what}"))
    sizes = (low, least, 1, 2, high, low - 1, None if high is None else high + 1)
    return [size for size in dict.fromkeys(sizes) if size is not None and 0 <= size <= _MOST_ITEMS]


def _multiples(at: float, step: float) -> tuple[float, ...]:
    ratio = at / step
    return (math.floor(ratio) * step, math.ceil(ratio) * step) if abs(ratio) < 2**53 else ()


def _plain(value: float) -> float:
    """A whole number as such, and no more digits than were meant."""
    if isinstance(value, int):
        return value
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(f"{value:.12g}")


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1e300 else None


def _count(value: Any) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [name for name in _list(value) if isinstance(name, str)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
