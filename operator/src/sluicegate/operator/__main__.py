"""``python -m sluicegate.operator {controller|gateway|lineage}``: the processes of a cluster."""

import argparse
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from sluicegate.operator.cluster import names

Main = Callable[[argparse.Namespace], int]


class Process(NamedTuple):
    """Modules, imported when they are needed: a gateway needs no kopf."""

    config: str
    runner: str
    summary: str


PROCESSES: Final = {
    "controller": Process(
        "sluicegate.operator.cluster.config",
        "sluicegate.operator.cluster.runner",
        "the control loop (on the leader) and the admission webhook (on every replica)",
    ),
    "gateway": Process(
        "sluicegate.operator.edge.config",
        "sluicegate.operator.edge.runner",
        "serves runs: the gateway's workers and their companion",
    ),
    "lineage": Process(
        "sluicegate.operator.lineage_server.config",
        "sluicegate.operator.lineage_server.runner",
        "takes the runs of gateways in and answers for evidence",
    ),
}


def parser() -> argparse.ArgumentParser:
    """Of all three."""
    made = argparse.ArgumentParser(prog="python -m sluicegate.operator", description=__doc__)
    commands = made.add_subparsers(dest="process", required=True, metavar="|".join(PROCESSES))
    for name, process in PROCESSES.items():
        command = commands.add_parser(name, help=process.summary, description=process.summary)
        _add_shared(command)
        import_module(process.config).add_arguments(command)
    return made


def _add_shared(command: argparse.ArgumentParser) -> None:
    home = os.environ.get("POD_NAMESPACE") or names.SYSTEM_NAMESPACE
    command.add_argument("--kubeconfig", type=Path, default=None, help="absent: the pod's service account")
    command.add_argument("--context", default=None, help="of the kubeconfig; absent: its current one")
    command.add_argument("--namespace", default=home, help=f"where Sluicegate is installed; default: {home}")
    command.add_argument(
        "--watch", action="append", default=None, metavar="NAMESPACE", help="repeatable; absent: all"
    )


def main(words: list[str] | None = None) -> int:
    """The exit code of the process."""
    arguments = parser().parse_args(words)
    run: Main = import_module(PROCESSES[arguments.process].runner).main
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
