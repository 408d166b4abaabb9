"""`sluicegate contract init`: first contracts from recorded runs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sluicegate.console import output
from sluicegate.console.output import Format


class RunFormat(StrEnum):
    """Of the files."""

    TAU_BENCH = "tau-bench"
    RESPONSES = "responses"
    RUNS = "runs"


class As(StrEnum):
    """Of what is printed."""

    YAML = "yaml"
    JSON = "json"


def init(
    *,
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Recorded runs: JSON or JSON lines, plain or gzipped."),
    ],
    format: Annotated[
        RunFormat | None,
        typer.Option("--format", help="Of the files.", show_default="found out", case_sensitive=False),
    ] = None,
    owner: Annotated[str, typer.Option(help="Who answers for the components.")] = "unknown",
    form: Annotated[As, typer.Option("--output", "-o", help="Form of the result.")] = As.YAML,
) -> None:
    """Print an AgentComponent per component and tool of recorded runs, with the contract that all those calls keep.

    A beginning, to be read by a person: what was seen is not all that there may be. It accepts every run that it was made from.
    """
    from sluicegate.console.contracting import inferring, samples

    found = inferring.infer(
        sample for path in runs for sample in samples.read(path, format.value if format else None)
    )
    resources = inferring.resources(found, owner)
    if form is As.JSON:
        output.structured(output.as_list(resources), Format.JSON)
    else:
        output.echo("\n---\n".join(output.as_yaml(one) for one in resources))
    calls = sum(seen.calls for seen in found.values())
    output.note(f"{output.plural(len(found), 'component')} from {output.plural(calls, 'call')}")
    few = [name for name, seen in found.items() if seen.calls < inferring.FEW]
    if few:
        output.note(f"seen fewer than {inferring.FEW} times, so that little is known: {', '.join(few)}")
