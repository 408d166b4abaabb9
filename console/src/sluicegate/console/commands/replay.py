"""`sluicegate replay`: recorded runs, served as components."""

from pathlib import Path
from typing import Annotated

import typer

Selection = "trial-N, best or worst"


def replay(  # noqa: PLR0913 - one parameter per option
    file: Annotated[Path, typer.Argument(help="Recorded runs (.json or .json.gz).")],
    *,
    format: Annotated[str, typer.Option("--format", help="Format of the file.")] = "tau-bench",
    stable: Annotated[
        str, typer.Option(help=f"What the stable version answers with: {Selection}.")
    ] = "trial-0",
    candidate: Annotated[str, typer.Option(help="What the candidate answers with.")] = "trial-1",
    floor: Annotated[
        str, typer.Option(help="What the second copy of stable answers with (the noise floor).")
    ] = "trial-1",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 9201,
    write_workflow: Annotated[
        Path | None,
        typer.Option(
            help="Folder for workflow.yaml and candidate.yaml that use these components.", show_default=False
        ),
    ] = None,
    latency_ms: Annotated[float, typer.Option(min=0.0, help="Median of the simulated answer time.")] = 0.0,
) -> int:
    """Serve the components of a workflow from recorded runs: try a rollout on real behaviour, without a model."""
    from sluicegate.console.replay import ReplayOptions
    from sluicegate.console.replay.command import run

    return run(
        ReplayOptions(
            file=file,
            format=format,
            host=host,
            port=port,
            stable=stable,
            candidate=candidate,
            floor=floor,
            write_workflow=write_workflow,
            latency_ms=latency_ms,
        )
    )
