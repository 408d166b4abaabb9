"""Restarts and clocks: a stage is as long as it has to be, and everything happens once."""

import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.cluster.product import Product, running
from tests.cluster.test_rollouts import NEW, STAGES, stable
from tests.controlplane.plane import ControlPlane
from tests.operator.samples import staged
from tests.operator.up import until

pytestmark = pytest.mark.cluster
RESTARTS = 20
MINIMUM = timedelta(seconds=45)
DELAYS = (0.0, 0.3, 0.8, 1.2, 1.6, 2.0, 2.5)
"""Seconds from a start to its kill."""


STEPPED = """
import sys
from datetime import timedelta
from pathlib import Path
from sluicegate.contracts.adapters import system
really, ahead = system.now, Path(sys.argv.pop(1))
system.now = lambda: really() + timedelta(seconds=float(ahead.read_text()))
from sluicegate.operator.__main__ import main
sys.exit(main())
"""
"""The wall clock of the process is so many seconds ahead of the host's; the monotonic clock is the host's."""


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the seconds."""
    path = tmp_path_factory.mktemp("clock") / "ahead"
    step(path, 0)
    return path


def step(ahead: Path, minutes: int) -> None:
    """In one move: the operator reads it all the time."""
    fresh = ahead.with_suffix(".new")
    fresh.write_text(str(60 * minutes))
    fresh.replace(ahead)


@pytest.fixture(scope="module")
def product(
    cluster: ControlPlane, ahead: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    with running(cluster, tmp_path_factory.mktemp("again") / "p", operators=0) as product:
        operator = product.add_operator()
        operator.command = [sys.executable, "-c", STEPPED, str(ahead), *operator.command[3:]]
        operator.start()
        yield product


def long_canary(url: str) -> dict[str, object]:
    item = staged(NEW, url)
    item["spec"]["rollout"]["stages"][0]["minDurationSeconds"] = int(MINIMUM.total_seconds())
    return item


def test_twenty_restarts_neither_shorten_a_stage_nor_repeat_it(product: Product, url: str) -> None:
    place = stable(product, url, "storm")
    place.apply(long_canary(url))
    place.reach("Canary", NEW)
    started = place.status(NEW)["stageStartedAt"]
    operator = product.operators[0]
    for number in range(RESTARTS):
        operator.kill()
        operator.spawn()
        place.crowd(4)
        # Not a wait for something: the kill has to come at any moment of a start.
        time.sleep(DELAYS[number % len(DELAYS)])
        status = place.status(NEW)
        if status["state"] == "Canary":
            assert status["stageStartedAt"] == started
    until("ready", operator.is_ready)
    done = place.reach("Done", NEW, 120)
    first, *rest = done["status"]["history"]
    assert first["startedAt"] == started
    assert datetime.fromisoformat(first["endedAt"]) - datetime.fromisoformat(started) >= MINIMUM
    assert [one["stage"] for one in rest] == ["Shadow", "Controlled", "Full"]
    assert (done["status"]["outcome"], done["status"]["attempt"]) == ("Promoted", 1)
    assert len(place.rollouts()) == 1


@pytest.mark.parametrize("minutes", [10, -10])
def test_a_step_of_the_clock_neither_skips_nor_repeats_a_stage(
    product: Product, url: str, ahead: Path, minutes: int
) -> None:
    """While the operator's clock is off, its evidence is stale or its shares have ended: nobody advances on that. Then
    the clock comes back, another step, and the rollout goes on where it was.
    """
    place = stable(product, url, f"step-{'back' if minutes < 0 else 'on'}")
    place.apply(staged(NEW, url, needs={"Shadow": 60}))
    place.reach("Shadow", NEW)
    before = place.status(NEW)
    step(ahead, minutes)
    try:
        for _ in range(40):
            place.crowd(4)
            status = place.status(NEW)
            assert status["startedAt"] == before["startedAt"]
            assert not status.get("held")
            assert [one["stage"] for one in status["history"]] in (STAGES[:n] for n in range(1, 5))
    finally:
        step(ahead, 0)
    status = place.reach("Done", NEW, 120)["status"]
    assert (status["outcome"], status["attempt"]) == ("Promoted", 1)
    assert status["startedAt"] == before["startedAt"]
    assert [one["stage"] for one in status["history"]] == STAGES
