"""A CRD change that would lose or refuse stored data is noticed."""

import copy
import json
from typing import Any

import pytest
import yaml

from sluicegate.contracts.crds import definition
from sluicegate.contracts.resources import KINDS
from tests.crds.compatibility import LOOSER, losses
from tests.crds.released import RELEASED, versions

Json = dict[str, Any]

_SCHEMA: Json = {
    "type": "object",
    "required": ["name"],
    "x-kubernetes-validations": [{"rule": "self.size < 3", "message": "m"}],
    "properties": {
        "name": {"type": "string", "maxLength": 63, "minLength": 1, "pattern": "^a", "enum": ["a", "ab"]},
        "size": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1},
        "free": {"x-kubernetes-preserve-unknown-fields": True},
        "map": {"type": "object", "maxProperties": 4, "additionalProperties": {"type": "string"}},
        "note": {"type": "string", "nullable": True},
        "items": {
            "type": "array",
            "maxItems": 3,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
        },
    },
}


def crd() -> Json:
    version = {
        "name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.size"}], "schema": {"openAPIV3Schema": copy.deepcopy(_SCHEMA)},
    }  # fmt: skip
    names = {"kind": "Thing", "plural": "things", "shortNames": ["th"]}
    return {"spec": {"group": "g", "scope": "Namespaced", "names": names, "versions": [version]}}


def changed(path: str, value: Any) -> Json:
    """A copy with a value set; `...` removes. The path begins in spec; `S` is the schema."""
    made = crd()
    place: Any = made["spec"]
    *above, last = [
        int(key) if key.isdigit() else key
        for key in path.replace("S", "versions/0/schema/openAPIV3Schema").split("/")
    ]
    for key in above:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return made


_V2 = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}

LOSES: dict[str, tuple[str, Any, str]] = {
    "a field is removed": ("S/properties/note", ..., "v1alpha1.note: the field is gone"),
    "a field of an item is removed": ("S/properties/items/items/properties/k", ..., "v1alpha1.items[].k: the field is gone"),
    "a type changes": ("S/properties/size/type", "string", "v1alpha1.size: type integer became string"),
    "a field becomes required": ("S/required", ["name", "note"], "v1alpha1.note: is required now"),
    "a value is no longer allowed": ("S/properties/name/enum", ["a"], "v1alpha1.name: ab is not allowed any more"),
    "values are listed": ("S/properties/note/enum", ["a"], "v1alpha1.note: takes only some values now"),
    "a text must be shorter": ("S/properties/name/maxLength", 62, "v1alpha1.name: maxLength 63 became 62"),
    "a text must be longer": ("S/properties/name/minLength", 2, "v1alpha1.name: minLength 1 became 2"),
    "a list must be shorter": ("S/properties/items/maxItems", 2, "v1alpha1.items: maxItems 3 became 2"),
    "a map must be smaller": ("S/properties/map/maxProperties", 3, "v1alpha1.map: maxProperties 4 became 3"),
    "a number must be smaller": ("S/properties/size/maximum", 8, "v1alpha1.size: maximum 9 became 8"),
    "a number must be larger": ("S/properties/size/minimum", 1, "v1alpha1.size: minimum 0 became 1"),
    "a bound appears": ("S/properties/note/maxLength", 9, "v1alpha1.note: maxLength absent became 9"),
    "a pattern changes": ("S/properties/name/pattern", "^b", "v1alpha1.name: pattern ^a became ^b"),
    "a format appears": ("S/properties/note/format", "date-time", "v1alpha1.note: format None became date-time"),
    "null is no longer allowed": ("S/properties/note/nullable", False, "v1alpha1.note: null is not allowed any more"),
    "a default changes": ("S/properties/size/default", 2, "v1alpha1.size: default 1 became 2"),
    "a list merges differently": ("S/properties/items/x-kubernetes-list-type", "atomic", "v1alpha1.items: x-kubernetes-list-type map became atomic"),
    "a list has other keys": ("S/properties/items/x-kubernetes-list-map-keys", ["j"], "v1alpha1.items: x-kubernetes-list-map-keys ['k'] became ['j']"),
    "a map merges differently": ("S/properties/map/x-kubernetes-map-type", "atomic", "v1alpha1.map: x-kubernetes-map-type None became atomic"),
    "a free-form leaf closes": ("S/properties/free", {"properties": {}}, "v1alpha1.free: unknown fields are not kept any more"),
    "values of a map go": ("S/properties/map/additionalProperties", ..., "v1alpha1.map{}: is gone"),
    "a rule appears": ("S/properties/map/x-kubernetes-validations", [{"rule": "false", "message": "no"}], "v1alpha1.map: a new rule: no"),
    "a rule changes": ("S/x-kubernetes-validations", [{"rule": "self.size < 2", "message": "m"}], "v1alpha1: a new rule: m"),
    "a condition appears": ("S/properties/map/oneOf", [{"required": ["a"]}], "v1alpha1.map: oneOf changed"),
    "a version is removed": ("versions", [_V2], "v1alpha1: the version is gone"),
    "a version is not served": ("versions/0/served", False, "v1alpha1: is not served any more"),
    "another version is stored": (
        "versions", [{**crd()["spec"]["versions"][0], "storage": False}, _V2], "v1alpha1: is not the stored version any more, v1 is: convert, then change",
    ),
    "the status subresource goes": ("versions/0/subresources", {}, "v1alpha1: the status subresource came or went"),
    "a field can no longer be selected by": ("versions/0/selectableFields", [], "v1alpha1: .spec.size cannot be selected by any more"),
    "the scope changes": ("scope", "Cluster", "scope: Namespaced became Cluster"),
    "the group changes": ("group", "h", "group: g became h"),
    "the kind changes": ("names/kind", "Things", "names.kind: Thing became Things"),
    "the plural changes": ("names/plural", "thing", "names.plural: things became thing"),
    "a short name goes": ("names/shortNames", [], "names.shortNames: th is gone"),
}  # fmt: skip

