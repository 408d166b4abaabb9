"""What goes over the wire to a component, and how its answers are read: against real servers."""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from aiohttp import web

from sluicegate.contracts.runs import Failure
from sluicegate.gateway.protocols.base import queue_ms, retry_after_seconds
from tests.gateway.components import (
    Answer,
    Harness,
    component,
    harness,
    serving,
    spec_of,
    stable_plan,
    status,
)

OBJECT = {"type": "object", "required": ["intent"], "properties": {"intent": {"type": "string"}}}


def _always(answer: Any, _: dict[str, Any]) -> Any:
    return answer


async def _step(answer: Answer, value: Any = None, **part: Any) -> tuple[dict[str, Any], Any, Harness]:
    """One run of one component: (its step record, its first call, the harness)."""
    async with serving(answer) as server:
        spec = spec_of(component(server.url, **part))
        async with harness(stable_plan(spec)) as gate:
            await gate.run({"q": "hi"} if value is None else value, traceparent=PARENT)
            return gate.spool.of("run")[0]["steps"][0], server.calls[0] if server.calls else None, gate


PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_http_posts_the_inputs_with_the_run_in_headers() -> None:
    step, call, gate = await _step(lambda _: {"intent": "x"}, endpoint={"headers": {"X-Team": "shop"}})
    run = gate.spool.of("run")[0]
    assert call.body == {"q": "hi"}
    assert call.headers["sluicegate-run-id"] == run["run_id"]
    assert call.headers["sluicegate-step"] == "agent"
    assert call.headers["sluicegate-dry-run"] == "false"
    assert call.headers["idempotency-key"] == f"{run['run_id']}:agent:stable"
    assert 10_000 < int(call.headers["sluicegate-deadline-ms"]) <= 30_000
    assert call.headers["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert call.headers["traceparent"] != PARENT
    assert call.headers["x-team"] == "shop"
    assert step["response"] == {"intent": "x"}
    assert run["trace_id"] == "0af7651916cd43dd8448eb211c80319c"


async def test_native_sends_the_envelope() -> None:
    step, call, gate = await _step(
        lambda _: {"status": "ok", "output": 7, "usage": {"cost": 2}}, protocol="Native"
    )
    run_id = gate.spool.of("run")[0]["run_id"]
    body = call.body
    assert 10_000 < body.pop("deadline_ms") <= 30_000
    assert body.pop("trace")["traceparent"].startswith("00-")
    digest = body["contract"].pop("digest")
    # Oracle: printf '{"input":true,"output":true}' | sha256sum
    assert digest == "sha256:3482fc76ead287484b9796e717a49558406fa1254d386acbdbc584275cb4e111"
    assert body == {
        "protocol_version": "1",
        "run_id": run_id,
        "step_id": "agent",
        "attempt": 1,
        "idempotency_key": f"{run_id}:agent:stable",
        "stage": None,
        "dry_run": False,
        "contract": {"name": "agent", "version": "1"},
        "input": {"q": "hi"},
        "context_refs": [],
    }
    assert step["response"] == 7
    assert step["attempts"][0]["usage"] == {"cost": 2}


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ({"status": "error", "error": {"message": "m"}}, Failure.FAULT),
        ({"status": "error", "error": {"code": "RateLimited"}}, Failure.RATE_LIMITED),
        ({"status": "error"}, Failure.FAULT),
        ({"status": "input_required"}, Failure.REJECTED),
        ({"status": "rejected", "error": {"message": "no"}}, Failure.REJECTED),
        ({"status": "ok"}, Failure.FAULT),  # no output
        ({"status": "fine", "output": 1}, Failure.FAULT),
        ({"output": 1}, Failure.FAULT),
        ([1], Failure.FAULT),
        (None, Failure.FAULT),
    ],
)
async def test_native_statuses(answer: Any, failure: Failure) -> None:
    step, _, _ = await _step(lambda _: answer, protocol="Native")
    assert step["attempts"][0]["failure"] == failure.value


async def test_native_fallback_is_an_answer_and_a_fallback() -> None:
    step, _, _ = await _step(
        lambda _: {"status": "fallback", "output": 1, "fallback": {"reason": "cache"}}, protocol="Native"
    )
    assert (step["outcome"], step["response"], step["fallback"]["strategy"]) == ("Fallback", 1, "Reported")


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        (302, "Fault"), (400, "Rejected"), (401, "Rejected"), (404, "Rejected"), (408, "Timeout"), (429, "RateLimited"),
        (500, "Fault"), (501, "Fault"), (502, "Unavailable"), (503, "Unavailable"), (504, "Unavailable"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("protocol", ["Http", "Native", "OpenAI"])
async def test_http_statuses(protocol: str, code: int, failure: str) -> None:
    part: dict[str, Any] = {"protocol": protocol, "endpoint": {"model": "m"} if protocol == "OpenAI" else {}}
    step, _, _ = await _step(lambda _: web.Response(status=code, text="<html>upstream</html>"), **part)
    assert (step["attempts"][0]["failure"], step["attempts"][0]["status"]) == (failure, code)


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"a": NaN}', b"[" * 65 + b"]" * 65, b"\xff"])
async def test_an_answer_that_is_not_json_is_a_fault(body: bytes) -> None:
    step, _, _ = await _step(lambda _: web.Response(body=body))
    assert step["attempts"][0]["failure"] == "Fault"


