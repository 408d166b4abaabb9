"""Settings of ``python -m sluicegate.operator lineage``. Light: the command line imports it."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.operator.cluster import names

HOST: Final = "0.0.0.0"  # noqa: S104 - in a pod, behind a Service
PORT: Final = 8090
METRICS_PORT: Final = 9464


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageConfig:
    """Port 0: any free one, logged as `listening`. tls: certificate and key files, read again when they change.

    gateways, operators: user names that may write spools and ask for evidence. audiences: of tokens, one of these; none:
    the API server's own. most_waiting: bytes of spools not yet stored, beyond which gateways have to wait.
    """

    state: Path
    host: str = HOST
    port: int = PORT
    metrics_port: int = METRICS_PORT
    tls: tuple[Path, Path] | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    watch: tuple[str, ...] = ()
    gateways: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    audiences: tuple[str, ...] = ()
    most_waiting: int = 4 << 30
    stop_seconds: float = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is not shared by all processes (`--kubeconfig`, `--context`, `--namespace`, `--watch`)."""
    parser.add_argument("--state", type=Path, required=True, help="folder of the store and of what came in")
    parser.add_argument("--host", default=HOST, help="address to listen on")
    parser.add_argument("--port", type=int, default=PORT, help="port; 0: any")
    parser.add_argument("--metrics-port", type=int, default=METRICS_PORT, help="0: any")
    parser.add_argument("--tls-cert", type=Path, default=None, help="PEM file; with --tls-key")
    parser.add_argument("--tls-key", type=Path, default=None, help="PEM file; with --tls-cert")
    account = "a user name, repeatable; default: the service account of that name in the system namespace"
    parser.add_argument("--gateway-account", action="append", default=[], help=f"may write spools: {account}")
    parser.add_argument("--operator-account", action="append", default=[], help=f"may ask: {account}")
    parser.add_argument(
        "--audience", action="append", default=[], help="tokens must be for one of these; repeatable"
    )


def config_of(arguments: argparse.Namespace) -> LineageConfig:
    """The settings of a command line. Refused for half a certificate: without TLS tokens would go over the wire in the clear."""
    namespace = getattr(arguments, "namespace", None) or names.SYSTEM_NAMESPACE
    certificate, key = arguments.tls_cert, arguments.tls_key
    if (certificate is None) != (key is None):
        given, absent = ("--tls-cert", "--tls-key") if key is None else ("--tls-key", "--tls-cert")
        hint = f"give {absent} too; without both it answers in plain HTTP"
        raise Refused((Problem(path=absent, message=f"is missing beside {given}", hint=hint),))
    return LineageConfig(
        state=arguments.state,
        host=arguments.host,
        port=arguments.port,
        metrics_port=arguments.metrics_port,
        tls=(certificate, key) if certificate and key else None,
        kubeconfig=arguments.kubeconfig,
        context=arguments.context,
        watch=_all(getattr(arguments, "watch", None)),
        gateways=_all(arguments.gateway_account) or (names.account(names.GATEWAY_ACCOUNT, namespace),),
        operators=_all(arguments.operator_account) or (names.account(names.OPERATOR_ACCOUNT, namespace),),
        audiences=_all(arguments.audience),
    )


def _all(given: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(given or ())
