"""What a write does to an object: the rules of the Kubernetes API, pure.

Every store applies these functions to what it holds, so that they cannot differ in behaviour.
"""

from datetime import datetime
from typing import Any

from sluicegate.contracts.errors import Conflict, Problem, Refused
from sluicegate.operator.ports import Json, ref_of

_SYSTEM = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")


def stamp(at: datetime) -> str:
    """RFC 3339 in UTC, microseconds: two decisions of one second keep their order."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def is_deleting(item: Json) -> bool:
    """True once deletion was asked for."""
    return bool(item["metadata"].get("deletionTimestamp"))


def created(wanted: Json, *, uid: str, version: int, at: datetime) -> Json:
    """A new object: system fields are ours, status starts empty."""
    kept = {key: value for key, value in wanted["metadata"].items() if key not in _SYSTEM and value}
    metadata = {
        **kept,
        "namespace": wanted["metadata"].get("namespace", "default"),
        "uid": uid,
        "resourceVersion": str(version),
        "generation": 1,
        "creationTimestamp": stamp(at),
    }
    return {**{key: value for key, value in wanted.items() if key != "status"}, "metadata": metadata}


def updated(held: Json, wanted: Json, *, version: int) -> Json | None:
    """`held` with the spec and metadata of `wanted`; None when nothing changes. generation moves with spec."""
    expect_current(held, wanted)
    _refuse_new_finalizers(held, wanted)
    system = {key: held["metadata"][key] for key in _SYSTEM if key in held["metadata"]}
    kept = {key: value for key, value in wanted["metadata"].items() if key not in _SYSTEM and value}
    fresh: Json = {**wanted, "metadata": {**kept, "namespace": ref_of(held).namespace, **system}}
    fresh.pop("status", None)
    if "status" in held:
        fresh["status"] = held["status"]
    if fresh == held:
        return None
    moved = fresh.get("spec") != held.get("spec")
    generation = held["metadata"]["generation"] + (1 if moved else 0)
    fresh["metadata"] = {**fresh["metadata"], "resourceVersion": str(version), "generation": generation}
    return fresh


def with_status(held: Json, wanted: Json, *, version: int) -> Json | None:
    """`held` with the status of `wanted`; None when nothing changes."""
    expect_current(held, wanted)
    if wanted.get("status") == held.get("status"):
        return None
    return {
        **held,
        "status": wanted.get("status"),
        "metadata": {**held["metadata"], "resourceVersion": str(version)},
    }


def with_finalizer(held: Json, uid: str, name: str, *, present: bool) -> Json:
    """`held` with or without this one finalizer, made from exactly `held`. Conflict when it is another object."""
    if held["metadata"]["uid"] != uid:
        raise Conflict(f"{ref_of(held)} was deleted and made again meanwhile; read it again")
    others = [item for item in held["metadata"].get("finalizers") or () if item != name]
    return {**held, "metadata": {**held["metadata"], "finalizers": [*others, name] if present else others}}


def deleting(held: Json, *, version: int, at: datetime) -> Json | None:
    """`held` marked for deletion, None when it is marked already; callers remove it when no finalizer is left."""
    if is_deleting(held):
        return None
    metadata = {**held["metadata"], "resourceVersion": str(version), "deletionTimestamp": stamp(at)}
    metadata["generation"] = held["metadata"]["generation"] + 1
    return {**held, "metadata": metadata}


def is_removable(item: Json) -> bool:
    """True when deletion was asked for and nobody holds it back."""
    return is_deleting(item) and not item["metadata"].get("finalizers")


def owners_of(item: Json) -> tuple[str, ...]:
    """Uids of the owners."""
    return tuple(owner["uid"] for owner in item["metadata"].get("ownerReferences") or ())


def has_labels(item: Json, labels: Any) -> bool:
    """True when every wanted label is there."""
    have = item["metadata"].get("labels") or {}
    return all(have.get(key) == value for key, value in (labels or {}).items())


def expect_current(held: Json, wanted: Json) -> None:
    """Conflict when `wanted` was made from another state of the object, or from another object of that name."""
    metadata = wanted["metadata"]
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != held["metadata"]["uid"]:
        raise Conflict(f"{ref_of(held)} was deleted and made again meanwhile; read it again")
    if version and str(version) != held["metadata"]["resourceVersion"]:
        raise Conflict(
            f"{ref_of(held)} changed meanwhile (resourceVersion {version} is now "
            f"{held['metadata']['resourceVersion']}); read it again"
        )


def _refuse_new_finalizers(held: Json, wanted: Json) -> None:
    fresh = set(wanted["metadata"].get("finalizers") or ()) - set(held["metadata"].get("finalizers") or ())
    if is_deleting(held) and fresh:
        raise Refused(
            (
                Problem(
                    path="metadata.finalizers",
                    message="an object that is being deleted takes no new finalizer",
                    value=", ".join(sorted(fresh)),
                ),
            )
        )