def _chat(content: Any = None, **message: Any) -> dict[str, Any]:
    finish = message.pop("finish_reason", "stop")
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": content, **message},
    }
    return {"id": "1", "object": "chat.completion", "choices": [choice], "usage": {"total_tokens": 12}}


OPENAI: dict[str, Any] = {
    "protocol": "OpenAI",
    "endpoint": {
        "model": "writer-7",
        "prompt": "Be brief.",
        "parameters": {"temperature": 0, "model": "not-this"},
    },
}


async def test_openai_asks_for_the_contract_and_parses_the_content() -> None:
    step, call, _ = await _step(lambda _: _chat('{"intent": "x"}'), contract={"output": OBJECT}, **OPENAI)
    assert call.path == "/run/chat/completions"
    assert call.body == {
        "model": "writer-7",
        "temperature": 0,
        "stream": False,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": '{"q":"hi"}'}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "agent", "schema": OBJECT}},
    }
    assert step["response"] == {"intent": "x"}
    assert step["attempts"][0]["usage"] == {"total_tokens": 12}


async def test_openai_takes_messages_as_they_are() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "ho"},
        {"role": "user", "content": "?"},
    ]
    _, call, _ = await _step(lambda _: _chat("x"), {"messages": messages}, **OPENAI)
    assert call.body["messages"] == [{"role": "system", "content": "Be brief."}, *messages]
    assert "response_format" not in call.body


async def test_openai_without_an_object_contract_gives_the_text() -> None:
    step, _, _ = await _step(lambda _: _chat("hello"), **OPENAI)
    assert step["response"] == {"content": "hello"}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    step, _, _ = await _step(lambda _: _chat(None, tool_calls=[call]), **OPENAI)
    assert step["response"] == {"content": "", "tool_calls": [call]}


async def test_openai_content_in_a_fence_is_read() -> None:
    step, _, _ = await _step(
        lambda _: _chat('```json\n{"intent": "x"}\n```'), contract={"output": OBJECT}, **OPENAI
    )
    assert step["response"] == {"intent": "x"}


@pytest.mark.parametrize(
    ("answer", "failure", "message"),
    [
        (_chat("I think the intent is x"), "InvalidOutput", "not JSON"),
        (_chat('{"intent": "x', finish_reason="length"), "InvalidOutput", "token limit"),
        (_chat(None), "InvalidOutput", "no content"),
        (_chat('{"other": 1}'), "InvalidOutput", "Required"),
        (_chat(None, refusal="I cannot"), "Rejected", "refused"),
        (_chat("", finish_reason="content_filter"), "Rejected", "content_filter"),
        ({"choices": []}, "Fault", "not a chat completion"),
        ({"choices": [{"message": None}]}, "Fault", "not a chat completion"),
        ([], "Fault", "not a chat completion"),
        (status(429, {"error": {"message": "slow down"}}), "RateLimited", "slow down"),
    ],
)
async def test_openai_answers_that_cannot_be_used(answer: Any, failure: str, message: str) -> None:
    step, _, _ = await _step(lambda _: answer, contract={"output": OBJECT}, **OPENAI)
    attempt = step["attempts"][0]
    assert attempt["failure"] == failure
    assert message in attempt["message"]


async def test_a_credential_is_sent_and_never_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRITER_TOKEN", "sk-very-secret")
    part = {"protocol": "OpenAI", "endpoint": {"model": "m", "credentialRef": {"env": "WRITER_TOKEN"}}}
    refused = status(401, {"error": {"message": "Incorrect API key provided: sk-very-secret"}})
    for answer in (_chat("x"), refused):
        _, call, gate = await _step(partial(_always, answer), **part)
        assert call.headers["authorization"] == "Bearer sk-very-secret"
        assert "sk-very-secret" not in repr(gate.spool.lines)


async def test_a_credential_that_is_not_there_fails_the_call_before_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WRITER_TOKEN", raising=False)
    step, call, _ = await _step(lambda _: 1, endpoint={"credentialRef": {"env": "WRITER_TOKEN"}})
    assert call is None
    assert (step["attempts"][0]["failure"], step["attempts"][0]["status"]) == ("Rejected", None)
    assert "WRITER_TOKEN" in step["attempts"][0]["message"]


async def test_queue_time_is_kept_apart_from_service_time() -> None:
    step, _, _ = await _step(lambda _: status(200, 1, server_timing="db;dur=1, queue;dur=0.001"))
    assert step["attempts"][0]["queue_ms"] == 0.001
    assert step["attempts"][0]["service_ms"] > 0


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (None, None), ("queue;dur=12.5", 12.5), ("a;dur=1, Queue;desc=\"x\";dur=\"3\"", 3.0), ("queue", None),
        ("queue;dur=x", None), ("queue;dur=-1", None), ("queue;dur=nan", None), ("", None), (";;,,=", None),
    ],
)  # fmt: skip
def test_server_timing(header: str | None, value: float | None) -> None:
    assert queue_ms(header) == value


@pytest.mark.parametrize(
    ("header", "value"),
    [
        (None, None), ("3", 3.0), ("-3", None), ("soon", None), ("", None),
        ("Thu, 01 Jan 2026 00:00:05 GMT", 5.0), ("Thu, 01 Jan 2025 00:00:05 GMT", 0.0),
    ],
)  # fmt: skip
def test_retry_after(header: str | None, value: float | None) -> None:
    assert retry_after_seconds(header, datetime(2026, 1, 1, tzinfo=UTC)) == value
