"""`sluicegate apply`: create or change objects, all in one commit or none."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sluicegate.console import output, program
from sluicegate.console.client import Applied
from sluicegate.console.output import Format
from sluicegate.console.session import Output, Session, connected

Files = Annotated[
    list[Path],
    typer.Option(
        "--filename", "-f", help="File, folder or - (standard input); may be repeated.", show_default=False
    ),
]
Recursive = Annotated[bool, typer.Option("--recursive", "-R", help="Folders below folders too.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Ask the server what it would do; store nothing.")]

ForceConflicts = Annotated[
    bool,
    typer.Option("--force-conflicts", help="On a cluster: take fields that another field manager owns."),
]


@connected
def apply(
    session: Session,
    filename: Files,
    recursive: Recursive = False,
    dry_run: DryRun = False,
    force_conflicts: ForceConflicts = False,
    format: Output = Format.TABLE,
) -> None:
    """Apply files: everything is checked first, then all of it is stored, or nothing."""
    from sluicegate.console.files import read

    documents = [with_namespace(one, session.namespace) for one in read(filename, recursive=recursive)]
    results = session.client.apply(documents, dry_run=dry_run, force=force_conflicts)
    for warning in (text for one in results for text in one.warnings):
        output.note(f"warning: {warning}")
    stored = [one.object for one in results]
    if output.structured(stored[0] if len(stored) == 1 else output.as_list(stored), format):
        return
    for one in results:
        output.echo(output.name_of(one.object) if format is Format.NAME else said(one, dry_run=dry_run))
    changed = [one.object["metadata"] for one in results if _starts_something(one)]
    if changed and format is not Format.NAME and not dry_run:
        metadata = changed[0]
        space = "" if metadata["namespace"] == "default" else f" -n {metadata['namespace']}"
        output.note("next: " + program.line(f"rollout status {metadata['name']}{space} -w"))


def _starts_something(applied: Applied) -> bool:
    return applied.object["kind"] == "AgentWorkflow" and applied.operation == "configured"


def said(applied: Applied, *, dry_run: bool = False) -> str:
    """`agentworkflow/support-bot configured`."""
    return f"{output.name_of(applied.object)} {applied.operation}" + (" (dry run)" if dry_run else "")


def with_namespace(document: dict[str, Any], namespace: str) -> dict[str, Any]:
    """The document, in `namespace` if it names none."""
    metadata = dict(document.get("metadata") or {})
    metadata.setdefault("namespace", namespace)
    return {**document, "metadata": metadata}
