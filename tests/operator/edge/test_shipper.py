"""Spools on their way to the lineage process, without one."""

from pathlib import Path

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.operator.edge.shipper import Shipper
from sluicegate.operator.lineage_server import wire
from sluicegate.operator.lineage_server.wire import Received
from sluicegate.operator.loop.clock import HostClock

ID = "a" * 32


class Client:
    """Takes everything but what a worker named `odd` wrote."""

    def __init__(self) -> None:
        self.taken: dict[str, bytes] = {}

    async def call(
        self, method: str, path: str, body: bytes = b"", *, query: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        if "/odd/" in path:
            raise Refused((Problem(path="segment", message="is no name of a spool's segment"),))
        held = self.taken.get(path, b"") + body
        if method == "PUT":
            self.taken[path] = held
        return 200, wire.encode(wire.RECEIVED, Received(len(held), finished="final" in (query or {})))


async def test_a_writer_whose_runs_are_not_taken_does_not_stop_the_others(tmp_path: Path) -> None:
    for worker in ("odd", "w0"):
        (tmp_path / f"{worker}-{ID}-000000.spool").write_bytes(b"{}\n")
    client = Client()
    shipper = Shipper(
        spool=tmp_path,
        gateway="g1",
        client=client,
        clock=HostClock(),
        on_lag=lambda _: None,
        on_failure=lambda: None,
    )
    for _ in range(3):
        await shipper.step()
    assert list(client.taken.values()) == [b"{}\n"]
    assert shipper.failing is not None
    assert (tmp_path / f"odd-{ID}-000000.spool").exists()
    assert not (tmp_path / f"w0-{ID}-000000.spool").exists()
    shipper.close()
