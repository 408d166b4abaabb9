"""The command line, from the commands themselves."""

from collections.abc import Iterator
from typing import Any

import typer

from sluicegate.console import exits
from sluicegate.console.main import app
from sluicegate.console.reference.markdown import one_line, page, table

_ORDINARY = {"--help", "--install-completion", "--show-completion"}


def cli() -> str:
    """Every command with its arguments and options."""
    return page(
        "Command line",
        "Every command takes `-h`. `--debug`, anywhere, shows the traceback of an error. Tables go to standard output, "
        "counts and warnings to standard error; colour only to a terminal, and never with `NO_COLOR`. "
        "Exit codes: [exit-codes.md](exit-codes.md).",
        *_sections(typer.main.get_command(app), "sluicegate"),
    )


def _sections(command: Any, path: str) -> Iterator[str]:
    for name, child in getattr(command, "commands", {}).items():
        if child.hidden:
            continue
        where = f"{path} {name}"
        if getattr(child, "commands", None):
            yield from _sections(child, where)
        else:
            yield _section(child, where)


def _section(command: Any, path: str) -> str:
    context = command.make_context(path, [], resilient_parsing=True)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    records = [_record(parameter, context) for parameter in command.params]
    rows = [(f"`{names}`", text) for names, text in (record for record in records if record) if names]
    options = table(("", ""), rows) if rows else ""
    return "\n\n".join(part for part in (f"## {path}", f"`{usage}`", one_line(command.help), options) if part)


def _record(parameter: Any, context: Any) -> tuple[str, str] | None:
    if getattr(parameter, "hidden", False) or _ORDINARY & set(parameter.opts):
        return None
    found: tuple[str, str] | None = parameter.get_help_record(context)
    return found


def exit_codes() -> str:
    """What each exit code means."""
    return page(
        "Exit codes",
        table(("code", "meaning"), ((str(code), meaning) for code, meaning in exits.MEANINGS.items())),
        "Errors are told on standard error in one message, with every problem at once: where (file, line, path), the "
        "value, what is allowed, and a hint. No traceback is shown without `--debug`.",
    )
