"""Where the control plane's programs come from; with builds that take no time."""

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.controlplane import binaries, installation
from tests.controlplane.binaries import BUILT, NEEDED, Binaries, Existing, NoControlPlane
from tests.controlplane.existing import ExistingCluster
from tests.operator.up import until

BUILD_SH = Path(binaries.__file__).with_name("build.sh")


def filled(folder: Path, names: tuple[str, ...] = BUILT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(f"a program named {name}")
    return folder


class Builds:
    """Counts itself."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, folder: Path) -> None:
        self.count += 1
        filled(folder)


def unwanted(folder: Path) -> None:
    raise AssertionError("built")


def environment(tmp_path: Path, *, upto: str) -> dict[str, str]:
    """Every place is set, from the last to the one named."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()
    places = {
        "home": {"HOME": str(tmp_path / "home")},
        "xdg": {"XDG_CACHE_HOME": str(tmp_path / "xdg")},
        "cache": {"SLUICEGATE_CACHE": str(tmp_path / "cache")},
        "assets": {"KUBEBUILDER_ASSETS": str(filled(tmp_path / "assets", NEEDED))},
        "existing": {"USE_EXISTING_CLUSTER": "true", "KUBECONFIG": str(kubeconfig)},
    }
    chosen: dict[str, str] = {}
    for name, variables in places.items():
        chosen |= variables
        if name == upto:
            return chosen
    raise AssertionError(upto)


def test_a_running_cluster_goes_before_all(tmp_path: Path) -> None:
    found = binaries.find(environment(tmp_path, upto="existing"), unwanted)
    assert found == Existing(tmp_path / "kubeconfig")


def test_a_folder_that_is_given_goes_before_the_cache(tmp_path: Path) -> None:
    assert binaries.find(environment(tmp_path, upto="assets"), unwanted) == Binaries(tmp_path / "assets")


@pytest.mark.parametrize(
    ("place", "root"), [("cache", "cache"), ("xdg", "xdg/sluicegate"), ("home", "home/.cache/sluicegate")]
)
def test_else_it_is_built_once_into_the_cache(tmp_path: Path, place: str, root: str) -> None:
    build = Builds()
    for _ in range(2):
        found = binaries.find(environment(tmp_path, upto=place), build)
        assert isinstance(found, Binaries)
        assert found.folder.parent == tmp_path / root / "controlplane"
        assert found.path("kubectl").read_text() == "a program named kubectl"
    assert build.count == 1


def test_false_is_not_an_existing_cluster(tmp_path: Path) -> None:
    environ = environment(tmp_path, upto="existing") | {"USE_EXISTING_CLUSTER": "false"}
    assert isinstance(binaries.find(environ, unwanted), Binaries)


def test_an_existing_cluster_without_a_kubeconfig_is_said(tmp_path: Path) -> None:
    environ = {"USE_EXISTING_CLUSTER": "true", "KUBECONFIG": str(tmp_path / "none")}
    with pytest.raises(NoControlPlane, match=r"no kubeconfig .*/none; set KUBECONFIG"):
        binaries.find(environ, unwanted)


def test_a_given_folder_is_told_what_it_lacks(tmp_path: Path) -> None:
    environ = environment(tmp_path, upto="assets")
    (tmp_path / "assets" / "kube-controller-manager").unlink()
    with pytest.raises(NoControlPlane, match="has no kube-controller-manager; `make controlplane` builds"):
        binaries.find(environ, unwanted)


def test_other_versions_are_another_folder_and_comments_are_not() -> None:
    text = "# said\nKUBERNETES=1.34.4\nETCD=3.6.16\n"
    assert binaries.key(text) == binaries.key(text.replace("said", "told"))
    assert binaries.key(text) != binaries.key(text.replace("3.6.16", "3.6.17"))
    assert binaries.key(text).startswith("1.34.4-")


@pytest.mark.parametrize("broken", ["kubectl", "complete.json", "gateway-api.yaml"])
def test_a_cache_that_lacks_a_file_is_built_anew(tmp_path: Path, broken: str) -> None:
    build, folder = Builds(), tmp_path / "cache"
    binaries.cached(folder, build)
    (folder / broken).unlink()
    binaries.cached(folder, build)
    assert build.count == 2
    assert binaries.is_complete(folder)


def test_a_cache_with_a_shortened_file_is_built_anew(tmp_path: Path) -> None:
    build, folder = Builds(), tmp_path / "cache"
    binaries.cached(folder, build)
    (folder / "etcd").write_text("half")
    binaries.cached(folder, build)
    assert build.count == 2


def test_a_build_that_fails_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    def fails(folder: Path) -> None:
        filled(folder, ("etcd",))
        raise KeyboardInterrupt

    folder = tmp_path / "cache"
    with pytest.raises(KeyboardInterrupt):
        binaries.cached(folder, fails)
    assert [path.name for path in tmp_path.iterdir()] == ["cache.lock"]
    assert binaries.cached(folder, Builds()) == folder


def test_a_build_that_brought_too_little_is_no_cache(tmp_path: Path) -> None:
    def brings_two(folder: Path) -> None:
        filled(folder, ("etcd", "kubectl"))

    with pytest.raises(NoControlPlane, match="the build brought no kube-apiserver, kube-controller-manager"):
        binaries.cached(tmp_path / "cache", brings_two)
    assert not (tmp_path / "cache").exists()


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    left = filled(tmp_path / "cache.x1.part", ("etcd",))
    binaries.cached(tmp_path / "cache", Builds())
    assert not left.exists()


def test_of_two_at_once_one_builds_and_the_other_waits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started, go_on, folder = threading.Event(), threading.Event(), tmp_path / "cache"
    built: list[str] = []

    def build(into: Path) -> None:
        started.set()
        go_on.wait(30)
        built.append(threading.current_thread().name)
        filled(into)

    first = threading.Thread(target=binaries.cached, args=(folder, build), name="first")
    first.start()
    assert started.wait(30)
    second = threading.Thread(target=binaries.cached, args=(folder, build), name="second")
    second.start()
    until("the second says that it waits", lambda: "another process builds it" in capsys.readouterr().err)
    assert not folder.exists()
    go_on.set()
    first.join(30)
    second.join(30)
    assert built == ["first"]
    assert binaries.is_complete(folder)


FAKE_GO = r"""#!/usr/bin/env bash
root=$(cd "$(dirname "$0")/.." && pwd)
echo "$*" >> "$root/calls"
case "$1 $2" in
  "env GOVERSION") echo "go$(cat "$root/version")" ;;
  "version "*) echo "go version go$(cat "$root/version")" ;;
  "mod download")
    [ -e "$root/failed" ] || { touch "$root/failed"; echo "no network" >&2; exit 1; }
    printf '{\n\t"Path": "x",\n\t"GoMod": "%s/go.mod",\n\t"Dir": "%s/gateway"\n}\n' "$root" "$root" ;;
  "list -m") echo "$root/kwok" ;;
  "build "*) # -o TARGET ... PACKAGE
    while [ "$1" != -o ]; do shift; done
    target=$2; package=${*: -1}
    case $package in k8s.io/kubernetes/*) cp go.mod "$root/kubernetes.mod" ;; esac
    case $target in */) target=$target${package##*/} ;; esac
    echo "$package" > "$target" ;;
esac
"""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """A Go that builds nothing, and the modules it downloads."""
    root = tmp_path / "fake"
    for folder in ("bin", "gateway/config/crd/standard"):
        (root / folder).mkdir(parents=True)
    (root / "bin" / "go").write_text(FAKE_GO)
    (root / "bin" / "go").chmod(0o755)
    (root / "version").write_text("1.26.8")
    (root / "go.mod").write_text("go 1.24.0\nrequire (\n\tk8s.io/api v0.0.0\n\tk8s.io/klog/v2 v2.1.0\n)\n")
    for name in ("httproutes", "vap_safeupgrades"):
        path = root / "gateway/config/crd/standard" / f"gateway.networking.k8s.io_{name}.yaml"
        path.write_text(f"name: {name}\n")
    for folder in ("node/fast", "node/heartbeat-with-lease", "pod/fast"):
        stage = root / "kwok/kustomize/stage" / folder
        stage.mkdir(parents=True)
        (stage / "kustomization.yaml").write_text("kustomize: yes\n")
        (stage / "stage.yaml").write_text(f"stage: {folder}\n")
    return root


def test_the_build_makes_every_file_and_tries_downloads_again(fake: Path, tmp_path: Path) -> None:
    environ = {"PATH": f"{fake}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}
    command = ["bash", str(BUILD_SH), str(tmp_path / "out")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == set(BUILT)
    assert "attempt 1 failed" in done.stderr
    assert (out / "gateway-api.yaml").read_text() == "---\nname: httproutes\n"
    stages = ["node/fast", "node/heartbeat-with-lease", "pod/fast"]
    assert (out / "kwok-stages.yaml").read_text() == "".join(f"---\nstage: {stage}\n" for stage in stages)
    made = (fake / "kubernetes.mod").read_text()
    assert "\tk8s.io/api => k8s.io/api v0.34.4\n" in made
    assert "klog" not in made


def test_a_build_that_fails_says_so(fake: Path, tmp_path: Path) -> None:
    (fake / "kwok").rename(fake / "gone")
    environ = {"PATH": f"{fake}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}
    command = ["bash", str(BUILD_SH), str(tmp_path / "out")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "control plane: built" not in done.stderr


def test_the_rules_of_an_existing_cluster_are_never_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kubectl that writes down what it is called for stands for the one on PATH."""
    calls, kubectl = tmp_path / "calls", tmp_path / "kubectl"
    kubectl.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    cluster = ExistingCluster(tmp_path / "kubeconfig")
    installation.clear(cluster)
    cluster.kubectl("version")
    assert calls.read_text() == "version\n"
