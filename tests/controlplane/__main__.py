"""`python -m tests.controlplane up|build|path`: a control plane for people."""

import argparse
import signal
import sys
import threading

from tests.controlplane import binaries, installation, manifests
from tests.controlplane.plane import ControlPlane


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="make sure that the programs are there (first time: about 15 minutes)")
    commands.add_parser("path", help="print the folder of the programs; it may not be there yet")
    up = commands.add_parser("up", help="run a control plane until Ctrl-C")
    up.add_argument("--nodes", action="store_true", help="with kube-scheduler and simulated nodes (kwok)")
    up.add_argument("--bare", action="store_true", help="without the project's kinds")
    arguments = parser.parse_args()
    if arguments.command == "path":
        print(binaries.cache())
        return 0
    try:
        found = binaries.find()
    except binaries.NoControlPlane as error:
        print(error, file=sys.stderr)
        return 1
    if isinstance(found, binaries.Existing):
        print(f"the cluster of {found.kubeconfig} is used")
        return 0
    if arguments.command == "build":
        print(f"control plane: {found.folder}")
        return 0
    return _up(found, nodes=arguments.nodes, bare=arguments.bare)


def _up(found: binaries.Binaries, *, nodes: bool, bare: bool) -> int:
    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: done.set())
    with ControlPlane(found, nodes=nodes) as plane:
        if not bare:
            installation.install(plane)
        for user in manifests.USERS:
            print(f"export KUBECONFIG={plane.kubeconfig(user)}  # {user}")
        print(f"alias kubectl={found.path('kubectl')}\nlogs: {plane.folder}/logs; Ctrl-C ends it", flush=True)
        done.wait()
    return 0


sys.exit(main())
