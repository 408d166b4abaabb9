"""`sluicegate contract check|diff|test|init|baseline|waive`: the gate of contracts in CI."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from sluicegate.console import exits, output
from sluicegate.console.commands import contract_init, contract_test
from sluicegate.console.commands.apply import Files, Recursive
from sluicegate.console.contracting.options import Judge, judged
from sluicegate.console.contracting.words import LevelWord, Mode

app = typer.Typer(no_args_is_help=True, help="Contracts in CI: check, diff, test, init, baseline, waive.")
app.command("test")(contract_test.try_components)
app.command("init")(contract_init.init)


@app.command()
@judged
def check(judge: Judge, filename: Files, recursive: Recursive = False) -> int:
    """Check the contracts of files without a server: what would be refused, and what would break in production.

    Exit code 0: nothing that counts; 9: findings; 2: a file cannot be read or would be refused.
    """
    from sluicegate.console.contracting import checking, reading

    loaded = reading.files(filename, recursive=recursive)
    return judge.conclude(checking.TOOL, checking.check(loaded, judge.mode), loaded.notes)


Side = Annotated[
    str,
    typer.Argument(
        metavar="OLD",
        help="File, folder, git:REVISION:PATH, or git:REVISION for the path of NEW.",
        show_default=False,
    ),
]
NewSide = Annotated[
    str, typer.Argument(metavar="NEW", help="File, folder or git:REVISION:PATH.", show_default=False)
]


@app.command()
@judged
def diff(
    judge: Judge,
    old: Side,
    new: NewSide,
    level: Annotated[LevelWord, typer.Option(help="What counts as a change.")] = LevelWord.SEMANTIC,
    recursive: Recursive = False,
) -> int:
    """Compare two versions: whether the new one may stand in for the old one, for callers and for every step.

    `sluicegate contract diff git:origin/main workflow.yaml` compares with the base branch. A file that is new breaks nothing.
    """
    from sluicegate.console.contracting import comparing

    found = comparing.report(old, [new], recursive=recursive, level=level, mode=judge.mode)
    return judge.conclude(found.tool, found.subjects, found.notes)


@app.command()
def baseline(
    filename: Files,
    recursive: Recursive = False,
    mode: Annotated[Mode, typer.Option(help="As it will be checked.")] = Mode.ENFORCE,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="OLD",
            help="And the findings of `contract diff OLD` with all these files, for its --baseline.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[LevelWord, typer.Option(help="Of `contract diff`.")] = LevelWord.SEMANTIC,
) -> None:
    """Print the findings of today as a baseline, so that only new ones fail: `… > .sluicegate/baseline.json`.

    Exit code 2, and nothing printed, when a file cannot be read or would be refused.
    """
    from sluicegate.console.contracting import baseline as baselines
    from sluicegate.console.contracting import checking, comparing, reading, settling, waivers
    from sluicegate.console.contracting.options import day
    from sluicegate.console.contracting.report import Report

    if against is not None:
        comparing.check_paths(filename)
    subjects = checking.check(reading.files(filename, recursive=recursive), mode)
    reports = [Report(tool=checking.TOOL, subjects=subjects)]
    if against is not None:
        new = [str(one) for one in filename]
        reports.append(comparing.report(against, new, recursive=recursive, level=level, mode=mode))
    allowed, today = settling.Allowed(waivers=waivers.read(None)), day(None)
    known = baselines.of(*(settling.settle(report, allowed, today) for report in reports))
    output.echo(output.as_json(known.to_json()))


@app.command()
def waive(
    fingerprint: Annotated[str, typer.Argument(help="Of the finding, as every output shows it.")],
    *,
    owner: Annotated[str, typer.Option(help="Who answers for it.")],
    reason: Annotated[str, typer.Option(help="Why it may stay until then.")],
    expires: Annotated[
        datetime, typer.Option(formats=["%Y-%m-%d"], help="The last day on which it may stand.")
    ],
    waivers: Annotated[
        Path | None, typer.Option(help="Default: .sluicegate/waivers.yaml.", show_default=False)
    ] = None,
) -> int:
    """Let a finding stand until a day: one more entry at the end of the file of waivers; the rest of it stays as it is."""
    from sluicegate.console.contracting import waivers as waiving

    file = waivers or waiving.FILE
    entry = waiving.entry(fingerprint=fingerprint, owner=owner, reason=reason, expires=expires.date())
    content = file.read_text(encoding="utf-8") if file.exists() else ""
    text = waiving.added(content, entry, source=str(file))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    output.echo(f"{file}: {fingerprint} waived by {owner} until {entry.expires}")
    return exits.OK
