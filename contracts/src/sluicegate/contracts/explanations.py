"""Pydantic's errors in our words: path, value, what is allowed, and a hint."""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction as Exact
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.paths import join
from sluicegate.contracts.resources.base import Fraction
from sluicegate.contracts.suggestions import closest, did_you_mean, listed, shown

Place = tuple[str | int, ...]

_QUOTED = re.compile(r"'([^']*)'")
_FRACTION = "a fraction such as {numerator: 5, denominator: 100}"

_KINDS_OF_VALUE = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "an object",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "datetime_type": "a time such as 2026-01-31T12:00:00Z",
    "datetime_parsing": "a time such as 2026-01-31T12:00:00Z",
    "datetime_from_date_parsing": "a time such as 2026-01-31T12:00:00Z",
    "none_required": "nothing",
    "invalid-json-value": "JSON",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
    "greater_than": ("gt", "above"),
    "less_than": ("lt", "below"),
}
_LENGTHS = {
    "string_too_long": ("is too long", "at most {max_length} characters"),
    "string_too_short": ("is too short", "at least {min_length} characters"),
    "too_long": ("has too many items", "at most {max_length} items"),
    "too_short": ("has too few items", "at least {min_length} items"),
}
_PATTERNS = {
    r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$": "lower-case letters, digits and -, not at the ends",
    r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$": "lower-case letters, digits, - and ., not at the ends",
    r"^[A-Za-z0-9][A-Za-z0-9._+-]*$": "letters, digits, and . _ + - after the first",
    r"^(0|1)(\.[0-9]+)?$": 'a rate between 0 and 1 as text, such as "0.995"',
    r"^[0-9]+(\.[0-9]+)?$": 'a number as text, such as "12.5"',
    r"^sha256:[0-9a-f]{64}$": "sha256: and 64 hexadecimal digits",
    r"^https?://[^\s]+$": "a URL that begins with http:// or https://",
    r"^(input|output)([.\[].*)?$": "a path into input or output, such as output.user.phone",
    r"^[A-Z_][A-Z0-9_]*$": "an environment variable: capital letters, digits and _",
    r"^[a-zA-Z_][a-zA-Z0-9_]*$": "letters, digits and _, not beginning with a digit (it is used as steps.<name>)",
}


def explain(errors: Iterable[ErrorDetails], model: type[BaseModel], data: Mapping[str, Any]) -> list[Problem]:
    """One problem per place; errors of several members of a union are told as one."""
    places: dict[Place, list[ErrorDetails]] = {}
    for error in errors:
        place = _place(error, data)
        if not _is_echo(error):
            places.setdefault(place, []).append(error)
    return [_problem(place, found, model) for place, found in places.items()]


def _place(error: ErrorDetails, data: Any) -> Place:
    """The error's location in the data: pydantic also names members of unions, which are nowhere in the file."""
    place: list[str | int] = []
    last = len(error["loc"]) - 1
    for number, key in enumerate(error["loc"]):
        is_item = isinstance(data, list | tuple) and isinstance(key, int)
        is_field = isinstance(data, Mapping) and isinstance(key, str) and key in data
        if is_item or is_field:
            data = data[key]
            place.append(key)
        elif number == last and error["type"] == "missing":
            place.append(key)
    return tuple(place)


def _is_echo(error: ErrorDetails) -> bool:
    """Items that are wrong themselves are also reported as a list that is too short."""
    return error["type"] == "too_short" and len(error["input"]) >= error["ctx"]["min_length"]


def _problem(place: Place, errors: list[ErrorDetails], model: type[BaseModel]) -> Problem:
    error = errors[0]
    kind = error["type"]
    if len(errors) > 1:
        words = dict.fromkeys(_KINDS_OF_VALUE.get(item["type"], item["msg"]) for item in errors)
        return Problem(
            path=join("", place),
            message="has the wrong type",
            value=shown(error["input"]),
            allowed=" or ".join(words),
            hint="write one of these",
        )
    if kind == "extra_forbidden":
        return _unknown_field(place, error, model)
    if kind == "missing":
        return _missing_field(place, error, model)
    make = _EXPLAINERS.get(kind, _wrong_type if kind in _KINDS_OF_VALUE else _other)
    return make(join("", place), error, _annotation_at(model, place))