KEEPS: dict[str, tuple[str, Any]] = {
    "nothing": ("group", "g"),
    "a new optional field": ("S/properties/more", {"type": "string", "maxLength": 9}),
    "a new required field with a default": ("S/properties/more", {"type": "string", "default": "x"}),
    "a default of what was required": ("S/properties/name/default", "a"),
    "a field that is no longer required": ("S/required", []),
    "another allowed value": ("S/properties/name/enum", ["a", "ab", "abc"]),
    "any value": ("S/properties/name/enum", ...),
    "a wider bound": ("S/properties/name/maxLength", 64),
    "no bound": ("S/properties/size/maximum", ...),
    "no pattern": ("S/properties/name/pattern", ...),
    "no rule": ("S/x-kubernetes-validations", ...),
    "null allowed": ("S/properties/name/nullable", True),
    "another description": ("S/properties/name/description", "words"),
    "another column": ("versions/0/additionalPrinterColumns", [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]),
    "another field to select by": ("versions/0/selectableFields", [{"jsonPath": ".spec.size"}, {"jsonPath": ".spec.name"}]),
    "another short name": ("names/shortNames", ["th", "thg"]),
    "another served version": ("versions/1", {**_V2, "storage": False}),
}  # fmt: skip


@pytest.mark.parametrize("sentence", LOSES)
def test_a_change_that_loses_is_told(sentence: str) -> None:
    path, value, told = LOSES[sentence]
    assert losses(crd(), changed(path, value)) == [told]


@pytest.mark.parametrize("sentence", KEEPS)
def test_a_change_that_keeps_passes(sentence: str) -> None:
    path, value = KEEPS[sentence]
    made = crd()
    if path == "versions/1":
        made["spec"]["versions"].append(value)
    else:
        made = changed(path, value)
    if sentence == "a new required field with a default":
        made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"].append("more")
    assert losses(crd(), made) == []


def test_a_field_below_a_free_form_leaf_is_kept() -> None:
    """What the schema forgets is still stored where unknown fields are."""
    old, new = crd(), crd()
    old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["free"]["properties"] = {
        "known": {"type": "string"}
    }
    assert losses(old, new) == []


@pytest.mark.parametrize("version", versions())
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_present_crds_keep_what_was_released(kind: str, version: str) -> None:
    made = definition(KINDS[kind])
    path = RELEASED / version / f"sluicegate.io_{KINDS[kind].plural}.yaml"
    if path.exists():
        assert losses(yaml.safe_load(path.read_text()), made) == []


@pytest.mark.parametrize("version", versions())
def test_no_released_kind_is_gone(version: str) -> None:
    present = {f"sluicegate.io_{kind.plural}.yaml" for kind in KINDS.values()}
    assert {path.name for path in (RELEASED / version).glob("*.yaml")} <= present


def test_every_rule_that_is_called_looser_is_there() -> None:
    made = "".join(json.dumps(definition(kind)) for kind in KINDS.values())
    assert all(json.dumps(rule) in made for rule in LOOSER)
