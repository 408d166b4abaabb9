"""Plain HTTP: the inputs are the body, the answer's body is the output, the run is in headers."""

from typing import Any

import orjson

from sluicegate.contracts.resources.workflow import Component, Endpoint
from sluicegate.contracts.runs import Failure
from sluicegate.gateway.ports import HttpAnswer
from sluicegate.gateway.protocols.base import Answer, CallContext, CallError, Request, body_of, failure_of
from sluicegate.gateway.protocols.credentials import fixed_headers
from sluicegate.gateway.protocols.places import Place

MAX_QUOTED = 200


class HttpProtocol:
    """A component that takes its input as JSON and knows nothing of Sluicegate."""

    def __init__(self, component: Component, endpoint: Endpoint, place: Place) -> None:
        self.url = place.address(endpoint)
        self._headers = fixed_headers(endpoint, place)
        self._name = component.name

    def request(self, call: CallContext, inputs: Any) -> Request:
        """POST of the inputs. Raises CallError when they cannot be said in JSON."""
        headers = {
            **self._headers(),
            "Sluicegate-Run-Id": call.run_id,
            "Sluicegate-Step": call.step,
            "Sluicegate-Dry-Run": "true" if call.dry_run else "false",
            "Sluicegate-Deadline-Ms": str(call.deadline_ms),
            "Idempotency-Key": call.idempotency_key,
            "traceparent": call.traceparent,
        }
        return Request(self.url, headers, encode(inputs))

    def answer(self, answer: HttpAnswer) -> Answer:
        """The body as output; 2xx only. Raises CallError."""
        check_status(answer)
        return Answer(body_of(answer))


def encode(value: Any) -> bytes:
    """JSON bytes. Raises CallError for what JSON cannot carry (a whole number above 64 bits)."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as error:
        raise CallError(
            Failure.INVALID_INPUT, f"the input cannot be sent: {error}", retryable=False
        ) from error


def check_status(answer: HttpAnswer) -> None:
    """Raises CallError unless the status is 2xx; the message quotes the beginning of the body."""
    if 200 <= answer.status < 300:
        return
    # A refused credential may be quoted back to us; records never hold one.
    shown = b"" if answer.status in (401, 403) else answer.body[:MAX_QUOTED]
    quoted = f": {shown.decode('utf-8', 'replace')}" if shown else ""
    raise CallError(failure_of(answer.status), f"HTTP {answer.status}{quoted}")
