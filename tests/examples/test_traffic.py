"""The simulated users."""

import asyncio
from itertools import islice
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from sluicegate.console.traffic import BackgroundTraffic, Session, Tally, drive, support_customers


async def server(statuses: dict[str, int]) -> tuple[TestServer, list[Any], asyncio.Event]:
    seen: list[Any] = []
    enough = asyncio.Event()

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        seen.append(body)
        if len(seen) >= 5:
            enough.set()
        headers = {"Sluicegate-Run-Id": "r1", "Sluicegate-Revision": "w-1", "Sluicegate-Version": "1.0.0"}
        return web.json_response({}, status=statuses.get(body["who"], 200), headers=headers)

    app = web.Application()
    app.router.add_post("/runs", answer)
    running = TestServer(app)
    await running.start_server()
    return running, seen, enough


def sessions(*names: str, turns: int = 1) -> list[Session]:
    return [
        Session(inputs=tuple({"who": name, "turn": n} for n in range(turns)), pause_seconds=0)
        for name in names
    ]


async def test_every_run_is_counted_with_who_answered() -> None:
    running, seen, _ = await server({"b": 503})
    tally = Tally()
    await drive(str(running.make_url("/runs")), sessions("a", "b", turns=2), rate=1000, seed=1, tally=tally)
    await running.close()
    assert len(seen) == len(tally.answers) == 4
    assert tally.by_version() == {"1.0.0": 2}
    assert tally.failed == 2
    assert all(answer.asked_at <= answer.answered_at for answer in tally.answers)


async def test_turns_of_a_session_follow_each_other() -> None:
    running, seen, _ = await server({})
    await drive(str(running.make_url("/runs")), sessions("a", turns=5), rate=1000, seed=1, tally=Tally())
    await running.close()
    assert [body["turn"] for body in seen] == [0, 1, 2, 3, 4]


async def test_no_answer_is_an_answer_with_status_0() -> None:
    tally = Tally()
    await drive("http://127.0.0.1:1/runs", sessions("a"), rate=1000, seed=1, tally=tally)
    assert [answer.status for answer in tally.answers] == [0]


async def test_traffic_in_the_background_stops_when_told() -> None:
    running, seen, enough = await server({})
    endless = (Session(inputs=({"who": str(number)},)) for number in range(10**9))
    traffic = BackgroundTraffic(str(running.make_url("/runs")), endless, rate=500, seed=1)
    traffic.start()
    await asyncio.wait_for(enough.wait(), 60)
    await asyncio.to_thread(traffic.stop)
    await asyncio.to_thread(traffic.stop)
    await running.close()
    assert len(traffic.tally.answers) == len(seen)


def test_customers_are_the_same_for_the_same_seed() -> None:
    first, again, other = (list(islice(support_customers(seed), 50)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    keys = [session.inputs[0]["session_id"] for session in first]
    assert len(set(keys)) == len(keys)
