"""Where prometheus and promtool come from: a folder that is given, PATH, the project's cache, or a build into it."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.built import Build, Built, cache_root

HERE = Path(__file__).parent
VERSIONS = HERE / "versions.env"
GIVEN = "SLUICEGATE_PROMETHEUS"
NEEDED = ("prometheus", "promtool")


class NoPrometheus(Exception):  # noqa: N818 - it names what is missing
    """There is none, and none could be built; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """The two programs."""

    prometheus: Path
    promtool: Path


def find(environ: Mapping[str, str] = os.environ, build: Build | None = None) -> Binaries:
    """The first of the places that has both; at last a build, which takes about 6 minutes on 2 cores, once."""
    if given := environ.get(GIVEN):
        return _in(Path(given))
    found = [shutil.which(name, path=environ.get("PATH", "")) for name in NEEDED]
    if all(found):
        return Binaries(*(Path(str(path)) for path in found))
    return _in(BUILT.cached(cache(environ), build or _build))


def cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of this version, outside of any checkout."""
    lines = [line for line in VERSIONS.read_text().splitlines() if line and not line.startswith("#")]
    version = next(line.partition("=")[2] for line in lines if line.startswith("PROMETHEUS="))
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return cache_root(environ) / "prometheus" / f"{version}-{digest[:8]}"


BUILT = Built("prometheus", NEEDED, "about 6 minutes", NoPrometheus)


def _in(folder: Path) -> Binaries:
    for name in NEEDED:
        if not (folder / name).is_file():
            raise NoPrometheus(
                f"{folder} has no {name}; `make prometheus` builds both when {GIVEN} is not set"
            )
    return Binaries(folder / "prometheus", folder / "promtool")


def _build(folder: Path) -> None:
    environ = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(["bash", str(HERE / "build.sh"), str(folder)], stdout=2, env=environ, check=False)
    if done.returncode:
        raise NoPrometheus(
            f"{HERE / 'build.sh'} ended with {done.returncode}; its last lines say why. It needs a network that reaches "
            f"Go's module proxy, and 3 GB. Or put prometheus and promtool into PATH, or set {GIVEN} to their folder."
        )
