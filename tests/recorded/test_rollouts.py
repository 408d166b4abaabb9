"""Real agent behaviour (tau-bench airline, gpt-4o) in real rollouts: `sluicegate up`, its gateway, `sluicegate replay`.

Stable is trial 0. Against trial 3 of the same agent (both succeed in 21 of 50 tasks) nothing may be aborted but by
chance (abort alpha 0.01); the worst of the four trials per task against the best must always be. One workflow per
seed, all at once in one `up`.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sluicegate.console.client import ROLLOUTS, WORKFLOWS
from sluicegate.console.demo.processes import Children, runs_url, until
from sluicegate.console.local import LocalClient
from sluicegate.console.recordings import Recording
from sluicegate.console.replay.tasks import resampled
from sluicegate.console.replay.workflows import ReplayWorkflow
from sluicegate.console.traffic import Answer, Session, Tally, drive
from tests.recorded.pairings import PAIRINGS, SEEDS, backtest

pytestmark = [pytest.mark.e2e, pytest.mark.recorded, pytest.mark.alone]

NAMESPACE = "default"
RATE = 2.0  # runs per second and workflow; forty of them share the machine with other tests
RUNS = 450  # per workflow, and as many as a backtest sees
MOST_RUNS = 2 * RUNS  # where stages follow each other late, on a busy machine
SECONDS = 600.0


Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class World:
    """The rollouts as they ended, by pairing and seed, and the users' answers."""

    rollouts: dict[Key, dict[str, Any]]
    tallies: dict[Key, Tally]

    def outcomes(self, pairing: str) -> list[str]:
        return [str((self.rollouts[pairing, seed].get("status") or {}).get("outcome", "")) for seed in SEEDS]


def name_of(pairing: str, seed: int) -> str:
    return f"{pairing}-{seed}"


def document(base: str, pairing: str, seed: int, *, candidate: bool) -> dict[str, Any]:
    chosen = PAIRINGS[pairing]
    name = name_of(pairing, seed)
    version = ReplayWorkflow(base=base, name=name, selection=chosen.stable, floor="trial-1")
    if candidate:
        version = ReplayWorkflow(base=base, name=name, selection=chosen.candidate, version="2.0.0")
    found = version.document()
    found["metadata"]["namespace"] = NAMESPACE
    found["spec"]["rollout"]["evaluationIntervalSeconds"] = 2
    return found


def everything(base: str, *, candidate: bool) -> list[dict[str, Any]]:
    return [document(base, pairing, seed, candidate=candidate) for pairing in PAIRINGS for seed in SEEDS]


