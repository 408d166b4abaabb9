"""The reference pages of the command line, made from the commands themselves.

`python -m sluicegate.console.reference docs/reference` writes them; a test fails when they are stale.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from sluicegate.console import exits, output
from sluicegate.console.main import app

_NOTE = "<!-- Made by `python -m sluicegate.console.reference docs/reference`; do not edit. -->"
_ORDINARY = {"--help", "--install-completion", "--show-completion"}


def pages() -> dict[str, str]:
    """File name -> text."""
    return {"cli.md": cli(), "exit-codes.md": exit_codes()}


def cli() -> str:
    """Every command with its arguments and options."""
    root = typer.main.get_command(app)
    parts = [
        "# Command line",
        _NOTE,
        (
            "Every command takes `-h`. `--debug`, anywhere, shows the traceback of an error. Tables go to standard output, "
            "counts and warnings to standard error; colour only to a terminal, and never with `NO_COLOR`. "
            "Exit codes: [exit-codes.md](exit-codes.md)."
        ),
        *_sections(root, "sluicegate"),
    ]
    return "\n\n".join(parts) + "\n"


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
    rows = [f"| `{names}` | {text} |" for names, text in (record for record in records if record) if names]
    table = "\n".join(["| | |", "|---|---|", *rows]) if rows else ""
    return "\n\n".join(part for part in (f"## {path}", f"`{usage}`", _one_line(command.help), table) if part)


def _record(parameter: Any, context: Any) -> tuple[str, str] | None:
    if getattr(parameter, "hidden", False) or _ORDINARY & set(parameter.opts):
        return None
    found = parameter.get_help_record(context)
    if found is None:
        return None
    names, text = found
    return names.replace("|", "\\|"), _one_line(text).replace("|", "\\|")


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def exit_codes() -> str:
    """What each exit code means."""
    rows = [f"| {code} | {meaning} |" for code, meaning in exits.MEANINGS.items()]
    parts = [
        "# Exit codes",
        _NOTE,
        "\n".join(["| code | meaning |", "|---|---|", *rows]),
        (
            "Errors are told on standard error in one message, with every problem at once: where (file, line, path), the "
            "value, what is allowed, and a hint. No traceback is shown without `--debug`."
        ),
    ]
    return "\n\n".join(parts) + "\n"


def write(folder: Path) -> None:
    """Write the pages into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)
        output.echo(str(folder / name))


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference"))
