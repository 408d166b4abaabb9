"""The error tree, and the problems a refused resource is described with.

    SluicegateError
    ├── Refused            bad input or a forbidden act; carries every Problem at once        exit 2, HTTP 422
    │   └── Forbidden      the caller may not do this                                         exit 4, HTTP 403
    ├── NotFound           no such object                                                     exit 3, HTTP 404
    ├── Conflict           the object changed meanwhile, or exists already                    exit 5, HTTP 409
    └── Unavailable        something needed does not answer; may be tried again               exit 6, HTTP 503

Expected outcomes of a decision are values (Finding), never exceptions.
"""

from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with an input.

    path: where, e.g. ``spec.steps[1].inputs.order``. value: what was found, shortened. allowed: what
    would have been accepted. hint: what to do next, often a did-you-mean.
    """

    path: str
    message: str
    value: str | None = None
    allowed: str | None = None
    hint: str | None = None
    line: int | None = None
    source: str | None = field(default=None)  # file name, when read from one

    def __str__(self) -> str:
        """One line: where, what, value, allowed, hint."""
        line = f":{self.line}" if self.line else ""
        where = f"{self.source}{line}: " if self.source else ""
        parts = [f"{where}{self.path or '(document)'}: {self.message}"]
        if self.value is not None:
            parts.append(f"got {self.value}")
        if self.allowed is not None:
            parts.append(f"allowed: {self.allowed}")
        if self.hint is not None:
            parts.append(f"hint: {self.hint}")
        return "; ".join(parts)


class SluicegateError(Exception):
    """Root of everything that this product raises on purpose."""

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"


class Refused(SluicegateError):  # noqa: N818 - a name in the tree above
    """The input is wrong or the act is not allowed; nothing was applied."""

    exit_code = 2
    http_status = 422
    reason = "Invalid"

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class Forbidden(Refused):
    """The caller may not do this."""

    exit_code = 4
    http_status = 403
    reason = "Forbidden"


class NotFound(SluicegateError):  # noqa: N818 - a name in the tree above
    """No such object."""

    exit_code = 3
    http_status = 404
    reason = "NotFound"


class Conflict(SluicegateError):  # noqa: N818 - a name in the tree above
    """The object changed meanwhile, or exists already; read again and retry."""

    exit_code = 5
    http_status = 409
    reason = "Conflict"


class Unavailable(SluicegateError):  # noqa: N818 - a name in the tree above
    """Something needed does not answer; may be tried again after `retry_after` seconds."""

    exit_code = 6
    http_status = 503
    reason = "ServiceUnavailable"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)
