"""Which CEL rule is broken, told by what the API server says: kind, field, reason and some of the message."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sluicegate.contracts.crds.rules import Rule
from sluicegate.contracts.crds.structure import BY_MODEL
from sluicegate.contracts.resources import KINDS

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Placed:
    """A rule of a model, at one of the fields of a kind that are of the model."""

    kind: str
    field: str
    model: str
    rule: Rule


def placed() -> tuple[Placed, ...]:
    """All rules at all their fields; items of lists and maps as []."""
    found = []
    for kind in KINDS.values():
        whole = kind.model.model_json_schema(by_alias=True, mode="validation")
        for model, path in _models(whole, kind.name, "", whole.get("$defs", {})):
            rules = BY_MODEL[model].rules if model in BY_MODEL else ()
            found += [Placed(kind.name, f"{path}{rule.at}".removeprefix("."), model, rule) for rule in rules]
    return tuple(found)


def broken_by(kind: str, field: str, reason: str, words: str) -> tuple[Placed, ...]:
    """The rules of which this may be told."""
    place = re.sub(r"\[[^]]*\]", "[]", field)
    return tuple(
        one
        for one in PLACED
        if (one.kind, one.field, one.rule.reason) == (kind, place, reason) and words in one.rule.message
    )


def _models(node: Schema, name: str, path: str, models: Schema) -> Iterator[tuple[str, str]]:
    """Name and place of each model in a JSON schema of pydantic; one inside itself is no kind's."""
    if name:
        yield name, path
    for part in (node, *node.get("anyOf", ())):
        if "$ref" in part:
            inner = part["$ref"].removeprefix("#/$defs/")
            yield from _models(models[inner], inner, path, models)
        for key in ("items", "additionalProperties"):
            if isinstance(part.get(key), dict):
                yield from _models(part[key], "", f"{path}[]", models)
    for field, inside in node.get("properties", {}).items():
        yield from _models(inside, "", f"{path}.{field}", models)


PLACED = placed()
