"""`sluicegate lint`: everything that can be known about a workflow before it runs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sluicegate.console import exits, output
from sluicegate.console.commands.apply import Files, Recursive
from sluicegate.console.outlooks import gates_table, stages_table
from sluicegate.console.output import Format
from sluicegate.console.session import Output
from sluicegate.contracts.errors import Problem, Refused

if TYPE_CHECKING:
    from pathlib import Path

    from sluicegate.rollout.lint import LintReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One document. report: only of workflows that could be read."""

    source: str
    name: str
    problems: tuple[Problem, ...]
    report: "LintReport | None" = None


def lint(*, filename: Files, recursive: Recursive = False, format: Output = Format.TABLE) -> int:
    """Check files without a server: problems, the split of the error budget, exposure, time to a decision."""
    found = list(_checked(filename, recursive=recursive))
    problems = tuple(problem for one in found for problem in one.problems)
    if not output.structured(output.as_list([_json(one) for one in found]), format):
        for one in found:
            _say(one, format)
    if not problems:
        return exits.OK
    if format in {Format.JSON, Format.YAML}:
        return exits.REFUSED
    raise Refused(problems)


def _checked(paths: "Sequence[Path]", *, recursive: bool) -> Iterator[Checked]:
    from sluicegate.console.files import documents
    from sluicegate.contracts.parsing import located, parse
    from sluicegate.contracts.resources import AgentWorkflow
    from sluicegate.rollout.lint import lint as report_of

    unreadable: list[Problem] = []
    for document in documents(paths, unreadable, recursive=recursive):
        name = f"{document.data.get('kind', '?')}/{(document.data.get('metadata') or {}).get('name', '?')}"
        try:
            resource = parse(document)
        except Refused as error:
            yield Checked(source=document.source, name=name, problems=error.problems)
            continue
        report = report_of(resource) if isinstance(resource, AgentWorkflow) else None
        problems = (
            tuple(located(one, document.lines, document.source) for one in report.problems) if report else ()
        )
        yield Checked(source=document.source, name=name, problems=problems, report=report)
    if unreadable:
        yield Checked(source="", name="", problems=tuple(unreadable))


def _json(checked: Checked) -> dict[str, Any]:
    report = asdict(checked.report) if checked.report else {}
    kept = {key: value for key, value in report.items() if key != "problems"}
    facts = {
        "source": checked.source,
        "name": checked.name,
        "ok": not checked.problems,
        "problems": [asdict(problem) for problem in checked.problems],
        **kept,
    }
    return dict(output.camel(facts))


def _say(checked: Checked, format: Format) -> None:
    if not checked.name:
        return
    count = len(checked.problems)
    output.echo(f"{checked.source}: {checked.name} " + (output.plural(count, "problem") if count else "ok"))
    report = checked.report
    if report is None or format is Format.NAME:
        return
    for warning in report.warnings:
        output.note(f"warning: {warning}")
    if count:
        return
    output.echo(stages_table(report.stages))
    if report.seconds is not None:
        output.echo(
            f"estimated time to a decision: {output.span(report.seconds)} in half of the rollouts, "
            "for a candidate as good as stable"
        )
        _say_faster(report, report.seconds)
    if format is Format.WIDE:
        output.echo("\n" + gates_table(report.stages))
    else:
        output.echo("-o wide shows the gates, the split of the error budget, and what each of them finds")


def _say_faster(report: "LintReport", seconds: float) -> None:
    """What mirroring every run would save, where that is a day or more."""
    from sluicegate.contracts.stages import MIRRORED_STAGES

    faster = sum(
        max((stage.seconds or 0.0) * stage.share, float(stage.min_duration_seconds))
        if stage.stage in MIRRORED_STAGES
        else stage.seconds or 0.0
        for stage in report.stages
    )
    if seconds - faster >= 86_400.0:
        output.echo(
            f"about {output.span(faster)} with share: {{numerator: 100}} in Canary and Shadow: more copies, "
            "of which users see nothing"
        )
