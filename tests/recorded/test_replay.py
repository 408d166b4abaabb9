"""Selections, the replay server and the files it writes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from sluicegate.console.recordings import RecordedRun, Recording
from sluicegate.console.replay import ReplayOptions, parse_selection
from sluicegate.console.replay.command import write_workflows
from sluicegate.console.replay.server import ReplayApp, serve
from sluicegate.console.replay.tasks import resampled
from sluicegate.contracts.errors import NotFound, Refused

REWARDS = {"a": (0.0, 1.0, 1.0), "b": (0.5, 0.25, 0.0), "c": (1.0, 1.0, 1.0)}


def recording() -> Recording:
    runs = {
        task: {
            trial: RecordedRun(
                task=task,
                trial=trial,
                reward=reward,
                request="help",
                answer=f"{task}{trial}",
                tool_calls=(),
                messages=(),
            )
            for trial, reward in enumerate(rewards)
        }
        for task, rewards in REWARDS.items()
    }
    return Recording(source="test.json", format="tau-bench", runs=runs)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("0", ["a0", "b0", "c0"]),
        ("trial-1", ["a1", "b1", "c1"]),
        ("trial:2", ["a2", "b2", "c2"]),
        ("best", ["a1", "b0", "c0"]),
        ("best-of", ["a1", "b0", "c0"]),
        ("worst", ["a0", "b2", "c0"]),
        ("Worst-of", ["a0", "b2", "c0"]),
    ],
)
def test_a_selection_answers_with_one_trial_of_each_task(text: str, answers: list[str]) -> None:
    selection = parse_selection(text)
    assert [selection.of(recording(), task).answer for task in "abc"] == answers


@pytest.mark.parametrize("text", ["", "trial", "trial--1", "mean", "1.5", "best of", "trial-1/x", "٣x"])
def test_an_unknown_selection_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="trial-N, best, worst"):
        parse_selection(text)


def test_a_trial_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(Refused, match="trial-0, trial-1, trial-2, best, worst"):
        parse_selection("9").check(recording())


def test_resampling_is_of_all_tasks_and_by_the_seed() -> None:
    first, again, other = (list(resampled(recording(), 60, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert set(first) == {"a", "b", "c"}


REPLIES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "stable to a user": ("agent/trial-0/floor/trial-1", {"dry_run": False}, "a0"),
    "the second copy of stable": ("agent/trial-0/floor/trial-1", {"dry_run": True}, "a1"),
    "a mirrored candidate": ("agent/trial-2", {"dry_run": True}, "a2"),
    "a candidate to a user": ("agent/trial-2", {}, "a2"),
}


@pytest.mark.parametrize("case", REPLIES)
def test_the_agent_answers_by_selection(case: str) -> None:
    path, envelope, expected = REPLIES[case]
    output = ReplayApp(recording()).reply(path.split("/"), envelope | {"input": {"task_id": "a"}})
    assert output["answer"] == expected


@pytest.mark.parametrize(
    ("query", "runs", "seed"),
    [("", 1, 1), ("runs=5", 5, 1), ("runs=5&seed=2", 5, 2), ("runs=x&seed=-1", 1, 1)],
)
def test_the_tasks_to_send_are_the_draws_of_a_backtest(query: str, runs: int, seed: int) -> None:
    said = ReplayApp(recording()).tasks(query).decode()
    assert said.splitlines() == list(resampled(recording(), runs, seed))


def test_the_evaluator_gives_the_recorded_reward() -> None:
    given = {"input": {"task_id": "b", "trial": 1}}
    assert ReplayApp(recording()).reply(["evaluator"], given) == {"reward": 0.25}


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "an unknown task": (
        "agent/best",
        {"task_id": "z"},
        "no recorded run of task 'z'; test.json has 3: a, b, c",
    ),
    "an unknown trial": ("evaluator", {"task_id": "a", "trial": 9}, "no trial 9"),
    "a trial that cannot be one": ("evaluator", {"task_id": "a"}, "no trial None"),
    "an unknown component": ("planner", {"task_id": "a"}, "no component /planner"),
    "a floor without a selection": ("agent/best/floor", {"task_id": "a"}, "no component"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_was_not_recorded_is_not_found(case: str) -> None:
    path, given, message = WRONG[case]
    with pytest.raises(NotFound, match=message):
        ReplayApp(recording()).reply(path.split("/"), {"input": given})


async def test_over_http_an_error_is_an_envelope_with_a_status() -> None:
    listening: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(serve(ReplayApp(recording()), "127.0.0.1", 0, listening.set_result))
    base = f"http://127.0.0.1:{await listening}"
    async with aiohttp.ClientSession() as client:
        for path, body, status, found in (
            ("agent/best", json.dumps({"input": {"task_id": "b"}}), 200, "b0"),
            ("agent/best", json.dumps({"input": {"task_id": "z"}}), 404, "z"),
            ("agent/middle", json.dumps({"input": {"task_id": "a"}}), 400, "trial-N"),
            ("agent/best", "[1]", 400, "task_id"),
            ("agent/best", "{", 400, "task_id"),
        ):
            async with client.post(f"{base}/{path}", data=body) as response:
                assert response.status == status, path
                assert found in await response.text()
        async with client.get(f"{base}/tasks?runs=3") as response:
            assert len((await response.text()).split()) == 3
    server.cancel()
    await asyncio.gather(server, return_exceptions=True)


async def test_a_taken_port_is_refused() -> None:
    listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        with pytest.raises(Refused, match="--port"):
            await serve(ReplayApp(recording()), "127.0.0.1", port, lambda _: None)


def test_the_written_files_are_two_versions_of_one_workflow(tmp_path: Path) -> None:
    options = ReplayOptions(file=Path("runs.json"), stable="0", candidate="worst", floor="1")
    stable, candidate = (
        yaml.safe_load(path.read_text()) for path in write_workflows(tmp_path / "new", options, "http://h:1")
    )
    urls = [document["spec"]["components"][0]["endpoint"]["url"] for document in (stable, candidate)]
    assert urls == ["http://h:1/agent/trial-0/floor/trial-1", "http://h:1/agent/worst"]
    assert stable["metadata"] == candidate["metadata"]
    assert stable["spec"]["version"] != candidate["spec"]["version"]
