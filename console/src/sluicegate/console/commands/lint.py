"""`sluicegate lint`: everything that can be known about a workflow before it runs."""

from sluicegate.console import exits, output
from sluicegate.console.commands.apply import Files, Recursive
from sluicegate.console.output import Format
from sluicegate.console.session import Output


def lint(*, filename: Files, recursive: Recursive = False, format: Output = Format.TABLE) -> int:
    """Check files without a server: problems, the split of the error budget, exposure, time to a decision."""
    del filename, recursive, format
    output.note("not yet")
    return exits.OK
