"""`sluicegate rollout status|history|plan|contributions|units|plot`."""

from typing import TYPE_CHECKING, Annotated

import typer

from sluicegate.console import exits, output, program
from sluicegate.console.client import Object
from sluicegate.console.commands.decisions import Name
from sluicegate.console.output import Format
from sluicegate.console.session import Output, Session, connected, reading_runs
from sluicegate.contracts.adapters import system
from sluicegate.contracts.errors import NotFound
from sluicegate.contracts.stages import Stage

if TYPE_CHECKING:
    from sluicegate.console.live import Snapshot

app = typer.Typer(
    no_args_is_help=True, help="Follow a rollout: status, history, plan, contributions, units, plot."
)
PLAIN_WIDTH = 120


@app.command()
@connected
def status(
    session: Session,
    name: Name,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Until it has ended.")] = False,
    timeout: Annotated[
        float | None,
        typer.Option(min=0.0, help="With -w: give up after so many seconds.", show_default=False),
    ] = None,
    format: Output = Format.TABLE,
) -> int:
    """Show the stage, the share and each gate with its numbers; with -w live, until the rollout has ended."""
    from sluicegate.console import live

    if not watch:
        snapshot = live.look(session.client, session.namespace, name)
        if not output.structured({"workflow": snapshot.workflow, "rollout": snapshot.rollout}, format):
            _show(snapshot)
        ended = live.ended(snapshot)
        return exits.of_outcome(ended) if ended else exits.OK
    found = live.watch(session.client, session.namespace, name, timeout=timeout)
    if found.timed_out:
        output.note(f"not ended after {timeout:g} s; the rollout goes on")
        return exits.TIMEOUT
    output.echo(live.summary(found.snapshot))
    return exits.of_outcome(found.outcome) if found.outcome else _of_phase(found.snapshot.workflow)


def _show(snapshot: "Snapshot") -> None:
    from rich.console import Console

    from sluicegate.console import live

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PLAIN_WIDTH)
    console.print(live.render(snapshot.rollout, snapshot.workflow, snapshot.events, now=system.now()))


def _of_phase(workflow: Object) -> int:
    return exits.OK if (workflow.get("status") or {}).get("phase") == "Healthy" else exits.ENDED_OTHERWISE


@app.command()
@connected
def history(session: Session, name: Name, format: Output = Format.TABLE) -> None:
    """Show the rollouts of a workflow, and the stages and decisions of one rollout."""
    from sluicegate.console import targets
    from sluicegate.console.describing import decisions_table, history_table

    target = targets.find(session.client, session.namespace, name)
    workflow = target.workflow["metadata"]["name"]
    if name.rsplit("/", 1)[-1] == workflow:
        found = targets.rollouts_of(session.client, session.namespace, workflow)
    else:
        found = [target.rollout] if target.rollout else []
    if output.structured(output.as_list(found), format):
        return
    if format is Format.NAME:
        for item in found:
            output.echo(output.name_of(item))
        return
    if not found:
        output.note(f"no rollouts of {workflow}")
        return
    output.echo(_rollouts(found))
    latest = found[-1].get("status") or {}
    for title, text in (
        ("Stages", history_table(latest.get("history", ()), system.now())),
        ("Decisions", decisions_table(latest.get("decisions", ()), system.now())),
    ):
        if text:
            output.echo(f"\n{title} of {found[-1]['metadata']['name']}\n{text}")


def _rollouts(found: list[Object]) -> str:
    now = system.now()
    rows = [
        (
            item["metadata"]["name"],
            item["spec"]["stable"]["version"],
            item["spec"]["candidate"]["version"],
            state.get("outcome") or state.get("state", "Pending"),
            state.get("stage") or "",
            str(state.get("attempt", 1)),
            item["spec"].get("changedBy") or "",
            output.age(item["metadata"].get("creationTimestamp"), now),
            state.get("message", ""),
        )
        for item in found
        for state in (item.get("status") or {},)
    ]
    heads = ("Name", "Stable", "Candidate", "Outcome", "Stage", "Attempt", "Changed-by", "Age", "Message")
    return output.table(heads, rows)


