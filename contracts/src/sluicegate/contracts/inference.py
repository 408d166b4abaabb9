"""A first contract from values that were seen: the JSON Schema that accepts all of them and says what they have in common.

It never refuses a value that it has seen. What it generalises is listed in `schema_of`; a person reads and corrects it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from sluicegate.contracts.schemas import Schema, SchemaCheck, compile_schema

MOST_WORDS: Final = 16
"""Values of an enum."""
SIGHTINGS: Final = 5
"""Sightings that each value of an enum needs on average: with 16 equally likely words all have been seen by then with a
chance of 90 % (coupon collector)."""
FEWEST: Final = 20
"""Sightings of a text below which nothing is an enum."""
FEWEST_OF_FORMAT: Final = 3
"""Distinct texts of which all have the format."""
MOST_NAMES: Final = 64
"""Fields of an object; with more it is a map from names to values of one kind."""
_NAMES_OF_A_MAP: Final = 8
_WORD: Final = re.compile(r"[\w.:/+-]{1,40}")
_FORMATS: Final = ("date-time", "date", "uuid", "ipv4", "email")
_TYPES: Final = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


@dataclass(slots=True)
class Shape:
    """What is common to the values seen at one place. Observing the same values in another order gives the same Shape."""

    seen: int = 0
    types: set[str] = field(default_factory=set)
    texts: dict[str, int] = field(default_factory=dict)  # at most MOST_WORDS + 1, then it counts no more
    formats: set[str] = field(default_factory=lambda: set(_FORMATS))
    objects: int = 0
    names: dict[str, "Shape"] = field(default_factory=dict)
    items: "Shape | None" = None

    def observe(self, value: Any) -> None:
        """One more value: JSON as a parser gives it."""
        self.seen += 1
        self.types.add(_TYPES.get(type(value), "null"))
        if isinstance(value, str):
            self._text(value)
        elif isinstance(value, list):
            self.items = self.items or Shape()
            for item in value:
                self.items.observe(item)
        elif isinstance(value, dict):
            self.objects += 1
            for name, item in value.items():
                self.names.setdefault(name, Shape()).observe(item)

    def _text(self, text: str) -> None:
        if text in self.texts or len(self.texts) <= MOST_WORDS:
            self.texts[text] = self.texts.get(text, 0) + 1
        if self.formats:
            self.formats = {name for name in self.formats if _keeps(name, text)}


def infer(values: Iterable[Any]) -> Schema:
    """The schema of the values; of none of them true: nothing is known."""
    shape = Shape()
    for value in values:
        shape.observe(value)
    return schema_of(shape)


def schema_of(shape: Shape) -> Schema:
    """As JSON Schema 2020-12.

    Fields that every object had are required, others are optional, and unknown ones stay allowed. An object with names that
    differ from one to the next is a map. Few short words that come again and again are an enum; texts that all keep a format
    have it. Numbers get no bounds, texts no length and lists no size: what was seen is not what there may be.
    """
    if not shape.seen:
        return True
    types = sorted(shape.types - {"integer"} if "number" in shape.types else shape.types)
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    if "string" in shape.types:
        schema |= _of_text(shape)
    if "object" in shape.types:
        schema |= _of_object(shape)
    if shape.items is not None and shape.items.seen:
        schema["items"] = schema_of(shape.items)
    return schema


def _of_text(shape: Shape) -> dict[str, Any]:
    words = shape.texts
    sightings = sum(words.values())
    is_enum = (
        shape.types == {"string"}
        and len(words) <= MOST_WORDS
        and sightings >= max(FEWEST, SIGHTINGS * len(words))
        and all(_WORD.fullmatch(word) for word in words)
    )
    if is_enum:
        return {"enum": sorted(words)}
    kept = [name for name in _FORMATS if name in shape.formats]
    return {"format": kept[0]} if kept and len(words) >= FEWEST_OF_FORMAT else {}


def _of_object(shape: Shape) -> dict[str, Any]:
    if _is_map(shape):
        whole = Shape()
        for one in shape.names.values():
            _merge(whole, one)
        return {"additionalProperties": schema_of(whole)}
    found: dict[str, Any] = {}
    required = [name for name, one in shape.names.items() if one.seen == shape.objects]
    if required:
        found["required"] = sorted(required)
    if shape.names:
        found["properties"] = {name: schema_of(shape.names[name]) for name in sorted(shape.names)}
    return found


def _is_map(shape: Shape) -> bool:
    """Names that are data: very many, or many of which none comes in most objects."""
    most = max((one.seen for one in shape.names.values()), default=0)
    return len(shape.names) > MOST_NAMES or (len(shape.names) > _NAMES_OF_A_MAP and 2 * most <= shape.objects)


def _merge(into: Shape, other: Shape) -> None:
    """As if `into` had seen what `other` has."""
    into.seen += other.seen
    into.types |= other.types
    for text, count in other.texts.items():
        if text in into.texts or len(into.texts) <= MOST_WORDS:
            into.texts[text] = into.texts.get(text, 0) + count
    into.formats &= other.formats
    into.objects += other.objects
    for name, one in other.names.items():
        _merge(into.names.setdefault(name, Shape()), one)
    if other.items is not None:
        into.items = into.items or Shape()
        _merge(into.items, other.items)


def _keeps(name: str, text: str) -> bool:
    try:
        return _format(name).is_valid(text)
    except ValueError:  # half of a surrogate pair: no text of any format
        return False


@cache
def _format(name: str) -> SchemaCheck:
    return compile_schema({"format": name})
