"""`sluicegate rules serve`: rule sets answer from a process of their own, with everything else down."""

from pathlib import Path
from typing import Annotated

import typer

from sluicegate.console import exits, program


def serve(
    *,
    rules: Annotated[
        Path,
        typer.Option(
            "--rules",
            "-f",
            help="Folder with FallbackRuleSets, as YAML or JSON; read again when a file changes.",
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 8095,
    every: Annotated[
        float, typer.Option(min=0.1, max=3600.0, help="Seconds between two looks at the folder.")
    ] = 2.0,
) -> int:
    """Answer from rule sets over HTTP, in a process that needs nothing else: no gateway, no operator, no database.

    A file with a mistake never replaces what answers. `GET /metrics` tells what answers, what is refused, and how often.
    """
    from sluicegate.fallback_rules.server.runner import RulesConfig, run

    program.only_here(
        "rules serve", "it is a process of its own, here or in a pod with a ConfigMap as folder"
    )
    run(RulesConfig(folder=rules.expanduser(), host=host, port=port, every=every))
    return exits.OK
