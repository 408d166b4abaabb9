"""Real worker processes: HTTP behaviour, plans, leases, static stability, kill -9, several workers."""

import asyncio
import os
import signal
import socket
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from sluicegate.contracts.adapters import system
from sluicegate.contracts.routes import Share, TrafficMode
from sluicegate.gateway.plan_table import PlanTable
from tests.gateway.components import (
    ComponentServer,
    component,
    rolling,
    spec_of,
    stable_plan,
)
from tests.gateway.workers import WorkerProcess, component_thread, spooled, wait_for, worker, write

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def echo() -> Iterator[ComponentServer]:
    with component_thread(lambda body: {"echo": body}) as server:
        yield server


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory, echo: ComponentServer) -> Iterator[WorkerProcess]:
    state = tmp_path_factory.mktemp("state")
    contract = {"input": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    write(state, stable_plan(spec_of(component(echo.url), contract=contract)))
    with worker(state) as running:
        yield running


def test_a_run_is_answered_and_recorded(gate: WorkerProcess) -> None:
    code, headers, body = gate.run({"n": 1})
    assert (code, body) == (200, {"echo": {"n": 1}})
    assert headers["content-type"] == "application/json"
    assert headers["sluicegate-version"] == "1"
    [record] = [line for line in spooled(gate.state) if line["run_id"] == headers["sluicegate-run-id"]]
    assert (record["output"], record["worker"]) == (body, "w0")


def test_both_paths_lead_to_the_default_namespace(gate: WorkerProcess) -> None:
    assert gate.run(path="/v1/namespaces/default/workflows/bot/runs")[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "code", "detail"),
    [
        ("POST", "/v1/workflows/bots/runs", b"{}", {}, 404, "did you mean bot?"),
        ("POST", "/v1/namespaces/shop/workflows/bot/runs", b"{}", {}, 404, "namespace default"),
        ("POST", "/v1/workflows/%3Cscript%3E%0d%0a/runs", b"{}", {}, 404, "<script>"),
        ("POST", "/v2/anything", b"{}", {}, 404, "no such path"),
        ("GET", "/v1/workflows/bot/runs", None, {}, 405, "POST"),
        ("DELETE", "/healthz", None, {}, 405, "GET"),
        ("POST", "/v1/workflows/bot/runs", b"{", {}, 400, "JSON"),
        ("POST", "/v1/workflows/bot/runs", b"", {}, 400, "JSON"),
        ("POST", "/v1/workflows/bot/runs", b'{"n": "x"}', {}, 422, "input/n"),
        ("POST", "/v1/workflows/bot/runs", b'"' + b"x" * (1 << 20) + b'"', {}, 413, "1048576"),
        ("POST", "/v1/workflows/bot/runs", b"[" * 65 + b"]" * 65, {}, 400, "64"),
        ("POST", "/v1/workflows/bot/runs", b"{}", {"sluicegate_deadline_ms": "soon"}, 400, "deadline"),
        ("POST", "/v1/workflows/bot/runs", b"{}", {"sluicegate_deadline_ms": "0"}, 400, "deadline"),
        (
            "POST",
            "/v1/workflows/bot/runs",
            b"{}",
            {"sluicegate_deadline_ms": "1" + "0" * 5000},
            400,
            "deadline",
        ),
        (
            "POST",
            "/v1/workflows/bot/runs",
            b"{}",
            {"sluicegate_deadline_ms": "0" * 11 + "9" * 5000},
            400,
            "deadline",
        ),
        ("POST", "/v1/workflows/bot/runs", b"{}", {"origin": "https://evil.example"}, 403, "origin"),
        ("POST", "/v1/runs/nonsense/outcome", b"{}", {"origin": "https://evil.example"}, 403, "origin"),
        ("GET", "/v1/runs/x/outcome", None, {}, 405, "POST"),
        ("POST", "/v1/runs/nonsense/outcome", b"{}", {}, 400, "UUID"),
    ],
)
def test_what_cannot_be_served_is_a_problem_document(  # noqa: PLR0917 - a table's columns
    gate: WorkerProcess,
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str],
    code: int,
    detail: str,
) -> None:
    status, answer, raw = gate.request(method, path, body, **headers)
    assert (status, answer["content-type"]) == (code, "application/problem+json")
    document = orjson.loads(raw)
    assert document["status"] == code
    assert detail in orjson.dumps(document).decode()
    assert gate.run()[0] == 200  # and the worker lives


