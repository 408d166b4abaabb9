"""`sluicegate up`: the control plane and the gateway of this machine, in the foreground."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sluicegate.console import output, program
from sluicegate.console.local import LocalClient
from sluicegate.console.session import StateDir
from sluicegate.contracts.errors import SluicegateError

Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--filename",
        "-f",
        help="Apply this file or folder once it runs; may be repeated.",
        show_default=False,
    ),
]
START_SECONDS = 30.0


def up(  # noqa: PLR0913 - one parameter per option
    *,
    filename: Files = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Gateway processes.")] = 1,
    host: Annotated[str, typer.Option(help="Address of the gateway.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the gateway; 0: any free one.")] = 8080,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of /metrics; 0: any free one.")
    ] = 9464,
    allow_jobs: Annotated[
        bool,
        typer.Option("--allow-jobs", help="Gates with source.job run their command on this machine, as you."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress lines.")] = False,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", hidden=True, help="Stop when standard input, a pipe, ends.")
    ] = False,
    state_dir: StateDir = None,
) -> int:
    """Run Sluicegate on this machine: API, control loop, gateway and metrics. Ctrl-C stops it; state is kept."""
    from sluicegate.console.files import read
    from sluicegate.operator.local.config import LocalConfig
    from sluicegate.operator.local.runner import run_local
    from sluicegate.operator.local.state_dir import default_state_dir

    program.only_here("up", "the Helm chart runs Sluicegate on a cluster; `sluicegate up` on this machine")
    documents = read(filename) if filename else ()  # a broken file is told before anything starts
    folder = (state_dir or default_state_dir()).expanduser()
    if documents:
        threading.Thread(target=_apply_when_ready, args=(LocalClient(folder), documents), daemon=True).start()
    return run_local(
        LocalConfig(
            state_dir=folder,
            host=host,
            gateway_port=port,
            metrics_port=metrics_port,
            workers=workers,
            allow_jobs=allow_jobs,
            quiet=quiet,
            stop_with_stdin=stop_with_stdin,
        )
    )


def _apply_when_ready(client: LocalClient, documents: Sequence[dict[str, Any]]) -> None:
    """Apply as soon as the API answers; a refusal is said and leaves everything running."""
    from sluicegate.console.commands.apply import said, with_namespace
    from sluicegate.console.waiting import until_ready

    try:
        until_ready(client, START_SECONDS)
        for applied in client.apply([with_namespace(document, "default") for document in documents]):
            output.note(said(applied))
    except SluicegateError as error:
        output.note(f"error: -f was not applied: {error}")
