"""AdmissionReview (admission.k8s.io/v1) as data: read strictly, answered completely."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources import KINDS
from sluicegate.contracts.resources.base import GROUP
from sluicegate.operator.api.statuses import cause_of
from sluicegate.operator.ports import Json

VERSION: Final = "admission.k8s.io/v1"
LONGEST_WARNING: Final = 250
"""Characters; the API server cuts longer ones, and all of them together at 4096."""
_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE"})


class Malformed(Exception):  # noqa: N818 - of a request
    """Not an AdmissionReview that this path takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who wants to turn `old` into `new`; either may be None."""

    uid: str
    kind: str
    operation: str
    subresource: str
    caller: str
    namespace: str
    user: Json
    old: Json | None
    new: Json | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """code 200: allowed. patch: JSON patch operations."""

    code: int = 200
    reason: str = ""
    message: str = ""
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[Json, ...] = ()


def read(body: bytes, kind: str) -> Request:
    """The request for objects of `kind`. Malformed says what is wrong."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"the body is not JSON: {error}") from error
    if not isinstance(review, dict) or review.get("kind") != "AdmissionReview":
        raise Malformed("the body is no AdmissionReview")
    if review.get("apiVersion") != VERSION:
        raise Malformed(f"apiVersion is {review.get('apiVersion')!r:.80}, taken is {VERSION}")
    request = _mapping(review, "request")
    _require_resource(_mapping(request, "resource"), kind)
    operation = _text(request, "operation")
    if operation not in _OPERATIONS:
        raise Malformed(f"request.operation is {operation!r:.80}, taken are {', '.join(sorted(_OPERATIONS))}")
    old, new = _object(request, "oldObject", kind), _object(request, "object", kind)
    if (new is None) != (operation == "DELETE") or (old is None) != (operation == "CREATE"):
        raise Malformed(f"object and oldObject do not fit {operation}")
    user = _mapping(request, "userInfo")
    return Request(
        uid=_text(request, "uid"),
        kind=kind,
        operation=operation,
        subresource=str(request.get("subResource") or ""),
        caller=_text(user, "username"),
        namespace=str(request.get("namespace") or ""),
        user=user,
        old=old,
        new=new,
    )


def answered(request: Request, answer: Answer) -> Json:
    """The AdmissionReview to send."""
    allowed = answer.code == 200
    response: Json = {"uid": request.uid, "allowed": allowed}
    if answer.warnings:
        response["warnings"] = [_short(warning) for warning in answer.warnings]
    if not allowed:
        response["status"] = _status(request, answer)
    elif answer.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(answer.patch)).decode()
    return {"apiVersion": VERSION, "kind": "AdmissionReview", "response": response}


def _status(request: Request, answer: Answer) -> Json:
    subject = request.new or request.old or {}
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "code": answer.code,
        "reason": answer.reason,
        "message": answer.message,
        "details": {
            "group": GROUP,
            "kind": KINDS[request.kind].plural,
            "name": subject.get("metadata", {}).get("name", ""),
            "causes": [_cause(problem) for problem in answer.problems],
        },
    }


def _cause(problem: Problem) -> Json:
    """A StatusCause has three fields; the rest of a problem goes into its message."""
    parts = cause_of(problem)
    more = [f"{name} {parts[key]}" for key, name in _MORE.items() if key in parts]
    return {
        "reason": parts["reason"],
        "field": problem.path,
        "message": "; ".join([problem.message, *more]),
    }


_MORE: Final = {"value": "got", "allowed": "allowed:", "hint": "hint:"}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_WARNING else f"{line[: LONGEST_WARNING - 1]}…"


def _require_resource(resource: Mapping[str, Any], kind: str) -> None:
    wanted = (GROUP, KINDS[kind].plural)
    found = (resource.get("group"), resource.get("resource"))
    if found != wanted:
        raise Malformed(f"request.resource is {found!r:.120}, this path takes {'/'.join(wanted)}")


def _object(request: Mapping[str, Any], name: str, kind: str) -> Json | None:
    item = request.get(name)
    if item is None:
        return None
    metadata = item.get("metadata") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(metadata, dict) or item.get("kind") != kind:
        raise Malformed(f"request.{name} is no {kind} with metadata")
    return item


def _mapping(item: Mapping[str, Any], name: str) -> Json:
    found = item.get(name)
    if not isinstance(found, dict):
        raise Malformed(f"{name} is missing")
    return found


def _text(item: Mapping[str, Any], name: str) -> str:
    found = item.get(name)
    if not isinstance(found, str) or not found:
        raise Malformed(f"{name} is missing")
    return found
