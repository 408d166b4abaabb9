"""The example's components, as they answer over HTTP."""

import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from types import ModuleType
from typing import Any

import aiohttp
import pytest

from sluicegate.console.demo.files import support_bot

PROGRAM = support_bot() / "services.py"


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    command = [sys.executable, str(PROGRAM), "--port", "0", "--print-port", "--stop-with-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.stdin.close()
        assert process.wait(20) == 0


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def services() -> ModuleType:
    spec = importlib.util.spec_from_file_location("support_bot_services", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


async def call(
    client: aiohttp.ClientSession, url: str, given: Any, run: str = "r", attempt: int = 1
) -> tuple[int, Any]:
    body = {"run_id": run, "attempt": attempt, "dry_run": False, "input": given}
    async with client.post(url, json=body) as response:
        return response.status, await response.json()


async def test_a_conversation_ends_with_a_reward(base: str, client: aiohttp.ClientSession) -> None:
    query = {"user_query": "Where is my order A-1234?"}
    _, plan = await call(client, f"{base}/planner/v1", query)
    assert plan["output"] == {"intent": "track_order", "steps": [{"type": "api_call", "order": "A-1234"}]}
    assert plan["component"] == {"name": "planner", "version": "v1"}
    _, act = await call(client, f"{base}/executor/v1", plan["output"])
    assert "A-1234" in act["output"]["response"]
    _, judged = await call(client, f"{base}/evaluator/v1", query | {"response": act["output"]["response"]})
    assert 0.85 <= judged["output"]["reward"] <= 0.95


async def test_queue_and_service_time_are_reported(base: str, client: aiohttp.ClientSession) -> None:
    async with client.post(f"{base}/memory/v1", json={"input": {"session_id": "s"}}) as response:
        assert "queue;dur=" in response.headers["Server-Timing"]


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("planner/v9", b'{"input": {}}', 404, "planner/v1"),
        ("planner/v1", b"not json", 400, "input"),
        ("planner/v1", b"[]", 400, "input"),
        ("executor/v1", b'{"input": {"intent": "track_order"}}', 422, "steps"),
    ],
)
async def test_a_bad_call_says_what_is_wrong(
    base: str, client: aiohttp.ClientSession, path: str, body: bytes, status: int, said: str
) -> None:
    async with client.post(f"{base}/{path}", data=body) as response:
        assert response.status == status
        assert said in (await response.json())["error"]["message"]


async def test_a_crash_breaks_the_connection_in_the_middle_of_the_answer(
    base: str, client: aiohttp.ClientSession
) -> None:
    crashed = 0
    for number in range(40):
        try:
            await call(client, f"{base}/planner/v2-crashing", {"user_query": f"Where is A-{1000 + number}?"})
        except aiohttp.ClientPayloadError:
            crashed += 1
    assert 1 <= crashed <= 25  # 10 expected; P(outside) < 1e-4 if the draws were fair, and they never change


async def test_the_same_call_has_the_same_fate_and_another_attempt_another(
    base: str, client: aiohttp.ClientSession
) -> None:
    url = f"{base}/memory/v2-flaky"
    fates = [
        [(await call(client, url, {"session_id": "s"}, f"r{n}", k))[0] for n in range(12)] for k in (1, 1, 2)
    ]
    assert fates[0] == fates[1]
    assert fates[0] != fates[2]
    assert set(fates[0]) == {200, 503}


def test_the_better_planner_understands_what_the_first_one_does_not() -> None:
    module = services()
    given = {"user_query": "Order A-1234 has still not arrived."}
    intents = [module.VERSIONS[f"planner/{version}"].act(given)["intent"] for version in ("v1", "v2")]
    assert intents == ["other", "track_order"]


def test_noise_is_standard_normal() -> None:
    """Mean and deviation of 2,000 draws within four standard errors of 0 and 1."""
    module = services()
    draws = [module.normal(number) for number in range(2000)]
    mean = sum(draws) / len(draws)
    deviation = (sum((draw - mean) ** 2 for draw in draws) / len(draws)) ** 0.5
    assert abs(mean) < 4 / len(draws) ** 0.5
    assert abs(deviation - 1) < 4 / (2 * len(draws)) ** 0.5
