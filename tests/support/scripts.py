"""The project's console scripts."""

import sys
import tomllib
from pathlib import Path

from tests.support.golden import ROOT


def install(folder: Path) -> Path:
    """Into a new folder, as an installation writes them."""
    folder.mkdir()
    for name, target in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].items():
        module, _, function = target.partition(":")
        file = folder / name
        file.write_text(
            f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        )
        file.chmod(0o755)
    return folder
