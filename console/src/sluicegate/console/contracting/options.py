"""What every command of `sluicegate contract` takes: how to print, what fails, what is let through.

`@judged` gives a command a `Judge` as its first parameter; typer sees the options instead.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from sluicegate.console.contracting.words import FailOn, Mode, ReportFormat
from sluicegate.console.session import with_options

if TYPE_CHECKING:
    from sluicegate.console.contracting.delivering import Copy
    from sluicegate.console.contracting.report import Subject
    from sluicegate.console.contracting.settling import Allowed


def _complete_report(incomplete: str) -> list[str]:
    return [f"{word}=" for word in ReportFormat if word.startswith(incomplete)]


OPTIONS: dict[str, Any] = {
    "format": Annotated[
        ReportFormat | None, typer.Option("--output", "-o", help="How to print. Default: table.")
    ],
    "report": Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT=FILE",
            help="Write a copy in another format; repeatable.",
            autocompletion=_complete_report,
            show_default=False,
        ),
    ],
    "fail_on": Annotated[FailOn | None, typer.Option(help="The least severity that fails. Default: error.")],
    "mode": Annotated[
        Mode | None, typer.Option(help="What is not proven is an error, or a warning. Default: enforce.")
    ],
    "waivers": Annotated[
        Path | None,
        typer.Option(
            help="Findings that may stand until a day. Default: .sluicegate/waivers.yaml, if it is there.",
            show_default=False,
        ),
    ],
    "baseline": Annotated[
        Path | None,
        typer.Option(
            help="Only what is not in this file fails; see `contract baseline`.", show_default=False
        ),
    ],
    "today": Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="Judge waivers as on this day. Default: the day in UTC.",
            show_default=False,
        ),
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The options of one command, read and checked before it does anything."""

    format: ReportFormat
    copies: "tuple[Copy, ...]"
    fail_on: FailOn
    mode: Mode
    allowed: "Allowed"
    today: date

    def conclude(self, tool: str, subjects: "tuple[Subject, ...]", notes: tuple[str, ...] = ()) -> int:
        """Settle the findings, tell them everywhere they are asked for; the exit code."""
        from sluicegate.console.contracting.delivering import deliver
        from sluicegate.console.contracting.report import Report
        from sluicegate.console.contracting.settling import settle

        report = Report(tool=tool, subjects=subjects, fail_on=self.fail_on, notes=notes)
        return deliver(settle(report, self.allowed, self.today), self.format, self.copies)


def judge(options: dict[str, Any]) -> Judge:
    """Raises Refused with what is wrong in the options, the waivers and the baseline."""
    from sluicegate.console.contracting import baseline, delivering, waivers
    from sluicegate.console.contracting.settling import Allowed
    from sluicegate.contracts.errors import Problem, Refused

    problems: list[Problem] = []

    def tried(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except Refused as error:
            problems.extend(error.problems)

    given = options["baseline"]
    copies = tried(lambda: delivering.copies(options["report"] or ()))
    entries = tried(lambda: waivers.read(options["waivers"]))
    known = tried(lambda: baseline.read(given)) if given else None
    if problems:
        raise Refused(tuple(problems))
    return Judge(
        format=options["format"] or ReportFormat.TABLE,
        copies=copies,
        fail_on=options["fail_on"] or FailOn.ERROR,
        mode=options["mode"] or Mode.ENFORCE,
        allowed=Allowed(waivers=entries, baseline=known),
        today=day(options["today"]),
    )


def day(given: datetime | None) -> date:
    """The day that is given, else the present one in UTC."""
    from sluicegate.contracts.adapters import system

    return given.date() if given else system.now().astimezone(UTC).date()


P = ParamSpec("P")


def judged(function: Callable[Concatenate[Judge, P], int]) -> Callable[..., int]:
    """A command whose first parameter is a Judge."""

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> int:
        own = {name: value for name, value in kwargs.items() if name not in {*OPTIONS, "ctx"}}
        return function(judge({name: kwargs.get(name) for name in OPTIONS}), *args, **own)

    return with_options(function, command, OPTIONS, skip=1)
