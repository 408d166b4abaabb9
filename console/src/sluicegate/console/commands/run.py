"""`sluicegate run list|show|outcome`: recorded runs."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from sluicegate.console import output, targets
from sluicegate.console.client import WORKFLOWS
from sluicegate.console.complete import complete_name
from sluicegate.console.output import Format
from sluicegate.console.session import AllNamespaces, Output, Session, connected, reading_runs
from sluicegate.console.transport import checked_url
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import NotFound, Problem, Refused, Unavailable
from sluicegate.contracts.runs import Arm, RunOutcome
from sluicegate.contracts.stages import Stage

app = typer.Typer(no_args_is_help=True, help="Recorded runs: list, show, outcome.")
RunId = Annotated[
    str, typer.Argument(metavar="RUN", help="Run id; the beginning is enough where it is unique.")
]
OfWorkflow = Annotated[
    str | None,
    typer.Option(
        "--workflow", "-w", autocompletion=complete_name, show_default=False, help="Of this workflow."
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        show_default=False, help="Since a time (2026-01-31T12:00:00Z) or for a span: 30s, 10m, 2h, 1d."
    ),
]
SECONDS = 10.0


class Result(StrEnum):
    """Business outcome of a run."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@app.command("list")
@reading_runs
def list_runs(  # noqa: PLR0913 - one parameter per option
    session: Session,
    *,
    workflow: OfWorkflow = None,
    arm: Annotated[
        Arm | None, typer.Option(case_sensitive=False, show_default=False, help="In this arm.")
    ] = None,
    stage: Annotated[
        Stage | None, typer.Option(case_sensitive=False, show_default=False, help="In this stage.")
    ] = None,
    outcome: Annotated[
        RunOutcome | None, typer.Option(case_sensitive=False, show_default=False, help="With this outcome.")
    ] = None,
    fallback: Annotated[
        bool | None,
        typer.Option("--fallback/--no-fallback", show_default=False, help="With or without a fallback."),
    ] = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 20,
    every: AllNamespaces = False,
    format: Output = Format.TABLE,
) -> None:
    """List runs, newest first."""
    from sluicegate.console.tracing import runs_table

    query = {
        "namespace": None if every else session.namespace,
        "workflow": workflow,
        "arm": arm,
        "stage": stage,
        "outcome": outcome,
        "fallback": None if fallback is None else str(fallback).lower(),
        "since": since,
        "limit": limit,
    }
    found = session.client.runs(query)
    if output.structured(output.as_list(found), format):
        return
    if format is Format.NAME:
        for run_id in dict.fromkeys(one["run_id"] for one in found):
            output.echo(run_id)
        return
    if found:
        output.echo(runs_table(found, system.now(), wide=format is Format.WIDE))
    elif workflow is not None and not every:
        _tell_unknown(session, workflow)
    output.note(f"{output.plural(len(found), 'run')}" + (", newest first" if len(found) > 1 else ""))


def _tell_unknown(session: Session, workflow: str) -> None:
    """An empty list may be a mistyped name; runs may outlive their workflow, so it is no error."""
    try:
        session.client.get(WORKFLOWS, session.namespace, workflow)
    except NotFound:
        output.note(
            str(targets.unknown(session.client, WORKFLOWS, session.namespace, workflow, noun="workflow"))
        )


@app.command()
@reading_runs
def show(
    session: Session,
    run: RunId,
    arm: Annotated[
        Arm | None, typer.Option(case_sensitive=False, show_default=False, help="Only this arm.")
    ] = None,
    format: Output = Format.TABLE,
) -> None:
    """Show a run as a tree: arms, steps, attempts, fallbacks, violations, and how the arms' answers differ."""
    from rich.console import Console

    from sluicegate.console.tracing import documents_of, run_tree

    found = list(documents_of(session.client.run(run), arm))
    if not found:
        raise NotFound(f"run {run} has no document" + (f" of arm {arm}" if arm else ""))
    if output.structured(output.as_list(found), format):
        return
    if format is Format.NAME:
        output.echo(found[0]["run_id"])
        return
    console = Console(highlight=False)
    (console if console.is_terminal else Console(highlight=False, width=200)).print(run_tree(found))


@app.command()
@connected
def outcome(
    session: Session,
    run: RunId,
    reward: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, show_default=False, help="How good it was, 0 to 1.")
    ] = None,
    result: Annotated[
        Result | None,
        typer.Option("--outcome", case_sensitive=False, show_default=False, help="Did it serve its purpose."),
    ] = None,
    note: Annotated[str | None, typer.Option(help="Kept with the run.", show_default=False)] = None,
    gateway_url: Annotated[
        str | None,
        typer.Option(help="On a cluster: the address to which you send runs.", show_default=False),
    ] = None,
) -> None:
    """Tell how a run turned out; the reward gates and the success rate use it."""
    if reward is None and result is None:
        raise Refused((Problem(path="--reward, --outcome", message="one of them is needed"),))
    body = {"reward": reward, "outcome": result, "note": note}
    _post(
        gateway_url or session.client.gateway_url(),
        f"/v1/runs/{run}/outcome",
        {key: value for key, value in body.items() if value is not None},
    )
    output.echo(f"outcome of run {run} recorded")


def _post(url: str, path: str, body: Mapping[str, Any]) -> None:
    """To a gateway; its problem document becomes an error of ours."""
    from urllib.error import HTTPError, URLError
    from urllib.parse import quote
    from urllib.request import Request

    from sluicegate.console.direct import opened

    where = checked_url("--gateway-url", url) + quote(path)
    asked = Request(where, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST")  # noqa: S310 - checked above
    try:
        with opened(asked, SECONDS) as response:
            response.read()
    except HTTPError as error:
        from sluicegate.console.client import error_of

        with error:
            raise error_of(error.code, error.read()) from error
    except (URLError, OSError) as error:
        raise Unavailable(
            f"the gateway at {url} does not answer ({getattr(error, 'reason', error)})"
        ) from error
