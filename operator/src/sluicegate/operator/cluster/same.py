"""Whether an object is what a write of ours made: asked when the answer to that write was lost. Pure."""

from typing import Any, Final

from sluicegate.operator.ports import Json

_SYSTEM: Final = frozenset(
    {"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "namespace"}
)


def was_made_from(held: Json, wanted: Json, manager: str) -> bool:
    """True when `manager` made `held` and everything wanted is in it; status apart, defaults may have come on top."""
    managers = held["metadata"].get("managedFields") or ()
    ours = any(entry.get("manager") == manager for entry in managers)
    content = {key: value for key, value in wanted.items() if key not in {"metadata", "status", "apiVersion"}}
    metadata = {key: value for key, value in wanted["metadata"].items() if key not in _SYSTEM and value}
    return ours and _covers(held, content) and _covers(held["metadata"], metadata)


def are_equal(one: Json, other: Json) -> bool:
    """True when they differ at most in when fields were managed, and in their resourceVersion."""
    return _timeless(one) == _timeless(other)


def _timeless(item: Json) -> Json:
    metadata = {key: value for key, value in item["metadata"].items() if key != "resourceVersion"}
    managed = metadata.get("managedFields") or ()
    metadata["managedFields"] = [
        {key: value for key, value in one.items() if key != "time"} for one in managed
    ]
    return {**item, "metadata": metadata}


def _covers(held: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(held, dict):
        return all(key in held and _covers(held[key], value) for key, value in wanted.items())
    if isinstance(wanted, list | tuple) and isinstance(held, list):
        return len(held) == len(wanted) and all(map(_covers, held, wanted))
    return bool(held == wanted)
