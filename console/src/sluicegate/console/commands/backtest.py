"""`sluicegate backtest`: what the gates would have said of recorded runs."""

from sluicegate.console import exits, output


def backtest() -> int:
    """Fold recorded runs of two versions and print what each gate would have said, and when."""
    output.note("not yet")
    return exits.OK
