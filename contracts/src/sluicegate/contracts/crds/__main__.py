"""``python -m sluicegate.contracts.crds [DIRECTORY]``: print the CRDs, or write one file each."""

import argparse
import sys
from pathlib import Path

from sluicegate.contracts.crds import definitions, file_name, written


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0."""
    parser = argparse.ArgumentParser(prog="python -m sluicegate.contracts.crds", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, help="where the files go; absent: standard output")
    directory: Path | None = parser.parse_args(arguments).directory
    for made in definitions():
        if directory is None:
            sys.stdout.write("---\n" + written(made))
        else:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / file_name(made)).write_text(written(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
