"""The support bot's components: planner, executor, memory and evaluator, each in several versions.

One program, one port, one path per version, e.g. `POST /planner/v1`; the Native envelope over HTTP. Nothing is
learnt and nothing is stored: what a version does is a hash of its input, its name and the seed, so that two runs of
the demo see the same customers, the same answers and the same faults. Time is simulated by waiting.

    python services.py --port 9101
"""

import argparse
import asyncio
import hashlib
import math
import re
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import orjson
import uvicorn

Json = dict[str, Any]
Send = Callable[[Json], Awaitable[None]]
Receive = Callable[[], Awaitable[Json]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """How one version behaves.

    median_ms, sigma: log-normal service time. failures: share of calls that get 503 (another attempt is another
    draw). slow: share of calls that take `slow_ms` longer. breaks: share of answers outside of the contract.
    crashes: share of calls whose connection breaks in the middle of the answer. slots: calls served at a time; the
    wait for one is reported as `Server-Timing: queue`.
    """

    act: Callable[[Json], Json]
    median_ms: float
    sigma: float = 0.3
    failures: float = 0.012
    slow: float = 0.0
    slow_ms: float = 0.0
    breaks: float = 0.0
    crashes: float = 0.0
    slots: int = 64


# --- what the components do -------------------------------------------------------------------------------------

ORDER = re.compile(r"\b[A-Z]-\d{4}\b")
PLAIN = {
    "where is": "track_order",
    "cancel": "cancel_order",
    "refund": "refund_request",
    "address": "change_address",
}
SUBTLE = {
    "not arrived": "track_order",
    "any more": "cancel_order",
    "money back": "refund_request",
    "moved": "change_address",
}
TIERS = ("basic", "plus", "gold")


def unit(*parts: object) -> float:
    """A number in [0, 1) that depends on nothing but `parts`."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def order_of(customer: str) -> str:
    """The customer's last order."""
    number = int(unit("order", customer) * 234_000)
    return f"{chr(65 + number // 9000)}-{1000 + number % 9000}"


def intent_of(query: str, words: dict[str, str]) -> str:
    """The first intent whose words are in the query."""
    lowered = query.lower()
    return next((intent for word, intent in words.items() if word in lowered), "other")


def remember(given: Json) -> Json:
    """Memory: who the customer is, and the last order."""
    session = str(given["session_id"])
    return {"tier": TIERS[int(unit("tier", session) * 3)], "last_order": order_of(session)}


def planner(words: dict[str, str]) -> Callable[[Json], Json]:
    """Planner: the customer's intent, and what to do about it."""

    def plan(given: Json) -> Json:
        query = str(given["user_query"])
        intent = intent_of(query, words)
        named = ORDER.search(query)
        order = named[0] if named else given.get("last_order") or ""
        kind = "reply" if intent == "other" else "api_call"
        return {"intent": intent, "steps": [{"type": kind, "order": order}]}

    return plan


def status_of(order: str) -> str:
    """State of an order in the shop's sandbox."""
    return ("pending", "shipped", "delivered")[int(unit("status", order) * 3)]


def execute(given: Json) -> Json:
    """Executor: act in the shop's sandbox and tell the customer."""
    intent, order = given["intent"], given["steps"][0]["order"] if given["steps"] else ""
    if intent == "other":
        return {"response": "I have passed your question to a colleague.", "status": "open"}
    if not order:
        return {"response": "Please tell me the number of your order.", "status": "open"}
    status = status_of(order)
    told = {
        "track_order": f"Order {order} is {status}.",
        "cancel_order": f"Order {order} is cancelled.",
        "refund_request": f"The refund for order {order} is on its way.",
        "change_address": f"The address of order {order} is changed.",
    }[intent]
    return {"response": told, "status": status}


def brush_off(given: Json) -> Json:
    """An executor that became evasive: valid answers that help nobody."""
    return {"response": "We are looking into it.", "status": execute(given)["status"]}


EXPECTED = {
    "track_order": " is ",
    "cancel_order": "cancelled",
    "refund_request": "refund",
    "change_address": "address",
    "other": "colleague",
}


def judge(given: Json) -> Json:
    """Evaluator: does the answer do what the customer wanted? It knows both the plain and the subtle words."""
    query, response = str(given["user_query"]), str(given["response"])
    wanted = intent_of(query, PLAIN | SUBTLE)
    if EXPECTED[wanted] in response:
        base = 0.9
    else:
        base = 0.4 if "colleague" in response or "number" in response else 0.25
    return {"reward": round(base + 0.1 * (unit("mood", query) - 0.5), 4)}


VERSIONS: dict[str, Version] = {
    "memory/v1": Version(act=remember, median_ms=3),
    "memory/v2-flaky": Version(act=remember, median_ms=3, failures=0.45),
    "planner/v1": Version(act=planner(PLAIN), median_ms=16),
    "planner/v2": Version(act=planner(PLAIN | SUBTLE), median_ms=11),
    "planner/v2-crashing": Version(act=planner(PLAIN | SUBTLE), median_ms=11, crashes=0.25),
    "executor/v1": Version(act=execute, median_ms=12, failures=0.01),
    "executor/v2": Version(act=execute, median_ms=9, failures=0.01),
    "executor/v2-renamed": Version(act=execute, median_ms=9, failures=0.01, breaks=0.2),
    "executor/v2-slow": Version(act=execute, median_ms=12, failures=0.01, slow=0.25, slow_ms=700),
    "executor/v2-evasive": Version(act=brush_off, median_ms=9, failures=0.01),
    "evaluator/v1": Version(act=judge, median_ms=6),
}


# --- how they are served ----------------------------------------------------------------------------------------


class CrashedError(Exception):
    """The version dies in the middle of its answer."""


class Services:
    """Raw ASGI application over VERSIONS."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.slots = {name: asyncio.Semaphore(version.slots) for name, version in VERSIONS.items()}

    async def __call__(self, scope: Json, receive: Receive, send: Send) -> None:
        """One HTTP request."""
        if scope["type"] != "http":
            return
        name = scope["path"].strip("/")
        if name == "healthz":
            await answer(send, 200, {"versions": sorted(VERSIONS)})
            return
        version = VERSIONS.get(name)
        if version is None:
            await fault(
                send, 404, "Rejected", f"no version {name!r}; there are: {', '.join(sorted(VERSIONS))}"
            )
            return
        try:
            envelope = orjson.loads(await body_of(receive))
            given = envelope["input"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            await fault(send, 400, "Rejected", "the body must be a JSON object with `input`")
            return
        asked = perf_counter()
        async with self.slots[name]:
            queue_ms = (perf_counter() - asked) * 1000
            await self.serve(name, version, envelope, given, send, queue_ms)

    async def serve(
        self, name: str, version: Version, envelope: Json, given: Json, send: Send, queue_ms: float
    ) -> None:
        """One call: its own luck in time and faults, its input's fate in everything else."""
        call = (self.seed, name, envelope.get("run_id"), envelope.get("attempt"), envelope.get("dry_run"))
        content = (self.seed, name, orjson.dumps(given, option=orjson.OPT_SORT_KEYS))
        service_ms = version.median_ms * math.exp(version.sigma * normal(*call))
        if unit("slow", *content) < version.slow:
            service_ms += version.slow_ms
        await asyncio.sleep(service_ms / 1000)
        if unit("fail", *call) < version.failures:
            await fault(send, 503, "Unavailable", "overloaded, try again", retryable=True)
            return
        crashed = unit("crash", *content) < version.crashes
        try:
            output = version.act(given)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            await fault(send, 422, "Rejected", f"{type(error).__name__}: {error}")
            return
        if unit("break", *content) < version.breaks:
            output = {
                "reply": output["response"],
                "status": "done",
            }  # another name, and a status nobody knows
        timing = f"queue;dur={queue_ms:.2f}, service;dur={service_ms:.2f}".encode()
        family, _, release = name.partition("/")
        document = {"status": "ok", "output": output, "component": {"name": family, "version": release}}
        await answer(send, 200, document, (b"server-timing", timing), crashed=crashed)


def normal(*parts: object) -> float:
    """A standard normal number that depends on nothing but `parts` (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - unit("u", *parts)))
    return radius * math.cos(2.0 * math.pi * unit("v", *parts))


async def body_of(receive: Receive) -> bytes:
    """The whole request body."""
    chunks = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        chunks.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(chunks)


async def fault(send: Send, status: int, code: str, message: str, *, retryable: bool = False) -> None:
    """An error in the Native envelope."""
    error = {"code": code, "retryable": retryable, "message": message}
    await answer(send, status, {"status": "error", "error": error})


async def answer(
    send: Send, status: int, document: Json, *headers: tuple[bytes, bytes], crashed: bool = False
) -> None:
    """Send `document`; a crash breaks the connection after half of it."""
    body = orjson.dumps(document)
    length = (b"content-length", str(len(body)).encode())
    kind = (b"content-type", b"application/json")
    await send({"type": "http.response.start", "status": status, "headers": [kind, length, *headers]})
    if crashed:
        await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        raise CrashedError
    await send({"type": "http.response.body", "body": body})


async def run(options: argparse.Namespace) -> None:
    """Serve until a signal, or until standard input closes when that was asked for."""
    listener = socket.create_server((options.host, options.port), backlog=1024)
    config = uvicorn.Config(
        Services(options.seed), log_level="critical", access_log=False, lifespan="off", timeout_keep_alive=60
    )
    server = uvicorn.Server(config)
    port = listener.getsockname()[1]
    print(port if options.print_port else f"support bot on http://{options.host}:{port}", flush=True)
    if options.stop_with_stdin:
        asyncio.get_running_loop().add_reader(
            sys.stdin.fileno(), lambda: setattr(server, "should_exit", True)
        )
    await server.serve(sockets=[listener])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="The support bot's components, in all versions")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9101, help="0: any free port")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--print-port", action="store_true", help="print only the port, for scripts")
    parser.add_argument("--stop-with-stdin", action="store_true", help="stop when standard input closes")
    uvicorn_loop(run(parser.parse_args()))


def uvicorn_loop(main_task: Any) -> None:
    """Run on uvloop."""
    import uvloop  # noqa: PLC0415 - only the program needs it, not an importer of VERSIONS

    uvloop.run(main_task)


if __name__ == "__main__":
    main()