def _unknown_field(place: Place, error: ErrorDetails, model: type[BaseModel]) -> Problem:
    owner = _model_at(model, place[:-1])
    fields = _field_names(owner) if owner else ()
    name = str(place[-1])
    return Problem(
        path=join("", place),
        message=f"unknown field {name}",
        value=shown(error["input"]),
        allowed=listed(fields),
        hint=did_you_mean(name, fields) or "remove it",
    )


def _missing_field(place: Place, error: ErrorDetails, model: type[BaseModel]) -> Problem:
    name = str(place[-1])
    written = error["input"] if isinstance(error["input"], Mapping) else {}
    owner = _model_at(model, place[:-1])
    known = set(_field_names(owner)) if owner else set()
    near = closest(name, [key for key in written if key not in known])
    return Problem(
        path=join("", place),
        message="is required",
        value="nothing",
        allowed=_allowed_words(_annotation_at(model, place)),
        hint=f"did you mean {name} instead of {near}?" if near else f"add {name}",
    )


def _wrong_type(path: str, error: ErrorDetails, annotation: Any) -> Problem:
    value = error["input"]
    allowed = _KINDS_OF_VALUE[error["type"]]
    hint = None
    if _is_fraction(annotation):
        allowed, hint = _FRACTION, _fraction_hint(value)
    elif error["type"] == "string_type" and isinstance(value, int | float):
        allowed = _pattern_words(annotation) or allowed
        text = str(value).lower() if isinstance(value, bool) else f"{value}"
        hint = f'quote it: "{text}"'
    elif error["type"] in {"bool_type", "bool_parsing"} and str(value).lower() in {"yes", "on", "no", "off"}:
        hint = "write true" if str(value).lower() in {"yes", "on"} else "write false"
    elif error["type"] in {"tuple_type", "list_type"}:
        hint = "begin each item with a dash"
    elif isinstance(value, str) and error["type"] in {"int_type", "bool_type"} and value:
        hint = "remove the quotes" if value.isdigit() or value in {"true", "false"} else None
    return Problem(
        path=path,
        message="has the wrong type",
        value=shown(value),
        allowed=allowed,
        hint=hint or f"write {allowed}",
    )


def _fraction_hint(value: Any) -> str:
    text = str(value).strip()
    percent = text.endswith("%")
    try:
        exact = Exact(Decimal(text.rstrip("% "))) / (100 if percent else 1)
    except (InvalidOperation, ValueError, OverflowError):
        return f"write {_FRACTION}"
    denominator = 100 if 100 % exact.denominator == 0 else exact.denominator
    if not percent and 1 < exact <= 100 and exact.denominator == 1:
        return f"write {{numerator: {exact}, denominator: 100}}, if {exact} % is meant; a share lies between 0 and 1"
    if not 0 <= exact <= 1 or denominator > 1_000_000_000:
        return f"write {_FRACTION}; a share lies between 0 and 1"
    return f"write {{numerator: {exact.numerator * denominator // exact.denominator}, denominator: {denominator}}}"


def _choice(path: str, error: ErrorDetails, _annotation: Any) -> Problem:
    words = _QUOTED.findall(error["ctx"]["expected"])
    value = error["input"]
    hint = did_you_mean(value, words) if isinstance(value, str) else None
    return Problem(
        path=path, message="is not one of the known words", value=shown(value), allowed=listed(words),
        hint=hint or "choose one of these",
    )  # fmt: skip


def _pattern(path: str, error: ErrorDetails, _annotation: Any) -> Problem:
    pattern = error["ctx"]["pattern"]
    value = error["input"]
    allowed = _PATTERNS.get(pattern, f"text that matches {pattern}")
    return Problem(
        path=path,
        message="is not well-formed",
        value=shown(value),
        allowed=allowed,
        hint=_pattern_hint(pattern, value),
    )


