"""Write the pages into the folder that is given."""

import sys
from pathlib import Path

from sluicegate.console import output
from sluicegate.console.reference import pages


def write(folder: Path) -> None:
    """Write the pages into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text)
        output.echo(str(folder / name))


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference"))