@contextmanager
def replaying(file: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "sluicegate.console.main", "replay", str(file), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            yield next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        finally:
            process.terminate()


async def send(client: LocalClient, recording: Recording, tallies: dict[Key, Tally]) -> None:
    """Every workflow gets its seed's tasks, in the order in which a backtest sees them, until its rollout is over."""
    stops = {key: asyncio.Event() for key in tallies}
    looking = asyncio.create_task(stop_what_is_over(client, stops, tallies))
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        for (pairing, seed), tally in tallies.items():
            tasks = resampled(recording, MOST_RUNS, seed)
            sessions = (Session(inputs=({"task_id": task},)) for task in tasks)
            url, stop = runs_url(client, name_of(pairing, seed)), stops[pairing, seed]
            group.create_task(drive(url, sessions, rate=RATE, seed=seed, tally=tally, stop=stop))
    looking.cancel()


async def stop_what_is_over(
    client: LocalClient, stops: dict[Key, asyncio.Event], tallies: dict[Key, Tally]
) -> None:
    while True:
        rollouts = await asyncio.to_thread(listed, client)
        for key, event in stops.items():
            if is_over(rollouts[name_of(*key)].get("status") or {}, len(tallies[key].answers)):
                event.set()
        await asyncio.sleep(0.5)  # between two looks, not in place of one


def is_over(status: dict[str, Any], runs: int) -> bool:
    """Done, or Shadow is left and a backtest would have no more runs."""
    left = {record["stage"] for record in status.get("history", [])}
    return status.get("state") == "Done" or (runs >= RUNS and "Shadow" in left)


def listed(client: LocalClient) -> dict[str, dict[str, Any]]:
    return {item["spec"]["workflow"]: item for item in client.listing(ROLLOUTS, NAMESPACE)}


def is_stable(client: LocalClient) -> bool:
    items = client.listing(WORKFLOWS, NAMESPACE)
    return all((item.get("status") or {}).get("phase") == "Healthy" for item in items)


def is_mirroring(client: LocalClient) -> bool:
    """Every gateway has the plan of every first stage."""
    found = [item.get("status") or {} for item in listed(client).values()]
    programmed = [status.get("planVersion", 0) <= status.get("programmedVersion", -1) for status in found]
    return (
        len(found) == len(PAIRINGS) * len(SEEDS)
        and all(status.get("stage") for status in found)
        and all(programmed)
    )


def worlds(file: Path, recording: Recording, folder: Path) -> World:
    tallies = {(pairing, seed): Tally() for pairing in PAIRINGS for seed in SEEDS}
    with replaying(file) as base, Children(folder / "logs") as children:
        client = children.up(folder / "s")
        client.apply(everything(base, candidate=False))
        assert until(lambda: is_stable(client), 180), children.tail("up")
        client.apply(everything(base, candidate=True))
        assert until(lambda: is_mirroring(client), 180), children.tail("up")
        asyncio.run(send(client, recording, tallies))
        children.check()
        rollouts = listed(client)
    return World({key: rollouts[name_of(*key)] for key in tallies}, tallies)


def test_recorded_agents_in_real_rollouts(tau_bench_file: Path, tau_bench: Recording, tmp_path: Path) -> None:
    """One test, since one `up` runs all of them."""
    world = worlds(tau_bench_file, tau_bench, tmp_path)
    assert world.outcomes("same").count("Aborted") <= 1
    assert world.outcomes("worse") == ["Aborted"] * len(SEEDS)
    for pairing, seed in world.rollouts:
        backtested = backtest(tau_bench, pairing, seed, runs=RUNS).outcome
        live = world.rollouts[pairing, seed]["status"].get("outcome")
        assert (backtested == "Aborted") == (live == "Aborted"), (pairing, seed, backtested, live)
    for seed in SEEDS:
        check_aborted_where_the_evidence_first_suffices(world.rollouts["worse", seed]["status"])
        assert set(world.tallies["worse", seed].by_version()) == {"1.0.0"}
    check_compared_with_the_noise_floor(world)
    assert failures(world) == []


def failures(world: World) -> list[tuple[Key, Answer]]:
    """Users who got no answer."""
    return [(key, one) for key, tally in world.tallies.items() for one in tally.answers if one.status != 200]


def check_compared_with_the_noise_floor(world: World) -> None:
    """In Shadow nearly every answer differs, between two copies of stable as well, and that is not held against it."""
    seen = [floor_gate(world.rollouts["same", seed]["status"]) for seed in SEEDS]
    assert all(gate["verdict"] in {"Pass", "Wait"} for gate in seen)
    assert sum(gate["verdict"] == "Pass" for gate in seen) >= len(SEEDS) / 2
    assert all(float(gate["stable"]) > 0.5 for gate in seen)


def floor_gate(status: dict[str, Any]) -> dict[str, Any]:
    """The gate on disagreement when Shadow was left, or as it is now."""
    gates = next(
        (record["gates"] for record in status["history"] if record["stage"] == "Shadow"), status["gates"]
    )
    return next(gate for gate in gates if gate["name"] == "disagreement")


def check_aborted_where_the_evidence_first_suffices(status: dict[str, Any]) -> None:
    """Rewards differ by 0.52 on average (36 against 10 of 50 tasks succeed): about 30 runs, so in Canary."""
    assert [record["stage"] for record in status["history"]] == ["Canary"]
    failed = {gate["name"]: gate for gate in status["gates"] or status["history"][-1]["gates"]}
    assert failed["reward"]["verdict"] == "Fail"
    assert failed["reward"]["have"] <= 150
    assert failed["reward"]["runs"]
