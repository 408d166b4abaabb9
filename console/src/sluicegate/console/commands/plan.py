"""`sluicegate plan`: what a strategy costs, what it finds, and what that would be with other numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluicegate.console import exits, output
from sluicegate.console.asked import Margins
from sluicegate.console.output import Format
from sluicegate.console.session import Output
from sluicegate.contracts.errors import Refused

if TYPE_CHECKING:
    from sluicegate.contracts.resources import AgentWorkflow
    from sluicegate.rollout.lint import LintReport
    from sluicegate.rollout.whatif import Changes

EXPLAINED = """\
Units: sessions or runs of the candidate until every required gate has passed, in half and in four of five rollouts of
a candidate as good as stable. In-time: chance of that before At-most. Finds-margin, Finds-twice: chance to abort, by then, a
candidate that is worse by the margin, and by twice the margin; After: units until the latter, in half of the rollouts.
Least-found: smallest degradation found with a chance of 80 %. Rates are those the contract allows."""


def plan(
    *,
    filename: Annotated[
        Path, typer.Option("--filename", "-f", help="File with one AgentWorkflow; - for standard input.")
    ],
    margin: Margins = None,
    share: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STAGE=SHARE",
            help="What if a stage had this share (1/50, 2%); repeatable.",
            show_default=False,
        ),
    ] = None,
    traffic: Annotated[
        int | None,
        typer.Option(min=1, help="What if users made so many runs per hour.", show_default=False),
    ] = None,
    format: Output = Format.TABLE,
) -> int:
    """Show what a rollout of a file would take: units, time, exposure, and what each gate would find.

    With --margin, --share or --traffic cells that would change show both: `before → after`.
    """
    from sluicegate.console.asked import changes

    asked = changes(margin, share, traffic=traffic)
    workflow = _workflow(filename)
    now = _checked(workflow, None)
    then = _checked(workflow, asked) if asked.any else None
    if output.structured(_json(now, then), format):
        return exits.OK
    _say(workflow.metadata.name, now, then)
    return exits.OK


def _workflow(path: Path) -> "AgentWorkflow":
    from sluicegate.console.files import only_workflow

    return only_workflow(path)


def _checked(workflow: "AgentWorkflow", asked: "Changes | None") -> "LintReport":
    """The outlook of a strategy that would be accepted. Raises Refused with all that is wrong with it."""
    from sluicegate.rollout.lint import lint
    from sluicegate.rollout.whatif import changed

    spec = workflow.spec if asked is None else changed(workflow.spec, asked)
    report = lint(workflow.model_copy(update={"spec": spec}))
    if report.problems:
        raise Refused(report.problems)
    return report


def _json(now: "LintReport", then: "LintReport | None") -> dict[str, Any]:
    from dataclasses import asdict

    def shown(report: "LintReport") -> dict[str, Any]:
        return {
            "seconds": report.seconds,
            "warnings": list(report.warnings),
            "stages": [asdict(stage) for stage in report.stages],
        }

    both = shown(now) | ({"whatIf": shown(then)} if then else {})
    return dict(output.camel(both))


def _say(name: str, now: "LintReport", then: "LintReport | None") -> None:
    from sluicegate.console.outlooks import gates_table, stages_table

    for warning in (then or now).warnings:
        output.note(f"warning: {warning}")
    if not now.stages:
        output.echo(f"{name}: its runs are not seen, so that no units can be counted")
        return
    other = then.stages if then else None
    output.echo(stages_table(now.stages, other))
    output.echo("\n" + gates_table(now.stages, other))
    output.echo("\n" + EXPLAINED)
    unknown = [
        f"{stage.stage}/{gate.name}" for stage in now.stages for gate in stage.gates if not gate.modelled
    ]
    if unknown:
        output.echo(f"Not estimated, and not counted in any of these numbers: {', '.join(unknown)}.")
    for title, report in (("", now), ("what if: ", then)):
        if report is not None:
            output.echo(title + _sum(report))


def _sum(report: "LintReport") -> str:
    answered = sum(stage.candidate_runs for stage in report.stages)
    before = sum(stage.candidate_runs for stage in report.stages[:-1])
    exposure = (
        f"the candidate answers about {answered} runs of users before that, {before} of them before Full"
    )
    if report.seconds is None:
        return f"{exposure}; how long that takes is not known without spec.expectedRunsPerHour (or --traffic)"
    return f"{output.span(report.seconds)} to a decision in half of the rollouts; {exposure}"
