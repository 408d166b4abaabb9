"""The JSON Schema of SARIF 2.1.0, as the MIT-licensed npm package @microsoft/jest-sarif ships it: pinned, fetched once."""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from tests.support.built import Built, cache_root

PACKAGE, FILE = "@microsoft/jest-sarif@1.0.0-beta.0", "sarif-2.1.0-rtm.5.json"
DIGEST = "2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8"


class NoSchema(Exception):  # noqa: N818 - it names what is missing
    """There is none, and npm could not bring it."""


def schema() -> dict[str, Any]:
    built = Built("schema of SARIF", (FILE,), "seconds", NoSchema)
    folder = built.cached(cache_root() / "sarif" / DIGEST[:12], _fetch)
    found = json.loads((folder / FILE).read_bytes())
    assert isinstance(found, dict)
    return found


def _fetch(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NoSchema(f"npm is needed once, for {PACKAGE}")
    done = subprocess.run(
        [npm, "pack", "--silent", PACKAGE],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        raise NoSchema(f"npm pack {PACKAGE}: {done.stderr[-500:]}")
    archive = next(folder.glob("*.tgz"))
    with tarfile.open(fileobj=io.BytesIO(archive.read_bytes())) as files:
        member = files.extractfile(f"package/lib/schemas/{FILE}")
        content = member.read() if member else b""
    archive.unlink()
    if hashlib.sha256(content).hexdigest() != DIGEST:
        raise NoSchema(f"{PACKAGE} has another {FILE} than the one that is pinned")
    (folder / FILE).write_bytes(content)