def test_a_chunked_body_above_the_limit_is_refused(gate: WorkerProcess) -> None:
    with socket.create_connection(("127.0.0.1", gate.port), timeout=60) as raw:
        raw.sendall(b"POST /v1/workflows/bot/runs HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(17):
            raw.sendall(b"10000\r\n" + b"1" * 65536 + b"\r\n")
        assert raw.recv(64).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_answers_get_and_head(gate: WorkerProcess, path: str) -> None:
    code, headers, body = gate.request("GET", path)
    assert code == 200
    head_code, head_headers, head_body = gate.request("HEAD", path)
    assert (head_code, head_body) == (200, b"")
    assert abs(int(head_headers["content-length"]) - len(body)) < 40
    code, headers, body = gate.request("OPTIONS", path)
    assert (code, headers["allow"], body) == (204, "GET, HEAD, OPTIONS", b"")


def test_a_trace_is_continued_and_a_broken_one_replaced(gate: WorkerProcess) -> None:
    good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
    _, headers, _ = gate.request("POST", "/v1/workflows/bot/runs", b"{}", traceparent=good)
    assert headers["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert headers["traceparent"].endswith("-00")
    for bad in ("00-" + "0" * 32 + "-b7ad6b7169203331-01", "junk", good.upper(), "ff" + good[2:]):
        _, headers, _ = gate.request("POST", "/v1/workflows/bot/runs", b"{}", traceparent=bad)
        assert headers["traceparent"].split("-")[1] == headers["sluicegate-run-id"].replace("-", "")


@pytest.mark.parametrize(
    ("body", "code", "entry"),
    [
        ({"reward": 0.5}, 202, {"reward": 0.5, "outcome": None}),
        (
            {"outcome": "Failed", "note": "refunded"},
            202,
            {"reward": None, "outcome": "Failed", "note": "refunded"},
        ),
        ({"reward": 1, "outcome": "Succeeded"}, 202, {"reward": 1.0, "outcome": "Succeeded"}),
        ({"reward": 1.01}, 422, None),
        ({"reward": True}, 422, None),
        ({"outcome": "Rejected"}, 422, None),
        ({"outcome": ["Failed"]}, 422, None),
        ({"rewards": 1}, 422, None),
        ({}, 422, None),
        ([], 422, None),
    ],
)
def test_the_outcome_call(gate: WorkerProcess, body: Any, code: int, entry: dict[str, Any] | None) -> None:
    run_id = gate.run()[1]["sluicegate-run-id"]
    status, _, raw = gate.request("POST", f"/v1/runs/{run_id}/outcome", orjson.dumps(body))
    assert (status, orjson.loads(raw)["runId"]) == (code, run_id)
    found = [line for line in spooled(gate.state) if line["t"] == "outcome" and line["run_id"] == run_id]
    assert len(found) == (entry is not None)
    if entry is not None:
        assert found[0].items() >= (entry | {"source": "Outcome"}).items()


def test_a_client_that_leaves_does_not_lose_the_record(tmp_path: Path) -> None:
    go = threading.Event()

    async def slow(_: Any) -> int:
        await asyncio.to_thread(go.wait, 20)
        return 1

    with component_thread(slow) as server:
        write(tmp_path, stable_plan(spec_of(component(server.url))))
        with worker(tmp_path) as gate:
            raw = socket.create_connection(("127.0.0.1", gate.port), timeout=60)
            raw.sendall(b"POST /v1/workflows/bot/runs HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
            wait_for(lambda: server.calls, "the component is called")
            raw.close()
            go.set()
            [record] = wait_for(lambda: spooled(tmp_path), "the record is written")
    assert record["outcome"] == "Succeeded"


def test_a_new_plan_is_served_and_acknowledged_without_a_restart(
    tmp_path: Path, echo: ComponentServer
) -> None:
    table = PlanTable(tmp_path / "plans.db")
    with worker(tmp_path) as gate:
        assert not gate.ready()["ready"], "there is no table yet"
        table.generation()
        wait_for(lambda: gate.ready()["ready"], "an empty table is enough")
        counts = {"written": 0, "dropped": 0, "lost": 0, "errors": 0}
        assert gate.ready() == {"ready": True, "worker": "w0", "workflows": [], "spool": counts}
        assert gate.run()[0] == 404
        plan = stable_plan(spec_of(component(echo.url)))
        table.write(plan)
        wait_for(lambda: table.programmed("default", "bot") == 1, "version 1 is acknowledged")
        assert gate.run()[1]["sluicegate-version"] == "1"
        table.write(stable_plan(spec_of(component(echo.url), version="2"), version=2))
        wait_for(lambda: table.programmed("default", "bot") == 2, "version 2 is acknowledged")
        assert gate.run()[1]["sluicegate-version"] == "2"
        broken = spec_of(component(echo.url, protocol="MCP"), version="3")
        table.write(stable_plan(broken, version=3))
        wait_for(lambda: gate.ready().get("broken"), "the broken plan is reported")
        assert gate.run()[1]["sluicegate-version"] == "2"
        assert (
            table.programmed("default", "bot") == 0
        )  # it serves something else, and does not say it serves 3
        table.delete("default", "bot")
        wait_for(lambda: gate.run()[0] == 404, "the workflow is gone")
        assert gate.stop() == 0
        assert table.workers() == ()
        assert not (tmp_path / "workers" / "w0.json").exists()
    table.close()


def test_without_a_renewed_lease_everybody_gets_stable(tmp_path: Path, echo: ComponentServer) -> None:
    table = PlanTable(tmp_path / "plans.db")
    until = system.now() + timedelta(seconds=600)
    plan = rolling(
        spec_of(component(echo.url)),
        spec_of(component(echo.url), version="2"),
        TrafficMode.SPLIT,
        lease_until=until,
    )
    table.write(plan)
    with worker(tmp_path) as gate:
        assert gate.run()[1]["sluicegate-version"] == "2"
        assert gate.ready()["workflows"][0]["leased"] is True
        table.write(replace(plan, lease_until=datetime(2020, 1, 1, tzinfo=UTC)))
        wait_for(lambda: gate.run()[1]["sluicegate-version"] == "1", "the lease has passed")
        shown = gate.ready()["workflows"][0]
        assert (shown["leased"], shown["version"]) == (False, 2)
        assert "lease has passed" in shown["serving"]
        table.write(plan)
        wait_for(lambda: gate.run()[1]["sluicegate-version"] == "2", "the lease holds again")
    table.close()


def test_the_worker_serves_on_when_the_plans_cannot_be_read(tmp_path: Path, echo: ComponentServer) -> None:
    write(tmp_path, stable_plan(spec_of(component(echo.url))))
    with worker(tmp_path) as gate:
        assert gate.run()[0] == 200
        with sqlite3.connect(tmp_path / "plans.db") as raw:
            raw.execute("DROP TABLE generation")
            raw.execute("DROP TABLE plans")
        raw.close()
        wait_for(lambda: "plansUnavailable" in gate.ready(), "the trouble is shown")
        assert gate.ready()["ready"] is True
        assert gate.run()[0] == 200


def test_runs_without_a_record_are_answered_and_told(tmp_path: Path, echo: ComponentServer) -> None:
    write(tmp_path, stable_plan(spec_of(component(echo.url))))
    (tmp_path / "spool").write_text("a file where the folder should be: no record can be written")

    def said(event: str) -> bool:
        return event in (tmp_path / "w0.log").read_text()

    with worker(tmp_path) as gate:
        assert gate.run()[0] == 200
        assert gate.ready()["spool"]["lost"] == 1
        wait_for(lambda: said("runs_not_recorded"), "the loss is in the log")
        (tmp_path / "spool").unlink()
        wait_for(lambda: gate.run()[0] == 200 and said("runs_recorded_again"), "and its end")
        assert gate.ready()["spool"]["lost"] == 1
    assert spooled(tmp_path)


def test_kill_9_loses_no_answered_run(tmp_path: Path, echo: ComponentServer) -> None:
    write(tmp_path, stable_plan(spec_of(component(echo.url))))
    with worker(tmp_path) as gate, ThreadPoolExecutor(8) as pool:
        answered: list[str] = []

        def ask(_: int) -> None:
            try:
                code, headers, _body = gate.run()
            except OSError:
                return
            assert code == 200
            answered.append(headers["sluicegate-run-id"])

        futures = [pool.submit(ask, number) for number in range(400)]
        wait_for(lambda: len(answered) >= 100, "a hundred runs are answered")
        gate.process.kill()
        for future in futures:
            future.cancel()
    recorded = {line["run_id"] for line in spooled(tmp_path)}
    assert set(answered) <= recorded


def test_a_stopping_worker_finishes_what_is_in_flight(tmp_path: Path) -> None:
    go = threading.Event()

    async def slow(_: Any) -> int:
        await asyncio.to_thread(go.wait, 20)
        return 1

    with component_thread(slow) as server:
        write(tmp_path, stable_plan(spec_of(component(server.url))))
        with worker(tmp_path) as gate, ThreadPoolExecutor(1) as pool:
            future = pool.submit(gate.run)
            wait_for(lambda: server.calls, "the component is called")
            gate.process.send_signal(signal.SIGTERM)
            wait_for(lambda: _refuses(gate.port), "no new connections")
            go.set()
            assert future.result(20)[0] == 200
            assert gate.process.wait(20) == 0


def _refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return True
    return False


def test_the_end_of_the_parent_stops_the_worker(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    with worker(tmp_path, parent_fd=read_end) as gate:
        os.close(read_end)
        assert gate.request("GET", "/healthz")[0] == 200
        os.close(write_end)
        assert gate.process.wait(20) == 0


def test_a_port_that_is_taken_is_said_and_not_retried(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with (
            pytest.raises(AssertionError, match="cannot_listen"),
            worker(tmp_path, port=taken.getsockname()[1]),
        ):
            pass


def test_two_workers_share_a_port_a_plan_and_a_spool(tmp_path: Path, echo: ComponentServer) -> None:
    spec = spec_of(component(echo.url), routing={"key": "input.session"})
    other = spec_of(component(echo.url), routing={"key": "input.session"}, version="2")
    plan = replace(rolling(spec, other, TrafficMode.SPLIT), share=Share(1, 2))
    write(tmp_path, plan)
    table = PlanTable(tmp_path / "plans.db")
    with (
        worker(tmp_path, name="w0") as one,
        worker(tmp_path, name="w1", port=one.port),
        ThreadPoolExecutor(8) as pool,
    ):
        wait_for(lambda: len(table.workers()) == 2, "both have acknowledged")
        assert table.programmed("default", "bot") == 2
        sessions = [f"s{number % 20}" for number in range(300)]
        answers = list(pool.map(lambda session: one.run({"session": session}), sessions))
    table.close()
    assert {code for code, _, _ in answers} == {200}
    lines = spooled(tmp_path)
    asked = {headers["sluicegate-run-id"] for _, headers, _ in answers}
    for kind in ("run", "obs"):
        assert Counter(line["run_id"] for line in lines if line["t"] == kind) == Counter(asked)
    assert {line["worker"] for line in lines if line["t"] == "run"} == {"w0", "w1"}
    by_session: dict[str, set[str]] = {}
    for session, (_, headers, _) in zip(sessions, answers, strict=True):
        by_session.setdefault(session, set()).add(headers["sluicegate-version"])
    assert all(len(versions) == 1 for versions in by_session.values())  # sticky in both workers
    assert {version for versions in by_session.values() for version in versions} == {"1", "2"}
