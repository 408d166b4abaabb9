"""Settings of ``python -m sluicegate.operator gateway``. Light: the command line imports it."""

import argparse
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sluicegate.operator.cluster import names
from sluicegate.operator.cluster.gateways import Pod

HOST: Final = "0.0.0.0"  # noqa: S104 - in a pod, behind a Service
PORT: Final = 8080
METRICS_PORT: Final = 9464


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeConfig:
    """Port 0: any free one, logged as `listening`. watch: namespaces; none: all.

    namespace: where the gateway's Lease is. lineage_url None: runs stay in the spool.
    """

    state: Path
    name: str
    namespace: str = names.SYSTEM_NAMESPACE
    watch: tuple[str, ...] = ()
    host: str = HOST
    port: int = PORT
    metrics_port: int = METRICS_PORT
    workers: int = 1
    kubeconfig: Path | None = None
    context: str | None = None
    pod: Pod | None = None
    lineage_url: str | None = None
    lineage_ca: Path | None = None
    lineage_token: Path | None = None
    secret_seconds: float = 60.0
    start_seconds: float = 60.0
    stop_seconds: float = 30.0  # for the runs in flight
    drain_seconds: float = 10.0  # for the spool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is not shared by all processes (`--kubeconfig`, `--context`, `--namespace`, `--watch`)."""
    parser.add_argument("--state", type=Path, required=True, help="folder of plans, credentials and spools")
    parser.add_argument("--name", default=None, help="of this gateway; default: $POD_NAME, else the host's")
    parser.add_argument("--host", default=HOST, help="address to listen on")
    parser.add_argument("--port", type=int, default=PORT, help="port for runs; 0: any")
    parser.add_argument("--metrics-port", type=int, default=METRICS_PORT, help="0: any")
    parser.add_argument("--workers", type=int, default=1, help="processes that serve")
    parser.add_argument("--lineage-url", default=None, help="of the lineage process; absent: runs stay here")
    parser.add_argument("--lineage-ca", type=Path, default=None, help="PEM file: whom to believe")
    parser.add_argument(
        "--lineage-token", type=Path, default=None, help="file of a token; default: the API server's"
    )
    parser.add_argument("--secret-seconds", type=float, default=60.0, help="how often Secrets are read again")


def config_of(arguments: argparse.Namespace) -> EdgeConfig:
    """The settings of a command line and of the pod's environment."""
    pod_name, uid = os.environ.get("POD_NAME"), os.environ.get("POD_UID")
    return EdgeConfig(
        state=arguments.state,
        name=arguments.name or pod_name or socket.gethostname().lower(),
        namespace=getattr(arguments, "namespace", None) or names.SYSTEM_NAMESPACE,
        watch=tuple(sorted(set(getattr(arguments, "watch", None) or ()))),
        host=arguments.host,
        port=arguments.port,
        metrics_port=arguments.metrics_port,
        workers=arguments.workers,
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        pod=Pod(name=pod_name, uid=uid) if pod_name and uid else None,
        lineage_url=arguments.lineage_url,
        lineage_ca=arguments.lineage_ca,
        lineage_token=arguments.lineage_token,
        secret_seconds=arguments.secret_seconds,
    )
