"""Where a control plane comes from: a cluster that runs, a folder that is given, the project's cache, or a build into it."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.built import Build, Built, cache_root

HERE = Path(__file__).parent
VERSIONS = HERE / "versions.env"
NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
BUILT = (*NEEDED, "kube-scheduler", "kwok", "kstatus", "kwok-stages.yaml", "gateway-api.yaml")


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
    return cache_root(environ) / "controlplane" / key(VERSIONS.read_text())


def key(text: str) -> str:
    """Of a set of versions: readable, and another one for every other set."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    kubernetes = next(line.partition("=")[2] for line in lines if line.startswith("KUBERNETES="))
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{kubernetes}-{digest[:8]}"


_BUILT = Built("control plane", BUILT, "about 15 minutes", NoControlPlane)
cached, is_complete = _BUILT.cached, _BUILT.is_complete


def _build(folder: Path) -> None:
    environ = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(["bash", str(HERE / "build.sh"), str(folder)], stdout=2, env=environ, check=False)
    if done.returncode:
        raise NoControlPlane(
            f"{HERE / 'build.sh'} ended with {done.returncode}; its last lines say why. It needs Linux, a network that "
            "reaches Go's module proxy, and 6 GB. Or set KUBEBUILDER_ASSETS to a folder with "
            f"{', '.join(NEEDED)}, or USE_EXISTING_CLUSTER=true."
        )


def _kubeconfig(environ: Mapping[str, str]) -> Path:
    path = Path(environ.get("KUBECONFIG") or Path(environ.get("HOME") or Path.home()) / ".kube" / "config")
    if not path.is_file():
        raise NoControlPlane(
            f"USE_EXISTING_CLUSTER=true, but there is no kubeconfig {path}; set KUBECONFIG to one"
        )
    return path
