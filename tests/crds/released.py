"""What was released: the CRDs of each version, and objects as they were stored under it. Neither ever changes.

`python -m tests.crds.released VERSION` freezes the present ones; done once for each release.
"""

import json
import sys
from pathlib import Path

from sluicegate.contracts.crds import definitions, file_name, written
from sluicegate.contracts.parsing import parse_data
from tests.contracts import kinds

RELEASED = Path(__file__).parent / "released"
STORED = Path(__file__).parent / "stored"


def versions() -> list[str]:
    """Oldest first."""
    return sorted(path.name for path in RELEASED.iterdir())


def stored() -> list[Path]:
    """One file for each object."""
    return sorted(STORED.glob("*/*.json"))


def freeze(version: str) -> None:
    """FileExistsError when it was released already."""
    crds, objects = RELEASED / version, STORED / f"v1alpha1-{version}"
    crds.mkdir(parents=True)
    objects.mkdir(parents=True)
    for made in definitions():
        (crds / file_name(made)).write_text(written(made))
    for kind in kinds.SPECS:
        for name, item in (("written", kinds.full(kind)), ("read", parse_data(kinds.full(kind)).to_json())):
            (objects / f"{kind.lower()}-{name}.json").write_text(
                json.dumps(item, indent=1, ensure_ascii=False) + "\n"
            )


if __name__ == "__main__":
    freeze(sys.argv[1])
