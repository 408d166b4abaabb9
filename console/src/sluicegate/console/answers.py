"""What an answer means: a Status of the API, or a problem document of the gateway, as the errors of contracts.errors."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from sluicegate.contracts.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Problem,
    Refused,
    SluicegateError,
    Unavailable,
)

_ERRORS: dict[int, type[SluicegateError]] = {
    HTTPStatus.UNAUTHORIZED: Forbidden,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Conflict,
    HTTPStatus.TOO_MANY_REQUESTS: Unavailable,
    HTTPStatus.BAD_GATEWAY: Unavailable,
    HTTPStatus.SERVICE_UNAVAILABLE: Unavailable,
    HTTPStatus.GATEWAY_TIMEOUT: Unavailable,
}


def decode(raw: bytes) -> Any:
    """JSON; anything else as the message of a Status."""
    try:
        return json.loads(raw) if raw else {}
    except ValueError:
        return {"message": raw[:500].decode("utf-8", "replace")}


def error_of(status: int, raw: bytes) -> SluicegateError:
    """The error that an answer of the gateway means: its problem document (RFC 9457)."""
    body = decode(raw)
    if not isinstance(body, dict):
        return status_error(status, body)
    message = body.get("detail") or body.get("title") or body.get("message")
    return status_error(status, {"message": message, "details": {"causes": body.get("problems") or ()}})


def status_error(status: int, body: Any) -> SluicegateError:
    """The error that the server means: its Status object says all problems at once."""
    body = body if isinstance(body, dict) else {"message": str(body)}
    message = str(body.get("message") or HTTPStatus(status).phrase)
    kind = _ERRORS.get(status, Refused if 400 <= status < 500 else SluicegateError)
    if issubclass(kind, Refused):
        causes = (body.get("details") or {}).get("causes") or ()
        return kind(tuple(problem(cause) for cause in causes) or (Problem(path="request", message=message),))
    return kind(message)


def problem(cause: Mapping[str, Any]) -> Problem:
    """One of details.causes."""
    texts = {
        key: str(cause[key]) for key in ("value", "allowed", "hint", "source") if cause.get(key) is not None
    }
    path = str(cause.get("field") or cause.get("path") or "")
    line = cause.get("line")
    return Problem(
        path=path, message=str(cause.get("message", "")), line=int(line) if line else None, **texts
    )
