"""Answers of an API server as errors for people. Pure.

| the server says | here |
|---|---|
| a CRD's schema or rule, all causes at once | Refused, one Problem each: path, value, allowed |
| a ValidatingAdmissionPolicy or a webhook denies | Forbidden or Refused, as it says, with its own sentences |
| 401 | Forbidden: log in again |
| 404 of a whole kind | NotFound: install the chart |
| 409 of fields that another manager owns | Conflict, with the manager and the fields |
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sluicegate.console.answers import problem, status_error
from sluicegate.contracts.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Problem,
    Refused,
    SluicegateError,
)

POLICY = re.compile(
    r"ValidatingAdmissionPolicy '(?P<name>[^']+)' with binding '[^']+' denied request: (?P<text>.*)",
    re.DOTALL,
)
WEBHOOK = re.compile(r"admission webhook \"(?P<name>[^\"]+)\" denied the request: (?P<text>.*)", re.DOTALL)
_INVALID = re.compile(
    r"^(?P<head>Invalid value|Unsupported value|Duplicate value|Too many|Too long|Required value|Forbidden)"
    r"(?:: (?P<value>\"(?:[^\"\\]|\\.)*\"|-?[\d.]+|\[.*?\]|\{.*?\}|null|true|false))?(?:: (?P<rest>.*))?$",
    re.DOTALL,
)
_SUPPORTED = re.compile(r"^supported values: (?P<allowed>.*)$", re.DOTALL)
_IN_BODY = re.compile(r"^\S+ in body (?P<rest>.*)$", re.DOTALL)
_PARTS = re.compile(r"; (got|allowed|hint): ?|; (got) ")
_BETWEEN = re.compile(r"\n|; (?=(?:spec|metadata|status|kind|data)[^\s:;]*(?:\[[^\]]*\])?: )")
"""Between two problems of one text."""
_OWNED = re.compile(r'conflict with "(?P<manager>[^"]+)"')
_NO_KIND = "the server could not find the requested resource"
INSTALL = "the kinds of sluicegate.io are not installed in this cluster; install the chart, which brings them: see docs/guides/operate-on-kubernetes.md"


def error(status: int, body: Any, *, user: str = "", context: str = "") -> SluicegateError:
    """The error that a Status means."""
    body = body if isinstance(body, dict) else {"message": str(body)}
    message = str(body.get("message") or "")
    if status == 401:
        text = f"the server does not accept the credentials of user {user or '(none)'} in context {context}"
        hint = "they may have expired: log in again, or choose another --context"
        return Forbidden((Problem(path="credentials", message=text, hint=hint),))
    if status == 404 and (_NO_KIND in message or not body.get("details", {}).get("name")):
        return NotFound(message if "namespaces" in message else INSTALL)
    if status == 409 and (owned := list(_owners(body))):
        return Conflict(
            "other programs own fields with other values:\n"
            + "\n".join(f"  {text}" for text in owned)
            + "\nLeave these fields out of the file, or take them with --force-conflicts."
        )
    if status in {403, 422, 400} and (found := tuple(_problems(body, message))):
        return (Forbidden if status == 403 else Refused)(found)
    return status_error(status, body)


def _causes(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list((body.get("details") or {}).get("causes") or ())


def _problems(body: Mapping[str, Any], message: str) -> Iterator[Problem]:
    for form, prefix in ((POLICY, "policy"), (WEBHOOK, "webhook")):
        if found := form.search(message):
            causes = [cause for cause in _causes(body) if not form.search(str(cause.get("message") or ""))]
            if causes:
                yield from (_problem(cause) for cause in causes)
            else:
                yield from _told(found["text"], f"{prefix} {found['name']}")
            return
    yield from (_problem(cause) for cause in _causes(body))


def _told(text: str, path: str) -> Iterator[Problem]:
    """A denial in one text: a problem per line or joined by `; `, in the words of Problem.__str__ where it is in them."""
    for line in filter(None, (line.strip() for line in _BETWEEN.split(text))):
        where, colon, rest = line.partition(": ")
        is_path = bool(colon) and re.fullmatch(r"[A-Za-z][\w.\[\]/*-]*|\(document\)", where) is not None
        yield parted(where if is_path else path, rest if is_path else line)


def parted(path: str, text: str) -> Problem:
    """A message with `; got …; allowed: …; hint: …` behind it, apart."""
    pieces = _PARTS.split(text)
    found = {}
    for index in range(1, len(pieces) - 2, 3):
        found[pieces[index] or pieces[index + 1]] = pieces[index + 2].strip()
    return Problem(
        path=path,
        message=pieces[0],
        value=found.get("got"),
        allowed=found.get("allowed"),
        hint=found.get("hint"),
    )


def _problem(cause: Mapping[str, Any]) -> Problem:
    """A field error of the API server: `Invalid value: "x": spec.y in body should be …`."""
    text = str(cause.get("message") or "")
    match = _INVALID.match(text)
    path = str(cause.get("field") or "").removeprefix("<nil>")
    if match is None:
        told = parted(path, text)
        return problem(cause) if told.message == text else told
    rest = match["rest"] or ""
    if body := _IN_BODY.match(rest):
        rest = body["rest"]
    if supported := _SUPPORTED.match(rest):
        return Problem(
            path=path,
            message="not one of the values",
            value=match["value"],
            allowed=supported["allowed"].replace('"', ""),
        )
    value = match["value"] if match["value"] not in {None, '""', "null"} else None
    told = parted(path, rest or match["head"].lower())
    return Problem(
        path=path,
        message=told.message,
        value=told.value or (value[:80] if value else None),
        allowed=told.allowed,
        hint=told.hint,
    )


def _owners(body: Mapping[str, Any]) -> Iterator[str]:
    for cause in _causes(body):
        if cause.get("reason") == "FieldManagerConflict":
            found = _OWNED.search(str(cause.get("message") or ""))
            yield f"{cause.get('field')}: {found['manager'] if found else cause.get('message')}"
