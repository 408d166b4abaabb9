"""OpenAI chat completions, as spoken by vLLM, providers and gateways of models.

The inputs become one user message (their JSON), or are sent as they are when they have `messages`. When the output
contract describes an object, it is asked for by `response_format` and the content is parsed; otherwise the output is
{"content": text}, with `tool_calls` when the model made some.
"""

from typing import Any

from sluicegate.contracts.resources.workflow import Component, Endpoint
from sluicegate.contracts.runs import Failure
from sluicegate.gateway.jsonio import JsonError, parse
from sluicegate.gateway.ports import HttpAnswer
from sluicegate.gateway.protocols.base import Answer, CallContext, CallError, Request, body_of
from sluicegate.gateway.protocols.credentials import fixed_headers
from sluicegate.gateway.protocols.http import check_status, encode
from sluicegate.gateway.protocols.places import Place


class OpenAIProtocol:
    """One model behind an OpenAI-compatible server."""

    def __init__(self, component: Component, endpoint: Endpoint, place: Place) -> None:
        self.url = place.address(endpoint).rstrip("/") + "/chat/completions"
        self._headers = fixed_headers(endpoint, place)
        self._system = [{"role": "system", "content": endpoint.prompt}] if endpoint.prompt else []
        schema = component.contract.output
        self._wants_object = isinstance(schema, dict) and (
            "properties" in schema or schema.get("type") == "object"
        )
        self._fixed: dict[str, Any] = {**endpoint.parameters, "model": endpoint.model, "stream": False}
        if self._wants_object and "response_format" not in endpoint.parameters:
            described = {"name": component.name.replace("-", "_"), "schema": schema}
            self._fixed["response_format"] = {"type": "json_schema", "json_schema": described}

    def request(self, call: CallContext, inputs: Any) -> Request:
        """A chat completion. Raises CallError when the inputs cannot be said in JSON."""
        given = inputs.get("messages") if isinstance(inputs, dict) else None
        messages = (
            given if isinstance(given, list) else [{"role": "user", "content": encode(inputs).decode()}]
        )
        headers = {
            **self._headers(),
            "traceparent": call.traceparent,
            "Idempotency-Key": call.idempotency_key,
        }
        return Request(self.url, headers, encode({**self._fixed, "messages": [*self._system, *messages]}))

    def answer(self, answer: HttpAnswer) -> Answer:
        """The first choice. Raises CallError: refusals are Rejected, unusable content is InvalidOutput."""
        check_status(answer)
        data = body_of(answer)
        try:
            choice = data["choices"][0]
            message = choice["message"]
            content, refusal = message.get("content"), message.get("refusal")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise CallError(Failure.FAULT, "the answer is not a chat completion") from error
        usage = data.get("usage")
        reason = choice.get("finish_reason")
        if refusal or reason == "content_filter":
            raise CallError(
                Failure.REJECTED, f"the model refused: {refusal or reason}"[:500], retryable=False
            )
        output = self._parsed(content, reason) if self._wants_object else _as_text(message, content)
        return Answer(output, None, usage if isinstance(usage, dict) else None)

    def _parsed(self, content: Any, reason: Any) -> Any:
        cut = "; it was cut off at the token limit" if reason == "length" else ""
        if not isinstance(content, str):
            raise CallError(Failure.INVALID_OUTPUT, f"the model gave no content{cut}")
        try:
            return parse(_unfenced(content).encode())
        except (JsonError, UnicodeEncodeError) as error:
            raise CallError(Failure.INVALID_OUTPUT, f"the content is not JSON: {error}{cut}") from error


def _as_text(message: dict[str, Any], content: Any) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if not isinstance(content, str) and not calls:
        raise CallError(Failure.INVALID_OUTPUT, "the model gave no content")
    output: dict[str, Any] = {"content": content if isinstance(content, str) else ""}
    return output | {"tool_calls": calls} if calls else output


def _unfenced(text: str) -> str:
    """Without a Markdown fence around the whole text, which models add although they are told not to."""
    stripped = text.strip()
    if not (stripped.startswith("```") and stripped.endswith("```") and "\n" in stripped):
        return stripped
    return stripped[stripped.index("\n") + 1 : -3].strip()
