"""Run as a program: a writer, the gateway's shipper and the lineage process are killed (SIGKILL), over and over.

Prints one JSON object: what the writer was told is written, and how often each was killed. Processes are forked from this
one, which has imported everything, so that a kill costs milliseconds; each lives until it has moved something.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sluicegate.contracts.adapters.system import seeded
from sluicegate.lineage.store import LineageStore
from sluicegate.operator.cluster.kube_access import FixedToken
from sluicegate.operator.cluster.remote import LineageClient
from sluicegate.operator.edge.shipper import Shipper
from sluicegate.operator.lineage_server import config, runner
from sluicegate.operator.loop.clock import HostClock
from tests.controlplane.processes import free_port
from tests.lineage import kill_loop
from tests.lineage.kill_loop import drain, fork, kill

SYSTEM = "sluicegate-system"


def write(spool: Path, prefix: str, tell: int) -> None:
    """Append runs until killed, some hundreds a second."""
    sleep = time.sleep
    kill_loop.time.sleep = lambda _: sleep(0.05)  # type: ignore[attr-defined]
    kill_loop.write(spool, prefix, tell)


def ship(spool: Path, port: int, token: str) -> None:
    """Ship until killed."""

    async def main() -> None:
        client = LineageClient(f"http://127.0.0.1:{port}", FixedToken(token))
        await Shipper(
            spool=spool,
            gateway="g1",
            client=client,
            clock=HostClock(),
            on_lag=lambda _: None,
            on_failure=lambda: None,
        ).run()

    _quietly(spool.parent / "shipper.log")
    asyncio.run(main())


def serve(root: Path, port: int, kubeconfig: str) -> None:
    """The lineage process, until killed."""
    parser = argparse.ArgumentParser()
    config.add_arguments(parser)
    given = ["--state", str(root), "--host", "127.0.0.1", "--port", str(port), "--metrics-port", "0"]
    arguments = parser.parse_args(given)
    arguments.kubeconfig, arguments.context, arguments.namespace = Path(kubeconfig), None, SYSTEM
    _quietly(root.parent / "lineage.log")
    os._exit(runner.main(arguments))


def _quietly(path: Path) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(fd, 2)


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("nothing moves any more")
        time.sleep(0.005)


def stored(root: Path) -> int:
    store = LineageStore(root / "lineage.db")
    try:
        return store.counts().get("runs", 0)
    finally:
        store.close()


def main(folder: Path, kubeconfig: str, token: str, kills: int, seed: int) -> None:
    chance, spool, root = seeded(seed), folder / "spool", folder / "lineage"
    port = free_port()
    told, tell = os.pipe()
    acknowledged: list[str] = []
    starts: dict[str, Callable[[int], int]] = {
        "lineage": lambda _: fork(serve, root, port, kubeconfig),
        "shipper": lambda _: fork(ship, spool, port, token),
        "writer": lambda number: fork(write, spool, f"writer-{number:03d}", tell),
    }
    live = {name: start(0) for name, start in starts.items()}
    until((root / "lineage.db").exists)
    for number in range(1, kills + 1):
        before = stored(root)
        until(lambda before=before: stored(root) > before)  # type: ignore[misc]
        time.sleep(chance.uniform(0.0, 0.1))
        name = chance.choice(sorted(starts))
        assert kill(live[name]), f"the {name} ended by itself"
        live[name] = starts[name](number)
        acknowledged += drain(told)
    kill(live.pop("writer"))
    acknowledged += drain(told)
    until(lambda: not list(spool.glob("*.spool")))
    until(lambda: not list((root / "spool").glob("*.spool")))
    ended = {name: kill(pid) for name, pid in live.items()}
    print(json.dumps({"acknowledged": acknowledged, "ended": ended}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
