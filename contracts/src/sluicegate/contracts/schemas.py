"""JSON Schema, compiled once: contracts of components and workflows.

jsonschema-rs, always offline: a `$ref` to elsewhere is refused, never fetched. Patterns run on a linear-time engine,
so look-around and back-references are refused. Formats are asserted. Draft 2020-12 unless `$schema` says otherwise.
Of a new schema what would multiply (`effort`) is refused; one that is in use is compiled, unless that would not end.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import jsonschema_rs
import orjson

from sluicegate.contracts.effort import MAX_EFFORT, Effort, effort_of, excess, is_deeper
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.limits import MAX_DEPTH
from sluicegate.contracts.paths import child, join
from sluicegate.contracts.runs import Violation
from sluicegate.contracts.suggestions import closest, shown

MAX_VIOLATIONS = 100
ANY = "*"
"""Stands for an index, or for a property that the schema does not name."""

Schema = dict[str, Any] | bool

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS = (
    _DIALECT,
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)
_PATTERNS = jsonschema_rs.RegexOptions()
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

_WITH_SCHEMAS_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_WITH_SCHEMAS = ("allOf", "anyOf", "oneOf", "prefixItems")
_WITH_SCHEMA = (
    "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "not", "if", "then",
    "else", "propertyNames", "additionalItems", "contentSchema",
)  # fmt: skip
_TAKES_A_STEP = {
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
}
_TAKES_AN_ARGUMENT = {*_WITH_SCHEMAS_BY_NAME, *_WITH_SCHEMAS}
_KEYWORDS = frozenset(
    {
        *_WITH_SCHEMAS_BY_NAME, *_WITH_SCHEMAS, *_WITH_SCHEMA, "$schema", "$id", "$ref", "$anchor", "$dynamicRef",
        "$dynamicAnchor", "$vocabulary", "$comment", "type", "enum", "const", "multipleOf", "maximum", "minimum",
        "exclusiveMaximum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems",
        "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "required",
        "dependentRequired", "dependencies", "title", "description", "default", "deprecated", "readOnly", "writeOnly",
        "examples", "example", "format", "contentEncoding", "contentMediaType",
    }
)  # fmt: skip
TOO_DEEP = "MaxDepth"
"""Of a value that breaks a schema which contains itself, too deep for its violations to be told one by one."""
CODES = frozenset(keyword[:1].upper() + keyword[1:] for keyword in _KEYWORDS if keyword.isalpha()) | {
    TOO_DEEP
}
"""Codes of violations."""
_MULTIPLIES = (b"$ref", b"$dynamicRef", b"$recursiveRef", b'"unevaluated')
_FORMATS = frozenset(
    {
        "date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6",
        "uri", "uri-reference", "iri", "iri-reference", "uuid", "uri-template", "json-pointer",
        "relative-json-pointer", "regex",
    }
)  # fmt: skip
_ELSEWHERE = ("a $ref to elsewhere is not fetched", "copy the schema into $defs")
_NOTHING = ("a $ref points to nothing", "define it under $defs")
_REFERENCE_ERRORS = (
    ("Retrieval is disabled", *_ELSEWHERE),
    ("retrieving it failed", *_ELSEWHERE),
    ("base URI", *_ELSEWHERE),
    ("Pointer", *_NOTHING),
    ("Anchor", *_NOTHING),
)


Place = tuple[str | int, ...]
"""Keys and indices from a value down to a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A violation, and the parts of the value that it is about: a missing field is where it would be."""

    violation: Violation
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaCheck:
    """A compiled schema. is_valid(value) is the fast question; ask for violations only when it says no.

    Values must be JSON as a parser gives it: ValueError for objects with keys that are not texts. told: levels of a value
    of which every violation is told; of a deeper one only that it breaks the schema.
    """

    is_valid: Callable[[Any], bool] = field(compare=False, repr=False)
    errors: Callable[[Any], Iterator[jsonschema_rs.ValidationError]] = field(compare=False, repr=False)
    told: int = MAX_DEPTH

    def violations(self, value: Any, root: str) -> tuple[Violation, ...]:
        """Every broken rule, at most 100, without the values themselves.

        code: the keyword, PascalCase. path: ``root/field/…`` where an index, or a property that the schema does not
        name, is ``*``: so that kinds can be counted.
        """
        return tuple(one.violation for one in self.located(value, root))

    def located(self, value: Any, root: str) -> tuple[Located, ...]:
        """The same, with the places in this very value; the same violation of several items is told once."""
        if self.told < MAX_DEPTH and is_deeper(value, self.told):
            return () if self.is_valid(value) else (_untold(root, self.told),)
        found: dict[Violation, tuple[Place, ...]] = {}
        for error in self.errors(value):
            violation = _violation_of(error, root)
            found[violation] = (*found.get(violation, ()), *_places_of(error))
            if len(found) >= MAX_VIOLATIONS:
                break
        return tuple(Located(violation=one, places=places) for one, places in found.items())


_ANYTHING = SchemaCheck(is_valid=lambda _value: True, errors=lambda _value: iter(()))


def compile_schema(schema: Schema) -> SchemaCheck:
    """Compile once. Raises Refused as `check_schema` would tell."""
    if schema is True or schema == {}:
        return _ANYTHING
    try:
        return _compiled(_content(schema))
    except (ValueError, jsonschema_rs.ReferencingError):
        raise Refused(check_schema(schema, "") or (Problem(path="", message="not a JSON Schema"),)) from None


@dataclass(frozen=True, slots=True)
class _Content:
    """A schema that is known again by its text."""

    text: bytes
    schema: Schema = field(compare=False, repr=False)


def _content(schema: Schema) -> _Content:
    try:
        return _Content(orjson.dumps(schema), schema)
    except TypeError:  # whole numbers beyond 64 bits, for instance
        return _Content(repr(schema).encode(), schema)


@lru_cache(maxsize=2048)
def _compiled(content: _Content) -> SchemaCheck:
    effort = _effort(content)
    if not effort.is_usable:
        raise ValueError("would take too long")
    validator = _validator(content.schema)
    return SchemaCheck(is_valid=validator.is_valid, errors=validator.iter_errors, told=effort.told)


@lru_cache(maxsize=2048)
def _effort(content: _Content) -> Effort:
    """Counted only where something may multiply."""
    is_plain = len(content.text) <= MAX_EFFORT and not any(word in content.text for word in _MULTIPLIES)
    return Effort() if is_plain else effort_of(content.schema)


@lru_cache(maxsize=2048)
def _is_sound(content: _Content) -> bool:
    return not _all_wrong(content.schema, "")


def check_schema(schema: Schema, path: str) -> tuple[Problem, ...]:
    """All that is wrong with a schema found at `path`."""
    return () if isinstance(schema, bool) or _is_sound(_content(schema)) else _all_wrong(schema, path)


def _all_wrong(schema: Schema, path: str) -> tuple[Problem, ...]:
    if isinstance(schema, bool):
        return ()
    problems = [*_broken_rules(schema, path), *_misspelled(schema, path)]
    if problems:
        return tuple(problems)
    effort = _effort(_content(schema))
    if not effort.is_affordable:
        return (excess(effort, path),)
    try:
        _validator(schema)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        return (_compile_problem(error, schema, path),)
    return ()


def _validator(schema: Schema) -> Any:
    return jsonschema_rs.validator_for(
        schema, offline=True, pattern_options=_PATTERNS, validate_formats=True, mask="the value"
    )


@cache
def _meta_schema(dialect: str) -> Any:
    return jsonschema_rs.validator_for(
        {"$schema": dialect, "$ref": dialect}, offline=True, pattern_options=_PATTERNS, validate_formats=True
    )


def _broken_rules(schema: dict[str, Any], path: str) -> Iterable[Problem]:
    dialect = schema.get("$schema", _DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") not in _DIALECTS:
        yield Problem(
            path=child(path, "$schema"),
            message="unknown JSON Schema dialect",
            value=shown(dialect),
            allowed=", ".join(_DIALECTS),
            hint="remove $schema",
        )
        return
    seen = set()
    for error in _meta_schema(dialect).iter_errors(schema):
        where = join(path, error.instance_path)
        if where not in seen:
            seen.add(where)
            yield _rule_problem(error, where)


def _rule_problem(error: jsonschema_rs.ValidationError, path: str) -> Problem:
    keyword = error.instance_path[-1] if error.instance_path else None
    value = error.instance
    if keyword == "type":
        near = closest(value, _TYPES) if isinstance(value, str) else None
        return Problem(
            path=path, message="is not a type of JSON Schema", value=shown(value), allowed=", ".join(_TYPES),
            hint=f"did you mean {near}?" if near else "see what is allowed",
        )  # fmt: skip
    if error.kind.name == "format" and isinstance(value, str):
        return _pattern_problem(value, path)
    return Problem(
        path=path, message=f"is not JSON Schema: {error.message[:200]}", value=shown(value),
        hint=f"see the keyword {keyword} of JSON Schema" if keyword else "a schema is an object, true or false",
    )  # fmt: skip


def _pattern_problem(pattern: str, path: str) -> Problem:
    fancy = any(mark in pattern for mark in ("(?=", "(?!", "(?<=", "(?<!", "\\1", "\\2"))
    return Problem(
        path=path, message="is not a pattern that can be used", value=shown(pattern),
        allowed="a regular expression without look-around and back-references, of moderate size",
        hint="split it into allOf with simpler patterns" if fancy else "check brackets, escapes and repetitions",
    )  # fmt: skip


def _compile_problem(error: Exception, schema: Schema, path: str) -> Problem:
    message = str(getattr(error, "message", error)).partition("\n")[0][:300]
    place = list(getattr(error, "instance_path", None) or [])
    if 'is not a "regex"' in message:
        return _pattern_problem(str(_at(schema, place)), join(path, place))
    target = message.partition("'")[2].partition("'")[0]
    for sign, said, hint in _REFERENCE_ERRORS:
        if sign in message:
            return Problem(
                path=join(path, _place_of_reference(schema, target)), message=said, value=target,
                allowed="#/$defs/<name>", hint=hint,
            )  # fmt: skip
    return Problem(
        path=join(path, place),
        message=f"is not a usable JSON Schema: {message}",
        value=shown(_at(schema, place)),
        hint="simplify the schema",
    )


def _at(schema: Any, place: list[str | int]) -> Any:
    for key in place:
        try:
            schema = schema[key]
        except (KeyError, IndexError, TypeError):
            break
    return schema


def _place_of_reference(schema: Any, target: str) -> list[str | int]:
    """Where the reference to `target` stands; the compiler does not say."""
    pairs: Iterable[tuple[str | int, Any]] = ()
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and target and reference.endswith(target):
            return ["$ref"]
        pairs = schema.items()
    elif isinstance(schema, list):
        pairs = enumerate(schema)
    for key, value in pairs:
        below = _place_of_reference(value, target)
        if below:
            return [key, *below]
    return []


def _misspelled(schema: Any, path: str) -> Iterable[Problem]:
    """Unknown keywords and formats that are close to known ones; other unknown ones are annotations."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        near = None if keyword in _KEYWORDS or keyword.startswith("x-") else closest(keyword, _KEYWORDS)
        if near is not None:
            yield Problem(
                path=child(path, keyword), message=f"unknown keyword {keyword}", value=shown(value), allowed=near,
                hint=f"did you mean {near}? An annotation of your own begins with x-",
            )  # fmt: skip
        if (
            keyword == "format"
            and isinstance(value, str)
            and value not in _FORMATS
            and closest(value, _FORMATS)
        ):
            near = closest(value, _FORMATS)
            yield Problem(
                path=child(path, keyword), message="unknown format", value=shown(value),
                allowed=", ".join(sorted(_FORMATS)), hint=f"did you mean {near}?",
            )  # fmt: skip
        for below, where in _subschemas(keyword, value, child(path, keyword)):
            yield from _misspelled(below, where)


