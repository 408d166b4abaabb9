"""What is spoken over HTTP: the gateway, the components, the local API; from the tables and requests of the parts."""

import json
import re
from typing import Any

import orjson

from sluicegate.console.reference.markdown import page, table
from sluicegate.contracts.resources.workflow import Component
from sluicegate.contracts.runs import Arm
from sluicegate.fallback_rules.server import app as rules
from sluicegate.gateway import app
from sluicegate.gateway.protocols import native
from sluicegate.gateway.protocols.base import CallContext, Request
from sluicegate.gateway.protocols.places import Place
from sluicegate.gateway.protocols.table import PROTOCOLS
from sluicegate.operator.api import server as api


def http_page() -> str:
    """The four sides."""
    return page(
        "HTTP",
        "## Gateway",
        "`http://127.0.0.1:8080`, unless `sluicegate up` was told otherwise (`--host`, `--port`). Bodies are JSON, at most 1 MiB and 64 levels deep.",
        *_documented(app.__doc__),
        "## Components",
        "What the gateway posts to an endpoint, by `endpoint.protocol`. A status of 2xx is an answer; what others mean is in [errors](errors.md). "
        "A `Server-Timing: queue;dur=12` header of the answer tells queue time apart from service time, `Retry-After` is honoured.",
        "### Native",
        "One JSON object each way.",
        _posted("Native"),
        table(("request field", "meaning"), _native_request()),
        table(
            ("answer field", "meaning"), ((f"`{name}`", text) for name, text in native.ANSWER_FIELDS.items())
        ),
        "### Http",
        "The step's inputs are the body, the answer's body is the output; the run is in headers.",
        _posted("Http"),
        "### OpenAI",
        "`POST {url}/chat/completions`. The inputs become one user message (their JSON), or are sent as they are when they have `messages`. When the output "
        'contract describes an object, it is asked for by `response_format` and the content is parsed; otherwise the output is `{"content": text}`, with '
        "`tool_calls` when the model made some.",
        _posted("OpenAI"),
        "## Local API",
        "On the Unix socket `api.sock` in the state folder: `curl --unix-socket ~/.local/state/sluicegate/api.sock http://local/version`.",
        *_documented(api.__doc__),
        "## Rules server",
        "`sluicegate rules serve --rules FOLDER`, or `python -m sluicegate.fallback_rules.server`: `http://127.0.0.1:8095`.",
        *_documented(rules.__doc__),
    )


def _documented(text: str | None) -> list[str]:
    """A module's docstring without its title; its literals as Markdown."""
    paragraphs = (text or "").strip().split("\n\n")[1:]
    return [re.sub(r"``([^`]+)``", r"`\1`", paragraph) for paragraph in paragraphs]


def _component(protocol: str) -> Component:
    shape = {"type": "object", "properties": {"answer": {"type": "string"}}}
    endpoint: dict[str, Any] = {"protocol": protocol, "url": "http://127.0.0.1:9000/"}
    if protocol == "OpenAI":
        endpoint |= {"url": "http://127.0.0.1:8000/v1", "model": "my-model", "prompt": "Answer the user."}
    return Component.model_validate(
        {
            "name": "agent",
            "version": "v1",
            "endpoint": endpoint,
            "sideEffects": "None",
            "contract": {"output": shape},
        }
    )


def _request(protocol: str) -> Request:
    component = _component(protocol)
    call = CallContext(
        run_id="0198c0de-0000-7000-8000-000000000001",
        step="agent",
        arm=Arm.STABLE,
        attempt=1,
        deadline_ms=7950,
        stage=None,
        dry_run=False,
        traceparent="00-0198c0de000070008000000000000001-00f067aa0ba902b7-01",
    )
    speak = PROTOCOLS[component.endpoint.protocol](component, component.endpoint, Place())
    return speak.request(call, {"question": "Where is my order?"})


def _posted(protocol: str) -> str:
    request = _request(protocol)
    headers = "\n".join(f"{name.lower()}: {value}" for name, value in sorted(request.headers.items()))
    body = json.dumps(orjson.loads(request.body), indent=2)
    return f"```http\nPOST {request.url}\n{headers}\n\n{body}\n```"


def _native_request() -> list[tuple[str, str]]:
    """KeyError when a field of the envelope has no meaning."""
    return [(f"`{name}`", native.REQUEST_FIELDS[name]) for name in orjson.loads(_request("Native").body)]
