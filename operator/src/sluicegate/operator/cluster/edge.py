"""Between the objects of the API server and those of the product: what models do not know stays at this edge. Pure."""

from typing import Any, Final

from sluicegate.operator.cluster.ports import Api
from sluicegate.operator.ports import Json

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""kubectl's; the cache does not hold it, and no write of ours may take it away."""
_SYSTEM: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp")
_KNOWN: Final = (
    "name",
    "namespace",
    *_SYSTEM,
    "finalizers",
    "labels",
    "annotations",
    "ownerReferences",
)
_OWNER: Final = ("kind", "name", "uid")


def inward(item: Json) -> Json:
    """As the models know it: metadata of `contracts.Metadata`, owners by kind, name and uid."""
    metadata = {key: item["metadata"][key] for key in _KNOWN if key in item["metadata"]}
    if "ownerReferences" in metadata:
        metadata["ownerReferences"] = [
            {key: owner[key] for key in _OWNER} for owner in metadata["ownerReferences"] or ()
        ]
    return {**item, "metadata": metadata}


def created(item: Json, api: Api) -> Json:
    """For POST: system fields and status are the server's. A lone owner is the controller."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in _SYSTEM and value}
    if "ownerReferences" in metadata:
        metadata["ownerReferences"] = _owners(metadata["ownerReferences"], {}, api)
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": metadata}


def updated(held: Json, wanted: Json, api: Api) -> Json:
    """For PUT: `held` (as the server has it) with the content and the metadata of `wanted`; what the product cannot see stays."""
    metadata = {key: value for key, value in held["metadata"].items() if key not in _KNOWN or key in _SYSTEM}
    metadata.pop("managedFields", None)
    wanted_metadata = {
        key: value for key, value in wanted["metadata"].items() if key not in _SYSTEM and value
    }
    metadata.update(wanted_metadata, namespace=held["metadata"]["namespace"])
    if hidden := _hidden(held):
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **hidden}
    if "ownerReferences" in metadata:
        known = {owner["uid"]: owner for owner in held["metadata"].get("ownerReferences") or ()}
        metadata["ownerReferences"] = _owners(metadata["ownerReferences"], known, api)
    fresh = {key: value for key, value in wanted.items() if key != "status"} | {"metadata": metadata}
    return fresh | ({"status": held["status"]} if "status" in held else {})


def _hidden(held: Json) -> dict[str, str]:
    annotations = held["metadata"].get("annotations") or {}
    return {key: value for key, value in annotations.items() if key == LAST_APPLIED}


def _owners(owners: Any, known: dict[str, Json], api: Api) -> list[Json]:
    return [
        known.get(owner["uid"])
        or {
            "apiVersion": api.api_version,
            "controller": len(owners) == 1,
            "blockOwnerDeletion": False,
            **owner,
        }
        for owner in owners
    ]