def walk(schema: Any, path: str) -> Iterator[tuple[Any, str]]:
    """A schema and every schema inside it, each with its path."""
    yield schema, path
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            for below, where in _subschemas(keyword, value, child(path, keyword)):
                yield from walk(below, where)


def _subschemas(keyword: str, value: Any, path: str) -> Iterable[tuple[Any, str]]:
    if keyword in _WITH_SCHEMAS_BY_NAME and isinstance(value, dict):
        return [(item, child(path, name)) for name, item in value.items()]
    if isinstance(value, list) and (keyword in _WITH_SCHEMAS or keyword == "items"):
        return [(item, child(path, number)) for number, item in enumerate(value)]
    return [(value, path)] if keyword in _WITH_SCHEMA else []


def _violation_of(error: jsonschema_rs.ValidationError, root: str) -> Violation:
    keyword = error.kind.name.lstrip("$")
    code = keyword[:1].upper() + keyword[1:]
    path = "/".join([root, *_counted_path(error)])
    missing = error.kind.as_dict().get("property") if code == "Required" else None
    if isinstance(missing, str):
        path = f"{path}/{missing}"
    return Violation(code=code, path=path, message=error.message[:200])


def _untold(root: str, depth: int) -> Located:
    message = f"breaks the contract; nested deeper than {depth} levels it is not told where"
    return Located(violation=Violation(code=TOO_DEEP, path=root, message=message), places=((),))


def _places_of(error: jsonschema_rs.ValidationError) -> tuple[Place, ...]:
    """Of a missing field where it would be, of fields too many each of them, else the value that is wrong."""
    place, known = tuple(error.instance_path), error.kind.as_dict()
    if error.kind.name == "required" and isinstance(known.get("property"), str):
        return ((*place, known["property"]),)
    unexpected = known.get("unexpected")
    if isinstance(unexpected, list) and unexpected:
        return tuple((*place, name) for name in unexpected)
    return (place,)


def _counted_path(error: jsonschema_rs.ValidationError) -> list[str]:
    """The instance path, with indices and undeclared names as ``*``; the keywords passed tell which is which."""
    steps = iter(error.evaluation_path)
    path: list[str] = []
    for keyword in steps:
        if keyword == "properties":
            path.append(str(next(steps, ANY)))
        elif keyword in {"patternProperties", "prefixItems"}:
            next(steps, None)
            path.append(ANY)
        elif keyword in _TAKES_AN_ARGUMENT:
            next(steps, None)
        elif keyword in _TAKES_A_STEP:
            path.append(ANY)
    return path[: len(error.instance_path)]
