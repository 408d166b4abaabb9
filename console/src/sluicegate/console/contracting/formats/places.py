"""Where a file is, for those who show it beside the code."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote


def relative(source: str, environ: Mapping[str, str] = os.environ) -> str:
    """The file as seen from the root of the checkout that CI names, else from the present folder; with forward slashes."""
    root = environ.get("GITHUB_WORKSPACE") or environ.get("CI_PROJECT_DIR")
    path = Path(source)
    if root or path.is_absolute():
        found = Path(os.path.relpath(path.absolute(), root or Path.cwd()))
        path = path if ".." in found.parts else found
    return path.as_posix()


def uri(source: str) -> str:
    """The same as a relative reference (RFC 3986)."""
    return quote(relative(source))
