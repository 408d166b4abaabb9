"""Whether objects stored under one CRD survive another: nothing lost, nothing refused. Pure, over parsed CRDs.

A change is told when it would prune a stored field, refuse a stored value, orphan stored objects or lose who owns a
list's items. What only allows more passes.
"""

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

LOOSER: dict[str, str] = {
    "!has(self.gates) || self.gates.exists(g, g.required && g.signal in ['WorkflowSuccessRate', 'WorkflowP95Latency', "
    "'ComponentFallbackRateMax', 'ContractViolations', 'External'])": "as in 0.1.0, and one more signal",
    "!has(self.gates) || self.gates.all(g, g.signal == 'External' || self.gates.exists_one(h, h.signal == g.signal))": "as in "
    "0.1.0, and nothing of one more signal",
    "has(self.source) == (self.signal == 'External')": "0.1.0 had neither, and required a signal",
    "!has(self.versionShare) || self.versionShare.numerator == 0 || self.name in ['Canary', 'Shadow']": "0.1.0 had no such share",
    "!has(self.deltaPhi) || (double(self.deltaPhi) > 0.0 && double(self.deltaPhi) < 1.0)": "0.1.0 had no such bound",
}
"""New rules that no stored object breaks, and why."""

_AT_LEAST = ("minimum", "minLength", "minItems", "minProperties")
_AT_MOST = ("maximum", "maxLength", "maxItems", "maxProperties")
_FREE = "x-kubernetes-preserve-unknown-fields"
_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_LOGIC = ("allOf", "anyOf", "oneOf", "not")


def losses(old: Schema, new: Schema) -> list[str]:
    """What objects stored under `old` would lose under `new`: sentences that begin with the place."""
    return [*_names(old["spec"], new["spec"]), *_versions(old["spec"], new["spec"])]


def _names(old: Schema, new: Schema) -> Iterator[str]:
    for field in ("group", "scope"):
        if old[field] != new[field]:
            yield f"{field}: {old[field]} became {new[field]}"
    for field in ("kind", "plural"):
        if old["names"][field] != new["names"][field]:
            yield f"names.{field}: {old['names'][field]} became {new['names'][field]}"
    for name in sorted(set(old["names"].get("shortNames", ())) - set(new["names"].get("shortNames", ()))):
        yield f"names.shortNames: {name} is gone"


def _versions(old: Schema, new: Schema) -> Iterator[str]:
    found = {version["name"]: version for version in new["versions"]}
    stored = next(version["name"] for version in new["versions"] if version["storage"])
    for version in old["versions"]:
        name = version["name"]
        if name not in found:
            yield f"{name}: the version is gone"
            continue
        if version["served"] and not found[name]["served"]:
            yield f"{name}: is not served any more"
        if version["storage"] and stored != name:
            yield f"{name}: is not the stored version any more, {stored} is: convert, then change"
        if ("status" in version.get("subresources", {})) != ("status" in found[name].get("subresources", {})):
            yield f"{name}: the status subresource came or went"
        for field in sorted(_selectable(version) - _selectable(found[name])):
            yield f"{name}: {field} cannot be selected by any more"
        yield from _schema(_root(version), _root(found[name]), name)


def _root(version: Schema) -> Schema:
    root: Schema = version["schema"]["openAPIV3Schema"]
    return root


def _selectable(version: Schema) -> set[str]:
    return {item["jsonPath"] for item in version.get("selectableFields", ())}


def _schema(old: Schema, new: Schema, path: str) -> Iterator[str]:
    if old.get("type") != new.get("type"):
        yield f"{path}: type {old.get('type')} became {new.get('type')}"
        return
    if old.get(_FREE) and not new.get(_FREE):
        yield f"{path}: unknown fields are not kept any more"
    yield from _values(old, new, path)
    yield from _lists(old, new, path)
    yield from _rules(old, new, path)
    yield from _properties(old, new, path)
    for key, name in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(old.get(key), dict):
            if isinstance(new.get(key), dict):
                yield from _schema(old[key], new[key], path + name)
            elif not new.get(_FREE):
                yield f"{path}{name}: is gone"


def _properties(old: Schema, new: Schema, path: str) -> Iterator[str]:
    before, after = old.get("properties", {}), new.get("properties", {})
    for name in before:
        if name in after:
            yield from _schema(before[name], after[name], f"{path}.{name}")
            yield from _default(before[name], after[name], f"{path}.{name}", name in old.get("required", ()))
        elif not new.get(_FREE):
            yield f"{path}.{name}: the field is gone"
    for name in new.get("required", ()):
        if name not in old.get("required", ()) and "default" not in after.get(name, {}):
            yield f"{path}.{name}: is required now"


def _default(old: Schema, new: Schema, path: str, required: bool) -> Iterator[str]:
    """Another default changes what stored objects without the field mean; of a field that all of them have it changes nothing."""
    if old.get("default") != new.get("default") and not (required and "default" not in old):
        yield f"{path}: default {old.get('default')} became {new.get('default')}"


def _values(old: Schema, new: Schema, path: str) -> Iterator[str]:
    for words, tightened in ((_AT_LEAST, max), (_AT_MOST, min)):
        for word in words:
            if word in new and (word not in old or tightened(old[word], new[word]) != old[word]):
                yield f"{path}: {word} {old.get(word, 'absent')} became {new[word]}"
    if "enum" in new:
        gone = [value for value in old.get("enum", ()) if value not in new["enum"]]
        if gone:
            yield f"{path}: {', '.join(map(str, gone))} is not allowed any more"
        elif "enum" not in old:
            yield f"{path}: takes only some values now"
    for word in ("pattern", "format"):
        if new.get(word) is not None and new.get(word) != old.get(word):
            yield f"{path}: {word} {old.get(word)} became {new[word]}"
    if old.get("nullable") and not new.get("nullable"):
        yield f"{path}: null is not allowed any more"


def _lists(old: Schema, new: Schema, path: str) -> Iterator[str]:
    for word in (_LIST_TYPE, _LIST_KEYS, "x-kubernetes-map-type"):
        if old.get(word) != new.get(word):
            yield f"{path}: {word} {old.get(word)} became {new.get(word)}"


def _rules(old: Schema, new: Schema, path: str) -> Iterator[str]:
    """A new rule may refuse what is stored. The API server spares unchanged values from it, but not the objects made anew."""
    known = [*(rule["rule"] for rule in old.get("x-kubernetes-validations", ())), *LOOSER]
    for rule in new.get("x-kubernetes-validations", ()):
        if rule["rule"] not in known:
            yield f"{path}: a new rule: {rule['message']}"
    for word in _LOGIC:
        if word in new and new[word] != old.get(word):
            yield f"{path}: {word} changed"
