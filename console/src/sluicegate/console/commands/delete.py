"""`sluicegate delete`: by kind and name, or by file."""

from pathlib import Path
from typing import Annotated

import typer

from sluicegate.console import output, program
from sluicegate.console.client import Client
from sluicegate.console.commands.apply import with_namespace
from sluicegate.console.complete import complete_kind, complete_name
from sluicegate.console.session import Session, connected
from sluicegate.contracts.errors import NotFound, Problem, Refused

WAIT_SECONDS = 30.0


@connected
def delete(  # noqa: PLR0913 - one parameter per option
    session: Session,
    *,
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", autocompletion=complete_kind, show_default=False)
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", autocompletion=complete_name, show_default=False),
    ] = None,
    filename: Annotated[
        list[Path] | None,
        typer.Option(
            "--filename",
            "-f",
            help="Delete what this file or folder names; may be repeated.",
            show_default=False,
        ),
    ] = None,
    missing_ok: Annotated[
        bool, typer.Option("--ignore-not-found", help="A missing object is no error.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Until it is gone, at most 30 s.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be deleted.")] = False,
) -> None:
    """Delete objects. A workflow takes its revisions, rollouts and their decisions with it; recorded runs stay."""
    for plural, namespace, found in _wanted(session, kind, name, filename):
        try:
            gone = session.client.delete(plural, namespace, found, dry_run=dry_run)
        except NotFound:
            if missing_ok:
                continue
            from sluicegate.console import targets

            raise targets.unknown(
                session.client, plural, namespace, found, noun=plural.removesuffix("s")
            ) from None
        if wait and not dry_run:
            _until_gone(session.client, plural, namespace, found)
        label = output.name_of(gone) if "kind" in gone and "metadata" in gone else f"{plural}/{found}"
        output.echo(f"{label} deleted" + (" (dry run)" if dry_run else ""))


def _wanted(
    session: Session, kind: str | None, names: list[str] | None, files: list[Path] | None
) -> list[tuple[str, str, str]]:
    """(plural, namespace, name) of everything meant, files last document first."""
    from sluicegate.console import targets

    if files and not kind:
        from sluicegate.console.files import read

        documents = [with_namespace(one, session.namespace) for one in reversed(read(files))]
        return [
            (targets.kind(one["kind"]).plural, one["metadata"]["namespace"], one["metadata"]["name"])
            for one in documents
        ]
    word, first = targets.split(kind or "", None)
    found = [*([first] if first else []), *(names or ())]
    if files or not word or not found:
        hint = f"{program.name()} delete awf support-bot, or {program.name()} delete -f FILE"
        raise Refused((Problem(path="KIND NAME", message="say what to delete", hint=hint),))
    return [(targets.kind(word).plural, session.namespace, name) for name in found]


def _until_gone(client: Client, plural: str, namespace: str, name: str) -> None:
    from sluicegate.console.waiting import TimedOut, until

    def is_gone() -> bool | None:
        try:
            client.get(plural, namespace, name)
        except NotFound:
            return True
        return None

    if until(is_gone, WAIT_SECONDS) is None:
        raise TimedOut(f"{plural}/{name} is marked for deletion and not gone after {WAIT_SECONDS:g} s")
