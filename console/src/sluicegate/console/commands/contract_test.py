"""`sluicegate contract test`: recorded and made inputs at running components."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sluicegate.console import output
from sluicegate.console.contracting.options import Judge, judged

if TYPE_CHECKING:
    from sluicegate.console.trying.running import Options

TOOL = "contract test"


@judged
def try_components(  # noqa: PLR0913 - one parameter per option
    judge: Judge,
    *,
    filename: Annotated[Path, typer.Option("--filename", "-f", help="The workflow.", show_default=False)],
    component: Annotated[
        list[str] | None, typer.Option(help="Only this component; repeatable.", show_default=False)
    ] = None,
    url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMPONENT=URL",
            help="Where a component runs, when not at its endpoint; repeatable.",
            show_default=False,
        ),
    ] = None,
    recorded: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Recorded runs, as `contract init` reads them; repeatable.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        int, typer.Option(min=1, max=10_000, help="Recorded, and made, inputs of each component.")
    ] = 20,
    ask: Annotated[
        str | None,
        typer.Option(
            help="Input field that takes a phrase of a semantic domain. Default: the first free text that is required.",
            show_default=False,
        ),
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Also components with sideEffects: Live.")] = False,
) -> int:
    """Send recorded and made inputs to running components; hold both sides to the contract, with two validators where there are two.

    Phrases that a semantic domain lists are sent as well, and have to be understood. Calls are marked as a rehearsal (dry run).
    Exit code 0: nothing was found; 9: findings; 2: a file or option is wrong.
    """
    from sluicegate.console.trying.running import Options

    options = Options(
        components=tuple(component or ()),
        urls=tuple(url or ()),
        recorded=tuple(recorded or ()),
        most=most,
        ask=ask,
        live=live,
    )
    return _run(judge, filename, options)


def _run(judge: Judge, filename: Path, options: "Options") -> int:
    from sluicegate.console.files import only_workflow
    from sluicegate.console.progress import counted
    from sluicegate.console.trying import calling, running

    plan = running.plan(only_workflow(filename), options)
    with counted(len(plan.cases), "calls") as progress:
        told = calling.call_all(plan.cases, plan.protocols, lambda _: progress.step())
    code = judge.conclude(TOOL, (running.subject(plan, told, str(filename)),), plan.notes)
    _say(plan.counts)
    return code


def _say(counts: Sequence[tuple[str, int]]) -> None:
    output.note(", ".join(f"{number} {origin}" for origin, number in counts if number) or "nothing was sent")
