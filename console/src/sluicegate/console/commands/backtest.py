"""`sluicegate backtest`: what the gates would have said of recorded runs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sluicegate.console import exits, output
from sluicegate.console.figures import rate
from sluicegate.console.output import Format
from sluicegate.console.session import Output
from sluicegate.contracts.errors import Problem, Refused

if TYPE_CHECKING:
    from sluicegate.console.recordings import Recording
    from sluicegate.contracts.resources.workflow import WorkflowSpec
    from sluicegate.rollout.backtest import BacktestReport

UNDECIDED = "undecided"


def backtest(  # noqa: PLR0913 - one parameter per option
    file: Annotated[Path, typer.Argument(help="Recorded runs (.json or .json.gz).")],
    *,
    stable: Annotated[str, typer.Option(help="What stable answered: trial-N, best or worst.")] = "trial-0",
    candidate: Annotated[str, typer.Option(help="What the candidate answered.")] = "trial-1",
    floor: Annotated[
        str, typer.Option(help="What a second copy of stable answered (the noise floor).")
    ] = "trial-1",
    workflow: Annotated[
        Path | None,
        typer.Option(
            "--filename",
            "-f",
            help="Workflow whose strategy is tried; default: replay's.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[str, typer.Option("--format", help="Format of the recorded runs.")] = "tau-bench",
    runs: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Runs to draw, with replacement.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 1,
    seeds: Annotated[
        int, typer.Option(min=1, max=10_000, help="Repeat with so many seeds and count outcomes.")
    ] = 1,
    shown: Output = Format.TABLE,
) -> int:
    """Pass recorded runs of two versions through a strategy: what each gate says, when, after how many runs.

    Exit code 0: promoted. 7: ended otherwise. 8: the runs were used up before a decision.
    """
    from sluicegate.console.recordings import load

    recording = load(file, format)
    spec = _spec(workflow, candidate)
    chosen = (stable, candidate, floor)
    reports = {
        number: _report(recording, spec, chosen, runs=runs, seed=number)
        for number in range(seed, seed + seeds)
    }
    listed = [output.camel({"seed": number, **asdict(report)}) for number, report in reports.items()]
    if not output.structured(listed[0] if seeds == 1 else output.as_list(listed), shown):
        if seeds == 1:
            _say(
                reports[seed],
                f"{file.name}: stable {stable}, candidate {candidate}, floor {floor}, seed {seed}",
            )
        else:
            _say_many(reports)
    return worst(_code(report) for report in reports.values())


_SEVERITY = (exits.OK, exits.TIMEOUT, exits.ENDED_OTHERWISE)


def worst(codes: Iterable[int]) -> int:
    """The exit code of several seeds: one abort counts more than one that was undecided."""
    return max(codes, key=_SEVERITY.index)


def _spec(path: Path | None, candidate: str) -> "WorkflowSpec":
    """Of the only workflow in the file, else the one that `replay --write-workflow` writes."""
    from sluicegate.console.files import read
    from sluicegate.console.replay.workflows import ReplayWorkflow
    from sluicegate.contracts.parsing import parse_data
    from sluicegate.contracts.resources import AgentWorkflow

    documents = (
        read([path]) if path else (ReplayWorkflow(base="http://127.0.0.1:1", selection=candidate).document(),)
    )
    found = [one for one in map(parse_data, documents) if isinstance(one, AgentWorkflow)]
    if len(found) != 1:
        raise Refused(
            (Problem(path=str(path), message="exactly one AgentWorkflow is needed", value=str(len(found))),)
        )
    return found[0].spec


def _report(
    recording: "Recording", spec: "WorkflowSpec", chosen: tuple[str, str, str], *, runs: int, seed: int
) -> "BacktestReport":
    from sluicegate.console.replay.evidence import pairs
    from sluicegate.rollout.backtest import backtest as through

    return through(spec, pairs(recording, *chosen, runs=runs, seed=seed))


def _code(report: "BacktestReport") -> int:
    return exits.TIMEOUT if report.outcome is None else exits.of_outcome(report.outcome)


def _say(report: "BacktestReport", title: str) -> None:
    output.echo(title)
    for stage in report.stages:
        output.echo(
            f"\n{output.bold(stage.stage.value)}: {stage.units} units of the candidate, {stage.pairs} runs"
        )
        rows = [
            (
                gate.finding.gate,
                gate.finding.verdict.value,
                rate(gate.finding.signal, gate.finding.candidate),
                rate(gate.finding.signal, gate.finding.stable),
                output.NONE if gate.decided_after is None else str(gate.decided_after),
                gate.finding.message,
            )
            for gate in stage.gates
        ]
        output.echo(
            output.table(("Gate", "Verdict", "Candidate", "Stable", "Decided-after", "Finding"), rows)
        )
        output.echo(f"left by {stage.left_by}")
    where = "" if report.outcome in exits.ARRIVED else f" in {report.stage}"
    output.echo(f"\n{output.word(report.outcome or UNDECIDED)}{where} after {report.units} units")


def _say_many(reports: "dict[int, BacktestReport]") -> None:
    rows: list[Sequence[str]] = [
        (str(seed), report.outcome or UNDECIDED, report.stage.value, str(report.units), report.message)
        for seed, report in reports.items()
    ]
    output.echo(output.table(("Seed", "Outcome", "Stage", "Units", "Why"), rows))
    counts = Counter(report.outcome or UNDECIDED for report in reports.values())
    output.echo(", ".join(f"{outcome} {count} of {len(reports)}" for outcome, count in counts.most_common()))
