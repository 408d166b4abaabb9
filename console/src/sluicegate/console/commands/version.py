"""`sluicegate version`."""

import typer

from sluicegate.console import output, places
from sluicegate.console.client import Object
from sluicegate.console.output import Format
from sluicegate.console.session import SHARED, Output, open_session, with_options
from sluicegate.contracts.errors import SluicegateError

SECONDS = 2.0


def _version(*, format: Output = Format.TABLE) -> None:
    """Show the version of this program, and of the server."""


def _show(ctx: typer.Context, *, format: Format, **_: object) -> None:
    from importlib.metadata import version as installed

    client = {"version": installed("sluicegate")}
    server: Object | None
    try:
        server = open_session(places.of(ctx), timeout=SECONDS).client.server_version()
    except SluicegateError as error:
        server, why = None, str(error).splitlines()[0]
    if output.structured({"client": client, "server": server}, format):
        return
    output.echo(f"client {client['version']}")
    if server is None:
        output.echo("server not running" if not places.of(ctx).is_cluster else f"server: {why}")
    elif "kubernetes" in server:
        output.echo(f"kubernetes {server['kubernetes']}  ({server['server']}, context {server['context']})")
    else:
        output.echo(f"server {server['version']}  (pid {server.get('pid')}, since {server.get('startedAt')})")
        output.echo(f"gateway {server.get('gatewayUrl')}  metrics {server.get('metricsUrl')}")


_show.__doc__ = _version.__doc__
version = with_options(_version, _show, SHARED)
