"""Errors as callers see them: application/problem+json (RFC 9457) with `runId` and every problem at once."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import orjson

from sluicegate.contracts.runs import Failure, Violation

Headers = list[tuple[bytes, bytes]]

_PROBLEM_JSON = (b"content-type", b"application/problem+json")

FAILURE_STATUS: dict[Failure, int] = {
    Failure.TIMEOUT: 504,
    Failure.DEADLINE: 504,
    Failure.UNAVAILABLE: 503,
    Failure.CIRCUIT_OPEN: 503,
    Failure.RATE_LIMITED: 503,
    Failure.EXPRESSION: 500,
    Failure.INVALID_INPUT: 500,
}
"""What the caller of a failed run gets; for the others OTHER_STATUS: a component answered what cannot be used."""

OTHER_STATUS = 502


@dataclass(slots=True)
class Response:
    """A whole answer."""

    status: int
    body: bytes
    headers: Headers = field(default_factory=list)


def problem(
    status: int,
    detail: str,
    *,
    run_id: str | None = None,
    problems: Iterable[dict[str, Any]] = (),
    **more: Any,
) -> Response:
    """An error answer. Keyword arguments become members; None is left out."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    body |= {name: value for name, value in more.items() if value is not None}
    headers = [_PROBLEM_JSON]
    if run_id is not None:
        body["runId"] = run_id
        headers.append((b"sluicegate-run-id", run_id.encode()))
    body["problems"] = list(problems)
    return Response(status, orjson.dumps(body), headers)


def failed_run(run_id: str, failure: Failure, detail: str, violations: Iterable[Violation]) -> Response:
    """The answer of a run that failed."""
    return problem(
        FAILURE_STATUS.get(failure, OTHER_STATUS),
        detail,
        run_id=run_id,
        problems=violations_json(violations),
        reason=failure.value,
    )


def violations_json(violations: Iterable[Violation]) -> list[dict[str, Any]]:
    """Violations as `problems`."""
    return [{"path": item.path, "code": item.code, "message": item.message} for item in violations]
