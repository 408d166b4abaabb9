"""Keywords of the second validator that python's jsonschema would answer wrongly, or after too long a time.

`multipleOf` divides floats there: 19.99 is no multiple of 0.01. Patterns run on python's `re`, which backtracks and is of
another dialect than ECMA 262; here the linear-time engine of the first validator answers them.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from sluicegate.contracts.schemas import Schema, compile_schema

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any]]
"""As jsonschema calls it: the validator, the keyword's value, the instance, the schema around it."""


def of(known: Any, error: Callable[[str], Exception], schema: Schema) -> Mapping[str, Keyword]:
    """Keywords in place of those of the class `known`. error: makes a violation of a message. schema: the whole one.

    `unevaluatedProperties` beside `patternProperties` anywhere in the schema raises NotImplementedError.
    """

    def multiple_of(validator: Any, divisor: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "number") and not is_multiple(instance, divisor):
            yield error(f"{instance!r} is not a multiple of {divisor}")

    def pattern(validator: Any, text: str, instance: Any, _schema: Any) -> Iterator[Any]:
        if validator.is_type(instance, "string") and not is_match(text, instance):
            yield error(f"{instance!r} does not match {text!r}")

    def additional(validator: Any, below: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not validator.is_type(instance, "object"):
            return
        named, patterns = schema.get("properties", ()), schema.get("patternProperties", ())
        for name, value in instance.items():
            if name not in named and not any(is_match(one, name) for one in patterns):
                yield from validator.descend(value, below, path=name)

    keywords: dict[str, Keyword] = {
        "multipleOf": multiple_of,
        "pattern": pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": additional,
    }
    if "unevaluatedProperties" in known.VALIDATORS and _has(schema, "patternProperties"):
        keywords["unevaluatedProperties"] = _unevaluated
    return keywords


def is_multiple(value: float, divisor: float) -> bool:
    """Of the decimal numbers as they are written: the shortest ones that these floats are read from."""
    return (Fraction(repr(value)) / Fraction(repr(divisor))).denominator == 1


def is_match(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text, by the first validator."""
    return compile_schema({"type": "string", "pattern": pattern}).is_valid(text)


def is_regex(value: Any) -> bool:
    """The format `regex`, by the first validator."""
    return compile_schema({"format": "regex"}).is_valid(value)


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, below in patterns.items():
        for name, value in instance.items():
            if is_match(pattern, name):
                yield from validator.descend(value, below, path=name, schema_path=pattern)


def _unevaluated(_validator: Any, _below: Any, _instance: Any, _schema: Any) -> Iterator[Any]:
    raise NotImplementedError("it has no bound for unevaluatedProperties beside patternProperties")


def _has(schema: Any, keyword: str) -> bool:
    """Whether it stands anywhere, in data as well."""
    if isinstance(schema, dict):
        return keyword in schema or any(_has(one, keyword) for one in schema.values())
    return isinstance(schema, list) and any(_has(one, keyword) for one in schema)
