"""Spools on their way to the lineage process, without one."""

import asyncio
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.operator.edge.shipper import Shipper
from sluicegate.operator.lineage_server import wire
from sluicegate.operator.lineage_server.wire import Received
from sluicegate.operator.loop.clock import HostClock
from sluicegate.operator.ports import LoopClock

ID = "a" * 32


class Client:
    """Takes everything but what a worker named `odd` wrote."""

    def __init__(self) -> None:
        self.taken: dict[str, bytes] = {}
        self.refused = 0

    async def call(
        self, method: str, path: str, body: bytes = b"", *, query: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        if "/odd/" in path:
            self.refused += 1
            raise Refused((Problem(path="segment", message="is no name of a spool's segment"),))
        held = self.taken.get(path, b"") + body
        if method == "PUT":
            self.taken[path] = held
        return 200, wire.encode(wire.RECEIVED, Received(len(held), finished="final" in (query or {})))


class Hand:
    """A clock that only a sleeper moves, for ten minutes. first: what lay in the spool at its first sleep."""

    def __init__(self, spool: Path) -> None:
        self.spool, self.seconds, self.passed = spool, 0.0, asyncio.Event()
        self.first: list[str] | None = None

    def now(self) -> datetime:
        raise NotImplementedError

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        if self.first is None:
            self.first = sorted(path.name for path in self.spool.glob("*.spool"))
        self.seconds += seconds
        if self.seconds >= 600.0:
            self.passed.set()
            await asyncio.Event().wait()


def shipper_of(spool: Path, client: Client, clock: LoopClock, failed: list[None]) -> Shipper:
    return Shipper(
        spool=spool,
        gateway="g1",
        client=client,
        clock=clock,
        on_lag=lambda _: None,
        on_failure=lambda: failed.append(None),
    )


async def test_a_writer_whose_runs_are_not_taken_does_not_stop_the_others(tmp_path: Path) -> None:
    for worker in ("odd", "w0"):
        (tmp_path / f"{worker}-{ID}-000000.spool").write_bytes(b"{}\n")
    client, failed = Client(), list[None]()
    shipper = shipper_of(tmp_path, client, HostClock(), failed)
    for _ in range(3):
        await shipper.step()
    assert list(client.taken.values()) == [b"{}\n"]
    assert shipper.failing is not None
    assert len(failed) == client.refused, "tries, not steps"
    assert (tmp_path / f"odd-{ID}-000000.spool").exists()
    assert not (tmp_path / f"w0-{ID}-000000.spool").exists()
    shipper.close()


async def test_a_writer_whose_runs_are_not_taken_does_not_slow_the_others(tmp_path: Path) -> None:
    """It pauses alone, ever longer; whoever has runs that are taken never waits for it."""
    (tmp_path / f"odd-{ID}-000000.spool").write_bytes(b"{}\n")
    for number in range(20):
        (tmp_path / f"w0-{ID}-{number:06d}.spool").write_bytes(b"{}\n")
    client, clock = Client(), Hand(tmp_path)
    shipper = shipper_of(tmp_path, client, clock, [])
    task = asyncio.ensure_future(shipper.run())
    async with asyncio.timeout(90):
        await clock.passed.wait()
    assert clock.first == [f"odd-{ID}-000000.spool"], "nobody slept while there was something to ship"
    assert 40 < client.refused < 400, "about every 5 s of 600, after a quick beginning"
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    shipper.close()
