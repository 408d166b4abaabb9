"""`sluicegate diff`: what apply would change, and what that means."""

from sluicegate.console import exits, output
from sluicegate.console.commands.apply import Files, Recursive, with_namespace
from sluicegate.console.output import Format
from sluicegate.console.session import Output, Session, connected


@connected
def diff(
    session: Session, filename: Files, recursive: Recursive = False, format: Output = Format.TABLE
) -> int:
    """Compare files with what is live, as the server would store them. Exit code 1 when something differs."""
    from sluicegate.console.comparing import meaning, unified
    from sluicegate.console.files import read

    documents = [with_namespace(one, session.namespace) for one in read(filename, recursive=recursive)]
    results = session.client.apply(documents, dry_run=True)
    changed = [one for one in results if one.operation != "unchanged"]
    code = exits.DIFFERENT if changed else exits.OK
    shown = [
        {
            "object": output.name_of(one.object),
            "operation": one.operation,
            "diff": unified(one),
            "meaning": meaning(one),
        }
        for one in results
    ]
    if output.structured(output.as_list(shown), format):
        return code
    for one, facts in zip(results, shown, strict=True):
        if format is Format.NAME and one in changed:
            output.echo(output.name_of(one.object))
        elif format is not Format.NAME and one in changed:
            _say(str(facts["diff"]), [str(text) for text in facts["meaning"]])
        for warning in one.warnings:
            output.note(f"warning: {warning}")
    return code


def _say(difference: str, consequences: list[str]) -> None:
    for line in difference.splitlines():
        output.echo(output.diff_line(line))
    for text in consequences:
        output.echo(("# " + text).replace("\n", "\n# "))
