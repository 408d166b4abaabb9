"""Errors as the Status object of the Kubernetes API: one place."""

from sluicegate.contracts.errors import Problem, Refused, SluicegateError, Unavailable
from sluicegate.operator.ports import Json


def status_of(error: SluicegateError) -> Json:
    """The error, for a client: every problem at once, never a traceback."""
    details: Json = {}
    if isinstance(error, Refused):
        details["causes"] = [cause_of(problem) for problem in error.problems]
    if isinstance(error, Unavailable) and error.retry_after is not None:
        details["retryAfterSeconds"] = error.retry_after
    return status(error.http_status, error.reason, str(error), details)


def status(code: int, reason: str, message: str, details: Json | None = None) -> Json:
    """A failure."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details or {},
    }


def cause_of(problem: Problem) -> Json:
    """One entry of details.causes."""
    parts = {
        "reason": "FieldValueInvalid",
        "field": problem.path,
        "message": problem.message,
        "value": problem.value,
        "allowed": problem.allowed,
        "hint": problem.hint,
        "line": problem.line,
        "source": problem.source,
    }
    return {key: value for key, value in parts.items() if value is not None}
