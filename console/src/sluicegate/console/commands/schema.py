"""`sluicegate schema`: JSON Schemas for editors."""

from pathlib import Path
from typing import Annotated

import typer

from sluicegate.console import output


def schema(
    kind: Annotated[str, typer.Argument(help="Kind, plural or short name.")] = "AgentWorkflow",
    *,
    file: Annotated[
        Path, typer.Option("--output", "-o", help="File to write; - for standard output.")
    ] = Path("-"),
) -> None:
    """Print the JSON Schema of a kind, for editors."""
    from sluicegate.console import targets
    from sluicegate.contracts.export import schema_of

    text = output.as_json(schema_of(targets.kind(kind).name))
    if str(file) == "-":
        output.echo(text)
        return
    file.write_text(text + "\n")
    output.echo(f"{file} written")
