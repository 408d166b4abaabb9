"""`x-sluicegate-compare` in an output schema: what is the same answer, field by field.

- Ignore: never compared; for ids and times that every run makes anew
- Pattern: letters and digits may differ, what stands between them may not; of numbers, nothing counts
- Exact: texts are compared exactly, also where they read like prose
- Text: texts are compared as free text, also where they are short
- Set: the order of the items means nothing, how often each occurs does
- {tolerance: "0.05"}: numbers that are no further apart are the same
- {relativeTolerance: "0.01"}: the same, as a share of the larger one
- {similarity: "0.6"}: free text of the same facts is the same from here on, however alike stable's own answers are
- {ignore: [Ids, Numbers]}: kinds of facts in a free text that every run makes anew
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any, Final

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.paths import child
from sluicegate.contracts.references import target
from sluicegate.contracts.schemas import Schema, walk
from sluicegate.contracts.suggestions import did_you_mean, shown

KEYWORD: Final = "x-sluicegate-compare"
_PREFIX: Final = "x-sluicegate"
FACTS: Final = (
    "Numbers", "Ids", "Dates", "Urls", "Money", "Units", "Names", "Negations", "Polarity", "Steps"
)  # fmt: skip
"""Kinds of facts in a free text that `ignore` may name."""

_RATES: Final = {"tolerance": None, "relativeTolerance": Decimal(1), "similarity": Decimal(1)}
_OPTIONS: Final = (*_RATES, "ignore")
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_MOST: Final = 10_000  # nodes of one schema
_DEEPEST: Final = 300  # nodes and references inside each other; no schema nests deeper


class How(StrEnum):
    """How a field is compared."""

    DEFAULT = "Default"
    IGNORE = "Ignore"
    PATTERN = "Pattern"
    EXACT = "Exact"
    TEXT = "Text"
    SET = "Set"


_WORDS: Final = tuple(how.value for how in How if how is not How.DEFAULT)


@dataclass(slots=True, eq=False)
class Hint:
    """What a schema says of a value and of those below it. May be cyclic, as schemas may."""

    how: How = How.DEFAULT
    tolerance: float = 0.0
    relative_tolerance: float = 0.0
    similarity: float | None = None
    ignored: frozenset[str] = frozenset()
    properties: dict[str, "Hint"] = field(default_factory=dict)
    others: "Hint | None" = None
    items: "Hint | None" = None

    @property
    def is_silent(self) -> bool:
        """Whether nothing is said of the value itself."""
        rates = self.tolerance or self.relative_tolerance or self.similarity is not None
        return self.how is How.DEFAULT and not rates and not self.ignored

    def of(self, name: str) -> "Hint":
        """Of a property."""
        return self.properties.get(name) or self.others or NOTHING

    def of_item(self) -> "Hint":
        """Of an item."""
        return self.items or NOTHING


NOTHING: Final = Hint()
"""Where nothing is said."""


def compile_hints(schema: Schema) -> Hint:
    """The hints of a schema. What `check_hints` refuses says nothing here."""
    return _Compiler(schema).compiled() if any(True for _ in _said(schema)) else NOTHING


def check_hints(schema: Schema, path: str) -> Iterator[Problem]:
    """What is wrong with the hints of the schema at `path`."""
    for value, where in _said(schema, path):
        yield from _word(value, where) if isinstance(value, str) else _options(value, where)
    for below, where in walk(schema, path):
        for keyword in below if isinstance(below, dict) else ():
            if keyword.startswith(_PREFIX) and keyword != KEYWORD:
                yield Problem(
                    path=child(where, keyword), message=f"unknown keyword {keyword}", value=shown(below[keyword]),
                    allowed=KEYWORD, hint=f"did you mean {KEYWORD}?",
                )  # fmt: skip


def hinted(schema: Schema, path: str) -> Iterator[str]:
    """Where in the schema at `path` there are hints."""
    return (where for _, where in _said(schema, path))


def _said(schema: Schema, path: str = "") -> Iterator[tuple[Any, str]]:
    for below, where in walk(schema, path):
        if isinstance(below, dict) and KEYWORD in below:
            yield below[KEYWORD], child(where, KEYWORD)


def _word(value: str, path: str) -> Iterator[Problem]:
    if value not in _WORDS:
        yield _refused(path, "unknown way to compare", value, did_you_mean(value, _WORDS))


def _options(value: Any, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict) or not value:
        yield _refused(path, "unknown way to compare", value, None)
        return
    for name, said in value.items():
        where = child(path, name)
        if name not in _OPTIONS:
            yield _refused(where, f"unknown option {name}", said, did_you_mean(name, _OPTIONS))
        elif name == "ignore":
            if not isinstance(said, list) or not said or not all(item in FACTS for item in said):
                yield Problem(
                    path=where, message="is no list of kinds of facts", value=shown(said),
                    allowed=", ".join(FACTS), hint="ignore: [Ids], for instance",
                )  # fmt: skip
        elif _rate(name, said) is None:
            most = _RATES[name]
            yield Problem(
                path=where, message="is no such number", value=shown(said),
                allowed="a decimal number as text, 0 or more" + (f", at most {most}" if most else ""),
                hint=f'{name}: "0.05", for instance',
            )  # fmt: skip


def _refused(path: str, message: str, value: Any, hint: str | None) -> Problem:
    return Problem(
        path=path,
        message=message,
        value=shown(value),
        allowed=f"{', '.join(_WORDS)}, or {{{'|'.join(_OPTIONS)}: …}}",
        hint=hint or f"{KEYWORD}: Ignore, for an id that every run makes anew",
    )


def _rate(name: str, value: Any) -> float | None:
    try:
        number = Decimal(value) if isinstance(value, str) else Decimal("NaN")
    except InvalidOperation:
        return None
    most = _RATES[name]
    fits = number.is_finite() and number >= 0 and (most is None or number <= most)
    return float(number) if fits else None


class _Compiler:
    """Follows `$ref` inside the schema; one hint for each schema, so that cycles end."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.made: dict[int, Hint] = {}
        self.branches: list[tuple[Hint, Hint]] = []

    def compiled(self) -> Hint:
        """Of the whole: first every schema by itself, then what branches and references add, until that ends."""
        hint = self.hint(self.root)
        for _ in self.branches:
            if not sum(_fill(each, branch) for each, branch in self.branches):
                break
        return hint

    def hint(self, schema: Any, depth: int = 0) -> Hint:
        """Of one schema, `depth` below the root."""
        if not isinstance(schema, Mapping) or len(self.made) > _MOST or depth > _DEEPEST:
            return NOTHING
        known = self.made.get(id(schema))
        if known is not None:
            return known
        hint = self.made[id(schema)] = _own(schema.get(KEYWORD))
        self.branches += [(hint, self.hint(branch, depth + 1)) for branch in self._branches(schema)]
        for name, below in _mapping(schema.get("properties")).items():
            hint.properties[name] = self.hint(below, depth + 1)
        if isinstance(schema.get("additionalProperties"), Mapping):
            hint.others = self.hint(schema["additionalProperties"], depth + 1)
        if isinstance(schema.get("items"), Mapping):
            hint.items = self.hint(schema["items"], depth + 1)
        return hint

    def _branches(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for keyword in _BRANCHES:
            yield from schema.get(keyword) or ()
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            yield target(reference, self.root)


def _own(said: Any) -> Hint:
    if isinstance(said, str):
        return Hint(how=How(said)) if said in _WORDS else Hint()
    options = _mapping(said)
    rates = {name: _rate(name, options[name]) for name in _RATES if name in options}
    ignored = options.get("ignore")
    return Hint(
        tolerance=rates.get("tolerance") or 0.0,
        relative_tolerance=rates.get("relativeTolerance") or 0.0,
        similarity=rates.get("similarity"),
        ignored=frozenset(item.lower() for item in ignored if item in FACTS)
        if isinstance(ignored, list)
        else frozenset(),
    )


def _fill(hint: Hint, other: Hint) -> bool:
    """What `hint` does not say itself, from a branch or a reference; whether that was anything."""
    if hint is other:
        return False
    before = (hint.is_silent, len(hint.properties), hint.others, hint.items)
    if hint.is_silent:
        hint.how, hint.similarity, hint.ignored = other.how, other.similarity, other.ignored
        hint.tolerance, hint.relative_tolerance = other.tolerance, other.relative_tolerance
    for name, below in other.properties.items():
        hint.properties.setdefault(name, below)
    hint.others, hint.items = hint.others or other.others, hint.items or other.items
    after = (hint.is_silent, len(hint.properties), hint.others, hint.items)
    return before != after


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