def _pattern_hint(pattern: str, value: str) -> str:
    if pattern.startswith("^(0|1)"):
        try:
            number = Decimal(value.strip().rstrip("%")) / (100 if value.strip().endswith("%") else 1)
        except InvalidOperation:
            number = Decimal(-1)
        return f'write "{number:f}"' if 0 <= number <= 1 else "a rate lies between 0 and 1"
    if pattern.startswith("^[a-z0-9]"):
        cleaned = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")[:63]
        return f"{cleaned}, for instance" if cleaned else "choose another name"
    if pattern.startswith("^[a-zA-Z_]"):
        cleaned = re.sub(r"[^a-zA-Z0-9]+", "_", value).strip("_")[:63]
        return f"{cleaned}, for instance" if cleaned and not cleaned[0].isdigit() else "choose another name"
    if pattern.startswith("^https?"):
        return (
            f"http://{value}" if value and "://" not in value and " " not in value else "write the whole URL"
        )
    return "see what is allowed"


def _bound(path: str, error: ErrorDetails, _annotation: Any) -> Problem:
    key, words = _BOUNDS[error["type"]]
    allowed = f"{words} {error['ctx'][key]}"
    return Problem(
        path=path,
        message="is out of range",
        value=shown(error["input"]),
        allowed=allowed,
        hint=f"write {allowed}",
    )


def _length(path: str, error: ErrorDetails, _annotation: Any) -> Problem:
    message, form = _LENGTHS[error["type"]]
    allowed = form.format(**error["ctx"])
    value = error["input"]
    size = f"{len(value)} characters" if isinstance(value, str) else f"{len(value)} items"
    return Problem(path=path, message=message, value=size, allowed=allowed, hint=f"give {allowed}")


def _rule(path: str, error: ErrorDetails, annotation: Any) -> Problem:
    """A validator of ours said no."""
    allowed = _FRACTION if _is_fraction(annotation) else _pattern_words(annotation)
    value = error["input"]
    facts = (
        f"{value.get('numerator')}/{value.get('denominator', 100)}"
        if isinstance(value, dict) and allowed
        else None
    )
    return Problem(
        path=path,
        message=str(error["ctx"]["error"]),
        value=facts or shown(value),
        allowed=allowed,
        hint="a share or rate lies between 0 and 1" if allowed else "write it as said",
    )


def _other(path: str, error: ErrorDetails, _annotation: Any) -> Problem:
    return Problem(
        path=path, message=error["msg"], value=shown(error["input"]), hint="see the schema of this kind"
    )


_EXPLAINERS: dict[str, Callable[[str, ErrorDetails, Any], Problem]] = {
    "enum": _choice,
    "literal_error": _choice,
    "string_pattern_mismatch": _pattern,
    "value_error": _rule,
    **dict.fromkeys(_BOUNDS, _bound),
    **dict.fromkeys(_LENGTHS, _length),
}


def _field_names(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in model.model_fields.items())


def _annotation_at(model: type[BaseModel], place: Place) -> Any:
    """The annotation of the field at `place`, with its constraints, or None."""
    annotation: Any = model
    for key in place:
        annotation = _below(annotation, key)
        if annotation is None:
            return None
    return annotation


def _below(annotation: Any, key: str | int) -> Any:
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            for name, info in member.model_fields.items():
                if key in (name, info.alias):
                    return Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        arguments = get_args(member)
        if isinstance(key, int) and get_origin(member) in (tuple, list):
            return arguments[0]
        if isinstance(key, str) and get_origin(member) is dict:
            return arguments[1]
    return None


def _members(annotation: Any) -> list[Any]:
    """The types that an annotation stands for, without Annotated and None."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [
            found for member in get_args(annotation) for found in _members(member) if found is not type(None)
        ]
    return [annotation]


def _model_at(model: type[BaseModel], place: Place) -> type[BaseModel] | None:
    for member in _members(_annotation_at(model, place)):
        if isinstance(member, type) and issubclass(member, BaseModel):
            return member
    return None


def _is_fraction(annotation: Any) -> bool:
    return Fraction in _members(annotation)


def _pattern_words(annotation: Any) -> str | None:
    for pattern in re.findall(r"pattern='((?:[^'\\]|\\.)*)'", repr(annotation).replace("\\\\", "\\")):
        if pattern in _PATTERNS:
            return _PATTERNS[pattern]
    return None


def _allowed_words(annotation: Any) -> str | None:
    if _is_fraction(annotation):
        return _FRACTION
    for member in _members(annotation):
        if isinstance(member, type) and hasattr(member, "__members__"):
            return listed(member.__members__[name].value for name in member.__members__)
    return _pattern_words(annotation)
