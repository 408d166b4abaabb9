"""Completion of kinds and names in the shell; silent and quick when nothing answers."""

import os
import sys
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import typer

from sluicegate.console import places, program
from sluicegate.console.client import WORKFLOWS
from sluicegate.contracts.errors import SluicegateError

SECONDS = 1.0


def complete_kind(incomplete: str) -> list[str]:
    """Plurals and short names of the kinds."""
    from sluicegate.contracts.resources import KINDS

    words = [word for kind in KINDS.values() for word in (kind.plural, kind.short)]
    return [word for word in words if word.startswith(incomplete)]


def complete_name(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of workflows where the words so far point to; none when nothing answers."""
    from sluicegate.console.session import open_session

    try:
        place = places.of(ctx)
        session = open_session(place, timeout=SECONDS)
        found = session.client.listing(WORKFLOWS, session.namespace if place.is_cluster else None)
    except SluicegateError:
        return []
    return sorted(
        {item["metadata"]["name"] for item in found if item["metadata"]["name"].startswith(incomplete)}
    )


def kubectl() -> None:
    """`kubectl_complete-sluicegate WORDS…`: kubectl asks it; one word per line, then the directive of cobra."""
    from sluicegate.console.main import command

    program.called(program.PLUGIN)
    words = sys.argv[1:] or [""]
    variable = "_KUBECTL_SLUICEGATE_COMPLETE"
    os.environ |= {
        variable: "complete_bash",
        "COMP_WORDS": " ".join(["kubectl-sluicegate", *words]),
        "COMP_CWORD": str(len(words)),
    }
    code: Any = None
    with redirect_stdout(StringIO()) as printed:
        try:
            code = command().main(
                args=[], prog_name=program.PLUGIN, complete_var=variable, standalone_mode=False
            )
        except SystemExit as ended:
            code = ended.code
    for word in printed.getvalue().split():
        typer.echo(word)
    typer.echo(f":{ERROR if code else NO_FILES}")


NO_FILES, ERROR = 4, 1
"""Of cobra: no files instead; nothing can be completed."""
