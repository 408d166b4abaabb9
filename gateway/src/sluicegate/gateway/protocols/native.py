"""The project's own envelope: one JSON object each way (research: contracts-lineage-dataplane.md section 6)."""

from typing import Any

from sluicegate.contracts.digest import digest_of
from sluicegate.contracts.resources.workflow import Component, Endpoint
from sluicegate.contracts.runs import Failure
from sluicegate.gateway.ports import HttpAnswer
from sluicegate.gateway.protocols.base import Answer, CallContext, CallError, Request, body_of
from sluicegate.gateway.protocols.credentials import fixed_headers
from sluicegate.gateway.protocols.http import check_status, encode
from sluicegate.gateway.protocols.places import Place

PROTOCOL_VERSION = "1"

REQUEST_FIELDS = {
    "protocol_version": "Of this envelope.",
    "run_id": "The run, the same for all arms and steps.",
    "step_id": "Name of the step.",
    "attempt": "1, or higher when it is tried again.",
    "idempotency_key": "The same for every attempt of a step in one arm; a stand-in has its own.",
    "deadline_ms": "Milliseconds that are left of the run's time.",
    "stage": "`canary`, `shadow`, `controlled` or `full` when the run is part of a rollout, else null.",
    "dry_run": "True in a mirrored arm: nothing outside may change.",
    "contract": "Name, version and digest of the contract that the gateway holds the component to.",
    "trace": "`traceparent` (W3C).",
    "input": "What the component is asked.",
    "context_refs": "Empty in this version.",
}
"""What is sent; docs/reference/http-api.md is made of it."""

ANSWER_FIELDS = {
    "status": "`ok`; `fallback`: an output, but a degraded one; `error`; `rejected` or `input_required`: not tried again.",
    "output": "With `ok` and `fallback`; must meet the output contract.",
    "fallback": "With `fallback`: `{reason}`.",
    "error": "With the others: `{code, message, retryable, retry_after_ms}`; `code` may be a failure of [errors](errors.md).",
    "usage": "Kept with the attempt; `cost` counts against the mirrors' budget.",
}
"""What is understood of an answer; unknown fields are ignored."""


class NativeProtocol:
    """A component that speaks the envelope."""

    def __init__(self, component: Component, endpoint: Endpoint, place: Place) -> None:
        self.url = place.address(endpoint)
        self._headers = fixed_headers(endpoint, place)
        contract = component.contract
        self._contract = {
            "name": component.name,
            "version": component.version,
            "digest": digest_of({"input": contract.input, "output": contract.output}),
        }

    def request(self, call: CallContext, inputs: Any) -> Request:
        """The envelope. Raises CallError when the inputs cannot be said in JSON."""
        envelope = {
            "protocol_version": PROTOCOL_VERSION,
            "run_id": call.run_id,
            "step_id": call.step,
            "attempt": call.attempt,
            "idempotency_key": call.idempotency_key,
            "deadline_ms": call.deadline_ms,
            "stage": call.stage,
            "dry_run": call.dry_run,
            "contract": self._contract,
            "trace": {"traceparent": call.traceparent},
            "input": inputs,
            "context_refs": [],
        }
        return Request(self.url, self._headers(), encode(envelope))

    def answer(self, answer: HttpAnswer) -> Answer:
        """By `status`; an error envelope counts with any HTTP status. Raises CallError."""
        try:
            data = body_of(answer)
        except CallError:
            check_status(answer)  # a proxy's error page: its status says more
            raise
        status = data.get("status") if isinstance(data, dict) else None
        if status in ("ok", "fallback"):
            check_status(answer)
            return _output(data, status)
        if status in _NOT_OK:
            raise _failed(data, status)
        check_status(answer)
        raise CallError(
            Failure.FAULT, f"the answer's status is {status!r}, not one of ok, fallback, {', '.join(_NOT_OK)}"
        )


def _output(data: dict[str, Any], status: str) -> Answer:
    if "output" not in data:
        raise CallError(Failure.FAULT, f"the answer has status {status} and no output")
    usage = data.get("usage")
    fallback = None
    if status == "fallback":
        details = data.get("fallback")
        fallback = str(details.get("reason", "")) if isinstance(details, dict) else ""
    return Answer(data["output"], fallback, usage if isinstance(usage, dict) else None)


_NOT_OK = {
    "error": (Failure.FAULT, "the component failed"),
    "input_required": (Failure.REJECTED, "the component asks for more input"),
    "rejected": (Failure.REJECTED, "the component rejected the input"),
}
_CODES = {item.value: item for item in Failure}


def _failed(data: dict[str, Any], status: str) -> CallError:
    failure, message = _NOT_OK[status]
    error = data.get("error")
    details = error if isinstance(error, dict) else {}
    after = details.get("retry_after_ms")
    return CallError(
        _CODES.get(str(details.get("code")), failure) if status == "error" else failure,
        str(details.get("message", message))[:500],
        retryable=status == "error" and details.get("retryable") is not False,
        retry_after=after / 1000 if isinstance(after, int | float) and 0 <= after < 1e9 else None,
    )
