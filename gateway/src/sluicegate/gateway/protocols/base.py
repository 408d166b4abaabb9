"""What all protocols share: the request of a call, its answer, and how an answer says that it failed."""

from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, Protocol

from sluicegate.contracts.runs import Arm, Failure
from sluicegate.gateway.jsonio import JsonError, parse
from sluicegate.gateway.ports import HttpAnswer

_STATUS = {
    408: Failure.TIMEOUT,
    429: Failure.RATE_LIMITED,
    502: Failure.UNAVAILABLE,
    503: Failure.UNAVAILABLE,
    504: Failure.UNAVAILABLE,
}


@dataclass(slots=True, kw_only=True)
class CallContext:
    """One call of a run, as components are told of it."""

    run_id: str
    step: str
    arm: Arm
    attempt: int
    deadline_ms: int  # what is left of the run's budget
    stage: str | None
    dry_run: bool  # a mirrored arm: nothing outside may change
    traceparent: str
    stand_in: str | None = None  # name@version when it is not the step's own component

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of a step in one arm; a stand-in may be at the same address, so it has its own."""
        key = f"{self.run_id}:{self.step}:{self.arm.value}"
        return key if self.stand_in is None else f"{key}:{self.stand_in}"


class Request(NamedTuple):
    """What is posted."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """A component's output. fallback: the component says that it degraded, and why. usage: as reported."""

    output: Any
    fallback: str | None = None
    usage: dict[str, Any] | None = None


class CallError(Exception):
    """No usable output. retryable: False when the component says not to try again. retry_after: seconds."""

    def __init__(
        self, failure: Failure, message: str, *, retryable: bool = True, retry_after: float | None = None
    ) -> None:
        self.failure = failure
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after
        super().__init__(message)


class ComponentProtocol(Protocol):
    """How one component is called; made once per plan."""

    url: str

    def request(self, call: CallContext, inputs: Any) -> Request:
        """What to post. Raises CallError when it cannot be said in JSON."""
        ...

    def answer(self, answer: HttpAnswer) -> Answer:
        """The output. Raises CallError."""
        ...


def body_of(answer: HttpAnswer) -> Any:
    """The JSON of an answer. Raises CallError."""
    try:
        return parse(answer.body)
    except JsonError as error:
        raise CallError(Failure.FAULT, f"the answer is not JSON: {error}") from error


def failure_of(status: int) -> Failure:
    """What an HTTP status other than 2xx means."""
    known = _STATUS.get(status)
    if known is not None:
        return known
    return Failure.REJECTED if 400 <= status < 500 else Failure.FAULT


def queue_ms(header: str | None) -> float | None:
    """The `dur` of `queue` in a Server-Timing header (W3C), milliseconds."""
    if header is None:
        return None
    for metric in header.split(","):
        name, _, rest = metric.strip().partition(";")
        if name.strip().lower() != "queue":
            continue
        for parameter in rest.split(";"):
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "dur":
                return _number(value.strip().strip('"'))
    return None


def retry_after_seconds(header: str | None, now: datetime) -> float | None:
    """Retry-After (RFC 9110 §10.2.3): seconds, or an HTTP date."""
    if header is None:
        return None
    if header.isascii() and header.strip().isdigit():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (at - now).total_seconds()) if at.tzinfo is not None else None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value < 1e9 else None
