"""`sluicegate backtest`: what the gates would have said of recorded runs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluicegate.console import exits, output
from sluicegate.console.asked import Plot, Sweep
from sluicegate.console.figures import rate
from sluicegate.console.output import Format
from sluicegate.console.session import Output

if TYPE_CHECKING:
    from sluicegate.console.backtesting import Play, Rates
    from sluicegate.console.plotting import Series
    from sluicegate.contracts.resources.workflow import WorkflowSpec
    from sluicegate.rollout.backtest import BacktestReport

Variants = dict[str, "WorkflowSpec"]
Reports = dict[str, dict[int, "BacktestReport"]]


def backtest(  # noqa: PLR0913 - one parameter per option
    file: Annotated[Path, typer.Argument(help="Recorded runs or units, also gzipped.")],
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
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="tau-bench: runs, of which units are drawn. units: what `rollout units` wrote, as it is.",
        ),
    ] = "tau-bench",
    runs: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Of recorded runs: how many to draw, with replacement.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the draws and orders.")] = 1,
    repeat: Annotated[
        int,
        typer.Option(
            min=1, max=10_000, help="Play so many times with other draws or orders; count outcomes."
        ),
    ] = 1,
    relabel: Annotated[
        bool,
        typer.Option(
            "--relabel",
            help="Let chance decide, in each unit, which version is called which: nothing is worse then, and the share of "
            "aborts is that of false ones.",
        ),
    ] = False,
    margin: Sweep = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GATE", help="Leave a gate out (also STAGE/GATE); repeatable.", show_default=False
        ),
    ] = None,
    plot: Plot = None,
    shown: Output = Format.TABLE,
) -> int:
    """Pass recorded runs of two versions through a strategy: what each gate says, when, after how many runs.

    With --repeat or several margins it counts outcomes. Exit code 0: promoted. 7: ended otherwise. 8: the runs were used
    up before a decision.
    """
    from sluicegate.console import backtesting

    variants = _variants(_spec(workflow, candidate), margin, without)
    is_many = repeat > 1 or len(variants) > 1
    first = next(iter(variants.values()))
    series = _series(first, plot, is_many=is_many, is_structured=shown in {Format.JSON, Format.YAML})
    chosen = backtesting.Selected(stable=stable, candidate=candidate, floor=floor)
    source = backtesting.source(file, format, chosen, runs=runs, is_repeated=is_many)
    play = backtesting.Play(source=source, is_null=relabel)
    found = _played(play, variants, range(seed, seed + repeat), series)
    if not output.structured(_json(found, is_many=is_many), shown):
        _say(found, first, play, seed, is_many=is_many)
    if series is not None and plot is not None:
        series.draw(source.title, plot)
    return worst(_code(report) for reports in found.values() for report in reports.values())


_SEVERITY = (exits.OK, exits.TIMEOUT, exits.ENDED_OTHERWISE)


def worst(codes: Iterable[int]) -> int:
    """The exit code of several rollouts: one abort counts more than one that was undecided."""
    return max(codes, key=_SEVERITY.index)


def _spec(path: Path | None, candidate: str) -> "WorkflowSpec":
    """Of the only workflow in the file, else the one that `replay --write-workflow` writes."""
    from sluicegate.console.files import only_workflow
    from sluicegate.console.replay.workflows import ReplayWorkflow
    from sluicegate.contracts.parsing import parse_data
    from sluicegate.contracts.resources import AgentWorkflow

    if path is not None:
        return only_workflow(path).spec
    made = parse_data(ReplayWorkflow(base="http://127.0.0.1:1", selection=candidate).document())
    assert isinstance(made, AgentWorkflow)  # noqa: S101 - for the type checker
    return made.spec


def _variants(spec: "WorkflowSpec", margin: list[str] | None, without: list[str] | None) -> Variants:
    """The strategies to play, by what is different about them."""
    from sluicegate.console.asked import changes, sweep
    from sluicegate.rollout.whatif import changed

    found = {
        ", ".join(words): changed(spec, changes(words, without=without)) for words in sweep(margin or ())
    }
    return found if margin or without else {"": spec}


def _series(spec: "WorkflowSpec", plot: str | None, *, is_many: bool, is_structured: bool) -> "Series | None":
    from sluicegate.console.plotting import Series, check
    from sluicegate.rollout.planning import plan_stages

    if plot is None:
        return None
    check(plot, is_many=is_many, is_structured=is_structured)
    return Series(plan_stages(spec))


def _played(play: "Play", variants: Variants, seeds: Sequence[int], series: "Series | None") -> Reports:
    """Every strategy with every seed."""
    from sluicegate.console.progress import counted

    each, watch = play.source.total, series.watch if series else None
    with counted(None if each is None else each * len(variants) * len(seeds), "backtest") as progress:
        return {
            name: {number: play.report(spec, number, progress, watch) for number in seeds}
            for name, spec in variants.items()
        }


def _code(report: "BacktestReport") -> int:
    return exits.TIMEOUT if report.outcome is None else exits.of_outcome(report.outcome)


def _json(found: Reports, *, is_many: bool) -> Any:
    listed = [
        output.camel({"seed": number, **({"margin": name} if name else {}), **asdict(report)})
        for name, reports in found.items()
        for number, report in reports.items()
    ]
    return output.as_list(listed) if is_many else listed[0]


def _say(found: Reports, spec: "WorkflowSpec", play: "Play", seed: int, *, is_many: bool) -> None:
    from sluicegate.console.backtesting import rates, unfed

    every = [report for reports in found.values() for report in reports.values()]
    output.echo(play.source.title + ("" if is_many else f", seed {seed}"))
    if play.is_null:
        output.echo("relabelled: chance decides which version is called which, so that every abort is false")
    if not is_many:
        _say_one(every[0])
    elif len(found) == 1:
        _say_seeds(next(iter(found.values())))
    for told in unfed(spec, every):
        output.note(f"warning: {told}")
    if is_many:
        _say_rates({name: rates(reports.values()) for name, reports in found.items()}, is_null=play.is_null)


def _say_one(report: "BacktestReport") -> None:
    for stage in report.stages:
        output.echo(
            f"\n{output.bold(stage.stage.value)}: {stage.units} units of the candidate, {stage.pairs} runs"
        )
        rows = [
            (
                gate.finding.gate,
                gate.finding.verdict.value if gate.is_fed else "not fed",
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
    output.echo(f"\n{output.word(report.outcome or 'undecided')}{where} after {report.units} units")


def _say_seeds(reports: "dict[int, BacktestReport]") -> None:
    rows: list[Sequence[str]] = [
        (str(seed), report.outcome or "undecided", report.stage.value, str(report.units), report.message)
        for seed, report in reports.items()
    ]
    output.echo(output.table(("Seed", "Outcome", "Stage", "Units", "Why"), rows))


def _say_rates(found: "dict[str, Rates]", *, is_null: bool) -> None:
    """A row per strategy; every share with what it could be, since so few rollouts do not tell it exactly."""
    from sluicegate.console.resampling import share

    names = [name for name, _ in next(iter(found.values())).outcomes]
    heads = [
        *(["What-if"] if any(found) else []),
        *(f"False {name.lower()}" if is_null and name == "Aborted" else name for name in names),
        "Units",
        "80 %",
        "Runs",
        "80 %",
    ]
    rows = []
    for name, one in found.items():
        shares = [share(one.count(outcome), one.rollouts) for outcome in names]
        cells = [f"{s.found} of {s.n} ({100 * s.low:.1f}–{100 * s.high:.1f} %)" for s in shares]
        used = [f"{value:.0f}" for value in (*one.units, *one.runs)]
        rows.append([*([name or "as it is"] if any(found) else []), *cells, *used])
    output.echo("")
    output.echo(output.table(heads, rows))
    output.echo(
        "in brackets: 95 % interval of the share (Wilson). Units: of the candidate, in half and in four of five rollouts; "
        "runs: recorded units used up"
    )
