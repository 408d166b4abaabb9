"""What the API server says when it does not do it, as errors of `contracts.errors`. Pure."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

from sluicegate.contracts.errors import (
    Conflict,
    Forbidden,
    NotFound,
    Problem,
    Refused,
    SluicegateError,
    Unavailable,
)
from sluicegate.operator.cluster.ports import NotServed
from sluicegate.operator.ports import Json
from sluicegate.operator.resources.store import Expired

_UNKNOWN_FIELD: Final = "<nil>"
_NOT_IN_SCHEMA: Final = "failed to create typed patch object"
_UNPROCESSABLE: Final = "the server rejected our request due to an error in our request"
"""The server's words for an apply that does not fit the schema (told as 500), and for a JSON patch that does not fit the object."""


def status_of(body: str | bytes | None) -> Json:
    """The Status that the server sent; empty when it sent something else (a proxy's page, plain text)."""
    try:
        found = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) and found.get("kind") == "Status" else {}


def code_of(code: int, status: Json) -> int:
    """The code that is meant: an apply that does not fit the schema comes as 500 and is a 422."""
    return 422 if code == 500 and str(status.get("message", "")).startswith(_NOT_IN_SCHEMA) else code


def error_of(code: int, status: Json, *, about: str, retry_after: float | None = None) -> SluicegateError:
    """The error for an answer. about: what was asked, for people."""
    message = str(status.get("message") or f"HTTP {code}")
    if code >= 500 or code == 429:
        return Unavailable(f"{about}: {message}", retry_after)
    make = _ERRORS.get(code, _refused)
    return make(status, message, about)


def no_answer(about: str, why: object) -> Unavailable:
    """Nobody answered, or the answer broke off."""
    return Unavailable(f"{about}: no answer from the API server: {why}")


def _problems(status: Json, message: str) -> tuple[Problem, ...]:
    """One per cause that names a field; otherwise the message, whole."""
    causes = (status.get("details") or {}).get("causes") or ()
    found = tuple(dict.fromkeys(_of_fields(causes)))
    return found or (Problem(path="", message=message),)


def _of_fields(causes: Any) -> Iterator[Problem]:
    for cause in causes:
        field = cause.get("field")
        if field:
            path = "" if field == _UNKNOWN_FIELD else field
            yield Problem(path=path, message=cause.get("message") or cause.get("reason") or "is not valid")


def _refused(status: Json, message: str, about: str) -> SluicegateError:  # noqa: ARG001 - one shape for the table
    return Refused(_problems(status, message))


def _invalid(status: Json, message: str, about: str) -> SluicegateError:
    """Two of them are Conflicts: a JSON patch that does not fit the object, and the uid of another object."""
    if message == _UNPROCESSABLE and not status.get("details"):
        return Conflict(f"{about}: the object is not as the patch expects it; read it again")
    problems = _problems(status, message)
    if any(problem.path == "metadata.uid" for problem in problems):
        return Conflict(f"{about}: the object was deleted and made again meanwhile; read it again")
    return Refused(problems)


def _forbidden(status: Json, message: str, about: str) -> SluicegateError:  # noqa: ARG001
    return Forbidden(_problems(status, message))


def _unauthorized(status: Json, message: str, about: str) -> SluicegateError:  # noqa: ARG001
    text = f"the API server does not accept the credentials ({message})"
    return Forbidden((Problem(path="", message=text, hint="is the token or the certificate expired?"),))


def _missing(status: Json, message: str, about: str) -> SluicegateError:
    """A kind that is not served is not an absent object: who does not ask for NotServed concludes nothing from it."""
    if not (status.get("details") or {}).get("name"):
        return NotServed(f"{about}: the API server does not serve this kind; are the CRDs installed?")
    return NotFound(message)


def _conflict(status: Json, message: str, about: str) -> SluicegateError:  # noqa: ARG001
    return Conflict(message)


def _expired(status: Json, message: str, about: str) -> SluicegateError:  # noqa: ARG001
    return Expired(message)


_ERRORS: Final[dict[int, Callable[[Json, str, str], SluicegateError]]] = {
    401: _unauthorized,
    403: _forbidden,
    404: _missing,
    409: _conflict,
    410: _expired,
    422: _invalid,
}