@app.command()
@connected
def plan(session: Session, name: Name, format: Output = Format.TABLE) -> None:
    """Show the stages of a rollout with shares, samples, times, gates and the split of the error budget."""
    from sluicegate.console import targets
    from sluicegate.console.describing import plan_table

    target = targets.find(session.client, session.namespace, name)
    if target.rollout is None:
        raise NotFound(f"{name} has no rollout; `{program.name()} lint -f FILE` shows the plan of a file")
    spec = target.rollout["spec"]
    if output.structured({"stages": spec["stages"], "errorBudget": spec.get("errorBudget")}, format):
        return
    output.echo(
        f"{target.rollout['metadata']['name']}: {spec['stable']['version']} → {spec['candidate']['version']}"
    )
    output.echo(plan_table(spec["stages"]))
    budget = spec.get("errorBudget") or {}
    output.echo(
        f"error budget: abort wrongly {budget.get('abort', '0.05')}, promote wrongly {budget.get('promote', '0.05')}"
    )


@app.command()
@reading_runs
def contributions(
    session: Session,
    name: Name,
    stage: Annotated[
        Stage, typer.Option(case_sensitive=False, help="Measured in this stage.")
    ] = Stage.SHADOW,
    attempt: Annotated[
        int | None, typer.Option(min=1, show_default=False, help="Of this attempt. Default: the present one.")
    ] = None,
    regression: Annotated[
        bool, typer.Option("--regression", help="By regression, also while coalitions have no run yet.")
    ] = False,
    format: Output = Format.TABLE,
) -> None:
    """Show which component of the candidate adds how much to the reward, and how sure that is."""
    from sluicegate.console import contributing, targets

    target = targets.find(session.client, session.namespace, name)
    if target.rollout is None:
        raise NotFound(f"{name} has no rollout")
    found = contributing.look(
        session.client, target.rollout, stage=stage, attempt=attempt, regression=regression
    )
    if output.structured(contributing.document(found), format):
        return
    output.echo(contributing.page(found))


OfStage = Annotated[
    Stage | None,
    typer.Option(
        "--stage",
        case_sensitive=False,
        show_default=False,
        help="Of this stage. Default: the last one entered.",
    ),
]
OfAttempt = Annotated[
    int | None,
    typer.Option("--attempt", min=1, show_default=False, help="Of this attempt. Default: the present one."),
]


@app.command()
@reading_runs
def units(session: Session, name: Name, stage: OfStage = None, attempt: OfAttempt = None) -> None:
    """Print the closed units of a stage, a JSON object per line: the evidence itself, for `backtest --format units`."""
    from sluicegate.console import refolding

    look = refolding.wanted(session.client, session.namespace, name, stage=stage, attempt=attempt)
    for unit in refolding.fetched(session.client, look):
        output.echo(refolding.line(unit))


@app.command()
@reading_runs
def plot(
    session: Session,
    name: Name,
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE]", help="FILE.svg or FILE.png (need sluicegate[plots]), or - for the terminal."
        ),
    ] = "-",
    stage: OfStage = None,
    attempt: OfAttempt = None,
) -> None:
    """Draw the e-values of a stage's gates over units, with the moment of each decision.

    The stored units are folded again, in their order, and looked at after every one (of more than 2,000: after every
    second, third, ...), so that a decision may be shown a little before the rollout looked.
    """
    from sluicegate.console import refolding
    from sluicegate.console.plotting import check

    check(file)
    look = refolding.wanted(session.client, session.namespace, name, stage=stage, attempt=attempt)
    series = refolding.series(look, list(refolding.fetched(session.client, look)))
    series.draw(refolding.title(look), file)
