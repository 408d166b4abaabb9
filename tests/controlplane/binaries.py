"""Where a control plane comes from: a cluster that runs, a folder that is given, the project's cache, or a build into it."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VERSIONS = HERE / "versions.env"
NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
BUILT = (*NEEDED, "kube-scheduler", "kwok", "kstatus", "kwok-stages.yaml", "gateway-api.yaml")
STAMP = "complete.json"

Build = Callable[[Path], None]


class NoControlPlane(Exception):  # noqa: N818 - it names what is missing
    """There is none, and none could be built; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Existing:
    """A cluster that runs already."""

    kubeconfig: Path


@dataclass(frozen=True, slots=True)
class Binaries:
    """A folder of programs and manifests."""

    folder: Path

    def path(self, name: str) -> Path:
        """One of them, or NoControlPlane."""
        found = self.folder / name
        if not found.is_file():
            raise NoControlPlane(
                f"{self.folder} has no {name}; `make controlplane` builds every one when KUBEBUILDER_ASSETS is not set"
            )
        return found


def find(environ: Mapping[str, str] = os.environ, build: Build | None = None) -> Existing | Binaries:
    """The first of the places that is set or complete; at last a build, which takes about 15 minutes, once."""
    if environ.get("USE_EXISTING_CLUSTER", "").lower() == "true":
        return Existing(_kubeconfig(environ))
    if given := environ.get("KUBEBUILDER_ASSETS"):
        binaries = Binaries(Path(given))
        for name in NEEDED:
            binaries.path(name)
        return binaries
    return Binaries(cached(cache(environ), build or _build))


def cache(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of this set of versions, outside of any checkout."""
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    root = Path(environ.get("SLUICEGATE_CACHE") or Path(base) / "sluicegate")
    return root / "controlplane" / key(VERSIONS.read_text())


def key(text: str) -> str:
    """Of a set of versions: readable, and another one for every other set."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    kubernetes = next(line.partition("=")[2] for line in lines if line.startswith("KUBERNETES="))
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{kubernetes}-{digest[:8]}"


def cached(folder: Path, build: Build) -> Path:
    """`folder`, complete. Of several processes one builds and the others wait for it; a build that fails leaves nothing."""
    if is_complete(folder):
        return folder
    with _locked(folder.with_name(f"{folder.name}.lock")):
        if is_complete(folder):
            return folder
        _tell(f"building into {folder} (first time only, about 15 minutes)")
        for left in folder.parent.glob(f"{folder.name}.*.part"):  # of a build that was killed
            shutil.rmtree(left, ignore_errors=True)
        fresh = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".part", dir=folder.parent))
        try:
            build(fresh)
            _stamp(fresh)
            shutil.rmtree(folder, ignore_errors=True)
            fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder


def is_complete(folder: Path) -> bool:
    """Whether everything that was stamped is there, as large as it was."""
    try:
        sizes = json.loads((folder / STAMP).read_text())
        return all((folder / name).stat().st_size == sizes.get(name) for name in BUILT)
    except (OSError, ValueError):
        return False


def _stamp(folder: Path) -> None:
    missing = [name for name in BUILT if not (folder / name).is_file()]
    if missing:
        raise NoControlPlane(f"the build brought no {', '.join(missing)}")
    sizes = {name: (folder / name).stat().st_size for name in BUILT}
    (folder / STAMP).write_text(json.dumps(sizes, indent=2))
    folder.chmod(0o755)


def _build(folder: Path) -> None:
    environ = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(["bash", str(HERE / "build.sh"), str(folder)], stdout=2, env=environ, check=False)
    if done.returncode:
        raise NoControlPlane(
            f"{HERE / 'build.sh'} ended with {done.returncode}; its last lines say why. It needs Linux, a network that "
            "reaches Go's module proxy, and 6 GB. Or set KUBEBUILDER_ASSETS to a folder with "
            f"{', '.join(NEEDED)}, or USE_EXISTING_CLUSTER=true."
        )


@contextmanager
def _locked(path: Path) -> Iterator[Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell("another process builds it; waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _kubeconfig(environ: Mapping[str, str]) -> Path:
    path = Path(environ.get("KUBECONFIG") or Path(environ.get("HOME") or Path.home()) / ".kube" / "config")
    if not path.is_file():
        raise NoControlPlane(
            f"USE_EXISTING_CLUSTER=true, but there is no kubeconfig {path}; set KUBECONFIG to one"
        )
    return path


def _tell(text: str) -> None:
    print(f"control plane: {text}", file=sys.stderr, flush=True)
