"""Settings of ``python -m sluicegate.operator controller``. Light: the command line imports it."""

import argparse
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.operator.cluster import names

_PORTS: Final = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """watch: namespaces; none: all. namespace: the operator's own. webhook_url: outside a cluster; None: the Service."""

    identity: str
    namespace: str = names.SYSTEM_NAMESPACE
    watch: tuple[str, ...] = ()
    kubeconfig: Path | None = None
    context: str | None = None
    lease_seconds: float = 15.0
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 9464
    webhook_host: str = "127.0.0.1"
    webhook_port: int = 9443
    webhook_url: str | None = None
    lineage_url: str | None = None
    lineage_ca: Path | None = None
    lineage_token: Path | None = None
    start_seconds: float = 60.0
    stop_seconds: float = 5.0  # for the looks that are under way


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is not shared by all processes (`--kubeconfig`, `--context`, `--namespace`, `--watch`)."""
    parser.add_argument(
        "--identity",
        default=None,
        help="of this replica, as the Lease names it; default: the host's name and a random part",
    )
    parser.add_argument(
        "--lease-seconds", type=float, default=15.0, help="a silent leader is followed after this"
    )
    parser.add_argument("--metrics-host", default="127.0.0.1", help="address of /metrics, /healthz, /readyz")
    parser.add_argument("--metrics-port", type=int, default=9464, help="0: any")
    parser.add_argument("--webhook-host", default="127.0.0.1", help="address of the admission server")
    parser.add_argument("--webhook-port", type=int, default=9443, help="0: any")
    parser.add_argument(
        "--webhook-url",
        default=None,
        help="how the API server reaches it outside a cluster; {port} is filled in",
    )
    parser.add_argument(
        "--lineage-url", default=None, help="of the lineage process; absent: no stage ever passes"
    )
    parser.add_argument("--lineage-ca", type=Path, default=None, help="PEM file: whom to believe")
    parser.add_argument(
        "--lineage-token", type=Path, default=None, help="file of a token; default: the API server's"
    )


def config_of(arguments: argparse.Namespace) -> ControllerConfig:
    """The settings of a command line; Refused with everything that is wrong."""
    problems = tuple(_problems(arguments))
    if problems:
        raise Refused(problems)
    host = os.environ.get("POD_NAME") or socket.gethostname().lower()
    return ControllerConfig(
        identity=arguments.identity or f"{host}-{system.new_uid()[:8]}",
        namespace=arguments.namespace,
        watch=tuple(sorted(set(arguments.watch or ()))),
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        lease_seconds=arguments.lease_seconds,
        metrics_host=arguments.metrics_host,
        metrics_port=arguments.metrics_port,
        webhook_host=arguments.webhook_host,
        webhook_port=arguments.webhook_port,
        webhook_url=arguments.webhook_url,
        lineage_url=arguments.lineage_url,
        lineage_ca=arguments.lineage_ca,
        lineage_token=arguments.lineage_token,
    )


def _problems(arguments: argparse.Namespace) -> Iterator[Problem]:
    if not arguments.lease_seconds >= 3:
        yield Problem(
            path="--lease-seconds",
            message="too short",
            value=str(arguments.lease_seconds),
            allowed="3 or more",
        )
    for name in ("metrics_port", "webhook_port"):
        port = getattr(arguments, name)
        if not 0 <= port <= _PORTS:
            yield Problem(path=_flag(name), message="no port", value=str(port), allowed=f"0 to {_PORTS}")
    for name, schemes in (("webhook_url", ("https",)), ("lineage_url", ("http", "https"))):
        url = getattr(arguments, name)
        if url is not None and (urlsplit(url).scheme not in schemes or not urlsplit(url).netloc):
            allowed = " or ".join(f"{scheme}://host:port" for scheme in schemes)
            yield Problem(path=_flag(name), message="no URL that can be used", value=url, allowed=allowed)
    for name in ("kubeconfig", "lineage_ca", "lineage_token"):
        path = getattr(arguments, name)
        if path is not None and not path.is_file():
            yield Problem(path=_flag(name), message="no such file", value=str(path))


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
