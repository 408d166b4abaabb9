"""Golden files: SLUICEGATE_UPDATE_GOLDEN=1 writes them, otherwise they are compared."""

import os
from pathlib import Path

UPDATE = "SLUICEGATE_UPDATE_GOLDEN"
ROOT = Path(__file__).parents[2]


def check(path: Path, found: str) -> None:
    """Compare with a golden file; with SLUICEGATE_UPDATE_GOLDEN=1 write it."""
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
    assert path.exists(), f"{path} is missing: run the tests with {UPDATE}=1 and read what it wrote"
    assert found == path.read_text(), f"{path.name} is stale: run the tests with {UPDATE}=1 and read the diff"
