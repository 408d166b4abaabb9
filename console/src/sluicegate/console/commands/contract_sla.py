"""`sluicegate contract sla` and `sluicegate contract verify-evidence`: whether a live component or workflow keeps its SLA."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluicegate.console import exits, output
from sluicegate.console.contracting.options import Judge, judged

if TYPE_CHECKING:
    from sluicegate.console.contracting.report import Subject
    from sluicegate.console.loading.asked import Asked
    from sluicegate.console.loading.measuring import Measured
    from sluicegate.contracts.errors import Problem
    from sluicegate.contracts.sla_record import SlaEvidence, SlaRecord

TOOL = "contract sla"
File = Annotated[Path, typer.Option("--filename", "-f", help="The workflow.", show_default=False)]


@judged
def sla(  # noqa: PLR0913 - one parameter per option
    judge: Judge,
    *,
    filename: File,
    component: Annotated[
        str | None,
        typer.Option(
            help="Test this component. Default: the workflow, behind its gateway.", show_default=False
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            help="Of the gateway, or of the component. Default: the component's own.", show_default=False
        ),
    ] = None,
    rate: Annotated[float, typer.Option(help="Sessions a second, whatever becomes of those before.")] = 20.0,
    duration: Annotated[
        str | None,
        typer.Option(help="After the warm-up. Default: 60s, without --max-runs.", show_default=False),
    ] = None,
    max_runs: Annotated[
        int | None, typer.Option(help="Most sessions that are measured.", show_default=False)
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            help="One JSON value a line. Default: made of the contract's examples.", show_default=False
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            help="CEL over input: what makes inputs one session. Default: the workflow's routing.key.",
            show_default=False,
        ),
    ] = None,
    arrivals: Annotated[str, typer.Option(help="poisson or constant.")] = "poisson",
    think_time: Annotated[str, typer.Option(help="Between the runs of a session.")] = "0s",
    warm_up: Annotated[str, typer.Option(help="At the beginning; sent and not counted.")] = "5s",
    timeout: Annotated[
        str | None,
        typer.Option(
            help="Of one run. Default: four times the promised latency, 2s to 60s.", show_default=False
        ),
    ] = None,
    max_in_flight: Annotated[
        int, typer.Option(help="More sessions at once are not sent; then nothing passes.")
    ] = 1000,
    confidence: Annotated[
        str, typer.Option(help="That all verdicts together are right, at any time.")
    ] = "0.95",
    seed: Annotated[int, typer.Option(help="Of arrivals and of the choice of inputs.")] = 1,
    full: Annotated[bool, typer.Option("--full", help="Go on when all is decided.")] = False,
    page: Annotated[
        Path | None, typer.Option(help="Write a report with plots, as HTML.", show_default=False)
    ] = None,
    evidence: Annotated[
        Path | None, typer.Option(help="Write the record with its digest, as JSON.", show_default=False)
    ] = None,
    producer: Annotated[
        str | None, typer.Option(help="Who or what makes the evidence; kept in it.", show_default=False)
    ] = None,
) -> int:
    """Load a live component or workflow and judge its SLA: p95 latency, success, fallbacks.

    Verdicts hold whenever one looks, so the test ends as soon as all are decided. Exit code 0: all promises are shown to be kept; 9: one is
    broken, or not decided. Needs the extra `ci`.
    """
    from sluicegate.console.files import only_workflow
    from sluicegate.console.loading.asked import SlaOptions, ask
    from sluicegate.console.loading.process import available
    from sluicegate.console.loading.result import record
    from sluicegate.contracts.sla_record import sealed

    available()
    asked = ask(
        only_workflow(filename),
        SlaOptions(
            component=component, url=url, rate=rate, duration=duration, max_runs=max_runs, inputs=inputs, session=session,
            arrivals=arrivals, think_time=think_time, warm_up=warm_up, timeout=timeout, max_in_flight=max_in_flight,
            confidence=confidence, seed=seed, files=(("--page", page), ("--evidence", evidence)),
        ),
    )  # fmt: skip
    measured = _measured(asked, full=full)
    found = sealed(record(asked, measured, producer))
    _write(asked, measured, found, page, evidence)
    code = judge.conclude(TOOL, (_subject(asked, measured, found, str(filename)),))
    return exits.INTERRUPTED if measured.ended_by == "Interrupted" else code


def _measured(asked: "Asked", *, full: bool) -> "Measured":
    from sluicegate.console.loading.judging import SequentialJudge, least_to_pass
    from sluicegate.console.loading.measuring import Trial, measure
    from sluicegate.console.loading.showing import Showing

    least = least_to_pass(asked.promises, asked.alpha)
    if asked.plan.expected < least:
        output.note(
            f"warning: at least {least} sessions are needed to pass, about {asked.plan.expected} are planned: a longer --duration"
        )
    showing = Showing()
    trial = Trial(
        target=asked.target,
        plan=asked.plan,
        scripts=asked.scripts,
        promises=asked.promises,
        judge=SequentialJudge(asked.promises, asked.alpha),
        full=full,
        on_progress=showing,
    )
    try:
        return measure(trial)
    finally:
        showing.close()


def _write(
    asked: "Asked", measured: "Measured", found: "SlaEvidence", page: Path | None, evidence: Path | None
) -> None:
    if page is not None:
        from sluicegate.console.loading.page import html

        page.write_text(html(asked, measured, found), encoding="utf-8")
        output.note(f"{page} written")
    if evidence is not None:
        evidence.write_text(output.as_json(found.to_json()) + "\n", encoding="utf-8")
        output.note(f"{evidence} written")


def _subject(asked: "Asked", measured: "Measured", found: "SlaEvidence", source: str) -> "Subject":
    from sluicegate.console.contracting.report import Finding, Subject
    from sluicegate.console.loading.result import diagnostics, lines

    return Subject(
        name=f"AgentWorkflow/{asked.workflow.metadata.name}",
        source=source,
        checks=(*(promise.measure.value for promise in asked.promises), "load"),
        findings=tuple(
            Finding(diagnostic=diagnostic, check=check)
            for check, diagnostic in diagnostics(asked, measured, source)
        ),
        remarks=tuple(lines(asked, measured, found.evidence_digest)),
        facts=found.to_json(),
    )


def verify_evidence(
    file: Annotated[Path, typer.Argument(help="What --evidence wrote.")],
    *,
    filename: File,
    max_age: Annotated[
        int | None,
        typer.Option(min=1, help="Seconds since the test ended; older is refused.", show_default=False),
    ] = None,
    component: Annotated[
        str | None,
        typer.Option(
            help="Take evidence of this component. Default: only of the workflow.", show_default=False
        ),
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Of the test; evidence that is less sure is refused.")
    ] = 0.95,
) -> int:
    """Check that evidence of an SLA test is unchanged, of this very workflow or component, sure enough, and passed.

    Exit code 0: it is; 9: it is, and the test did not pass; 2: it was changed, is of something else, or is too old.
    """
    from sluicegate.console.files import only_workflow
    from sluicegate.contracts.adapters import system
    from sluicegate.contracts.errors import Problem, Refused
    from sluicegate.contracts.sla_record import differences, read

    workflow = only_workflow(filename)
    found = read(_json(file))
    problems = [*differences(found, workflow), *_unfit(found.record, component, min_confidence)]
    age = (system.now() - found.record.ended_at).total_seconds()
    if max_age is not None and not 0 <= age <= max_age:
        said = f"ended {output.span(age)} ago" if age >= 0 else "ended in the future"
        problems.append(
            Problem(
                path="record.endedAt",
                message="is not fresh",
                value=said,
                allowed=f"at most {output.span(max_age)}",
            )
        )
    if problems:
        raise Refused(tuple(problems))
    tested, verdict = found.record.tested, found.record.verdict
    what = f"component {tested.component} of " if tested.component else ""
    output.echo(
        f"{file}: {output.word(verdict)}, {what}{tested.workflow} {tested.version}, unchanged; {found.evidence_digest}"
    )
    return exits.OK if verdict == "Pass" else exits.FINDINGS


def _unfit(record: "SlaRecord", component: str | None, least: float) -> "Iterator[Problem]":
    """Why a test says nothing of what is asked: it was of another part, or not sure enough."""
    from decimal import Decimal

    from sluicegate.contracts.errors import Problem

    if record.tested.component != component:
        yield Problem(
            path="record.tested.component",
            message="is of another part",
            value=_part(record.tested.component),
            allowed=_part(component),
            hint="test the workflow itself, or name the component with --component",
        )
    if Decimal(record.confidence) < Decimal(str(least)):
        yield Problem(
            path="record.confidence",
            message="is too low",
            value=record.confidence,
            allowed=f"at least {least:g}",
            hint="test again with a higher --confidence, or lower --min-confidence",
        )


def _part(component: str | None) -> str:
    return "the workflow" if component is None else f"component {component}"


def _json(file: Path) -> Any:
    import json

    from sluicegate.contracts.errors import NotFound, Problem, Refused
    from sluicegate.contracts.json_text import json_value, syntax_problem

    try:
        return json_value(file.read_text(encoding="utf-8"), str(file))
    except json.JSONDecodeError as error:
        raise Refused((syntax_problem(error, str(file)),)) from None
    except UnicodeDecodeError:
        raise Refused((Problem(path="", message="the file is not UTF-8", source=str(file)),)) from None
    except OSError as error:
        raise NotFound(f"{file}: {error.strerror}") from error
