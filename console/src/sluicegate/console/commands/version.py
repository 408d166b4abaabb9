"""`sluicegate version`."""

from sluicegate.console import output
from sluicegate.console.client import Client
from sluicegate.console.output import Format
from sluicegate.console.session import Output, StateDir
from sluicegate.contracts.errors import SluicegateError


def version(*, format: Output = Format.TABLE, state_dir: StateDir = None) -> None:
    """Show the version of this program, and of the one that runs."""
    from importlib.metadata import version as installed

    client: dict[str, str] = {"version": installed("sluicegate")}
    try:
        server = Client(state_dir, timeout=2.0).server_version()
    except SluicegateError:
        server = None
    if output.structured({"client": client, "server": server}, format):
        return
    output.echo(f"client {client['version']}")
    if server is None:
        output.echo("server not running")
        return
    output.echo(f"server {server['version']}  (pid {server.get('pid')}, since {server.get('startedAt')})")
    output.echo(f"gateway {server.get('gatewayUrl')}  metrics {server.get('metricsUrl')}")
