"""What the API fills in for people: who wrote it. Pure; a JSON patch. The policies demand the same, so nothing here is trusted."""

from collections.abc import Iterator
from typing import Final

from sluicegate.contracts.resources.base import API_VERSION, CHANGED_BY
from sluicegate.operator.ports import Json

_ANNOTATIONS: Final = "/metadata/annotations"
_ACCOUNT: Final = "system:serviceaccount:"


def author_patch(old: Json | None, new: Json, caller: str, *, attests: bool = False) -> Iterator[Json]:
    """An AgentWorkflow: a new or changed spec is the caller's, unless the caller named somebody.

    attests: `is_left` was asked, and the caller may. A spec that stays keeps its author, also when the caller's manifest does not know
    of it.
    """
    named = _author(new)
    wanted = named
    if not _is_changed(old, new):
        wanted = named or (None if old is None else _author(old))
    elif not attests and named in {None, None if old is None else _author(old)}:
        wanted = caller
    if wanted is not None and wanted != named:
        yield from _annotated(new, wanted)


def is_left(old: Json | None, new: Json, caller: str) -> bool:
    """Whether it matters if the caller may attest. Who may speaks for others: a name that stands there from before is
    meant; and a bot that names nobody is not the author, so that it has to name one. A person is, whatever else they may.
    """
    named = _author(new)
    if not _is_changed(old, new):
        return False
    if named is None:
        return caller.startswith(_ACCOUNT)
    return old is not None and named == _author(old) and named != caller


def _is_changed(old: Json | None, new: Json) -> bool:
    return old is None or old.get("spec") != new.get("spec")


def decision_patch(new: Json, caller: str) -> Iterator[Json]:
    """A new Decision: the caller decides, and it belongs to its target."""
    spec = new.get("spec")
    if not isinstance(spec, dict):
        return
    if not spec.get("decidedBy"):
        yield {"op": "add", "path": "/spec/decidedBy", "value": caller}
    target = spec.get("target")
    owners = new["metadata"].get("ownerReferences")
    if not owners and isinstance(target, dict) and target.get("name") and target.get("uid"):
        owner = {
            "apiVersion": API_VERSION,
            "kind": target.get("kind") or "WorkflowRollout",
            "name": target["name"],
            "uid": target["uid"],
        }
        yield {"op": "add", "path": "/metadata/ownerReferences", "value": [owner]}


def _author(item: Json) -> str | None:
    named = (item["metadata"].get("annotations") or {}).get(CHANGED_BY)
    return named or None


def _annotated(item: Json, value: str) -> Iterator[Json]:
    if not item["metadata"].get("annotations"):
        yield {"op": "add", "path": _ANNOTATIONS, "value": {CHANGED_BY: value}}
    else:
        yield {"op": "add", "path": f"{_ANNOTATIONS}/{CHANGED_BY.replace('/', '~1')}", "value": value}
