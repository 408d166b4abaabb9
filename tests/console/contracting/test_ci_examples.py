"""The commands of examples/ci, taken out of their files and read by bash in a fresh repository: a breaking change fails the
build, a compatible one passes. One of them is run as installed; of the others bash makes the words, and they run in here.
"""

import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluicegate.console import exits, main
from tests.console.contracting.made import CLEAN
from tests.support import scripts
from tests.support.golden import ROOT

CI = ROOT / "examples/ci"
BREAKING = {
    "a required field of the answer is gone": (
        "    output: {type: object, required: [intent], properties: {intent: {enum: [track, cancel]}}}\n",
        "    output: {type: object}\n",
    ),
    "callers must send one more": (
        "    input: {type: object, required: [question], properties: {question:",
        "    input: {type: object, required: [question, customer], properties: {customer: {type: string}, question:",
    ),
}
COMPATIBLE = {
    "one more field that callers may send": (
        "    input: {type: object, required: [question], properties: {question:",
        "    input: {type: object, required: [question], properties: {customer: {type: string}, question:",
    ),
    "the same contract, another version of the component": ("version: v1", "version: v2"),
}
UNREADABLE = {"a file that is no YAML": ("spec:", "spec: [")}


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository as a CI server checks it out: the change on top of the base, the base branch as origin/main."""

    folder: Path
    base: str
    environ: dict[str, str]

    def run(self, command: str) -> int:
        """As a CI server does, with the program that is installed."""
        done = self.bash(command)
        assert done.returncode != exits.ERROR, done.stdout + done.stderr
        return done.returncode

    def words(self, command: str) -> list[str]:
        """What the program gets."""
        told = self.bash("sluicegate() { printf '%s\\0' \"$@\"; }\n" + command)
        assert told.returncode == 0, told.stderr
        return told.stdout.split("\0")[:-1]

    def bash(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-ec", script], cwd=self.folder, env=self.environ, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip


def github() -> tuple[str, ...]:
    """The `run` lines that are ours."""
    jobs = yaml.safe_load((CI / "github/contracts.yml").read_text())["jobs"].values()
    lines = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    return tuple(line for line in lines if line.startswith("sluicegate "))


def gitlab() -> tuple[str, ...]:
    """The `script` lines of all jobs."""
    jobs = yaml.safe_load((CI / "gitlab/contracts.gitlab-ci.yml").read_text()).values()
    return tuple(line for job in jobs for line in job.get("script", ()))


def pre_commit() -> tuple[str, ...]:
    """Entry and arguments, as pre-commit joins them when it passes no file names."""
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (repository,) = yaml.safe_load((CI / "pre-commit-config.yaml").read_text())["repos"]
    assert {hook["language"] for hook in hooks.values()} == {"python"}
    assert {hook["pass_filenames"] for hook in hooks.values()} == {False}
    used = repository["hooks"]
    return tuple(f"{hooks[hook['id']]['entry']} {shlex.join(hook['args'])}" for hook in used)


SERVERS: dict[str, Callable[[], tuple[str, ...]]] = {
    "github": github,
    "gitlab": gitlab,
    "pre-commit": pre_commit,
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scripts.install(tmp_path_factory.mktemp("programs") / "bin")


@pytest.fixture
def checkout(tmp_path: Path, programs: Path) -> Checkout:
    who = {
        f"GIT_{role}_{what}": "a@example.com"
        for role in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GITHUB_", "CI_", "SLUICEGATE_"))
    }
    environ |= who | {"GIT_CONFIG_GLOBAL": "/dev/null", "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def git(*words: str, at: Path) -> str:
        done = subprocess.run(
            ["git", *words], cwd=at, env=environ, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    origin, folder = tmp_path / "origin", tmp_path / "checkout"
    (origin / "workflows").mkdir(parents=True)
    (origin / "workflows/my-agent.yaml").write_text(CLEAN)
    git("init", "-q", "-b", "main", at=origin)
    git("add", "-A", at=origin)
    git("commit", "-qm", "base", at=origin)
    git("clone", "-q", str(origin), str(folder), at=tmp_path)
    git("checkout", "-qb", "change", at=folder)
    base = git("rev-parse", "HEAD", at=folder)
    told = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_BASE_REF": "main",
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_PROJECT_DIR": str(folder),
    }
    return Checkout(folder, base, environ | told)


def change(checkout: Checkout, before: str, after: str) -> None:
    file = checkout.folder / "workflows/my-agent.yaml"
    head, tail = file.read_text().rsplit(before, 1)
    file.write_text((head + after + tail).replace("  version: 1.0.0", "  version: 1.1.0"))


@pytest.fixture
def here(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """The checkout, as the folder and the environment of this process."""
    for name in set(os.environ) - set(checkout.environ):
        monkeypatch.delenv(name)
    for name, value in checkout.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(checkout.folder)
    return checkout


def build(checkout: Checkout, server: str) -> list[int]:
    """The exit codes of the steps, each of which runs whatever the others found."""
    codes = [main.run(checkout.words(command)) for command in SERVERS[server]()]
    assert exits.ERROR not in codes
    return codes


def test_as_installed_a_breaking_change_fails_the_second_step(checkout: Checkout) -> None:
    change(checkout, *BREAKING["a required field of the answer is gone"])
    assert [checkout.run(command) for command in github()] == [0, exits.FINDINGS]


@pytest.mark.parametrize("server", SERVERS)
def test_a_compatible_change_passes(here: Checkout, server: str) -> None:
    for before, after in COMPATIBLE.values():
        change(here, before, after)
    assert build(here, server) == [0, 0]


@pytest.mark.parametrize(
    ("server", "sentence"),
    [(server, sentence) for server in SERVERS for sentence in BREAKING],
)
def test_a_breaking_change_fails(here: Checkout, server: str, sentence: str) -> None:
    change(here, *BREAKING[sentence])
    assert build(here, server) == [0, exits.FINDINGS]


def test_a_file_that_cannot_be_read_fails_both(here: Checkout) -> None:
    change(here, *UNREADABLE["a file that is no YAML"])
    assert build(here, "github") == [exits.REFUSED, exits.REFUSED]


def test_every_option_of_the_examples_leaves_its_file(here: Checkout) -> None:
    change(here, *BREAKING["callers must send one more"])
    build(here, "github")
    build(here, "gitlab")
    written = {path.relative_to(here.folder).as_posix() for path in here.folder.rglob("*") if path.is_file()}
    used = uploaded()
    assert used <= written | {"reports"}
    assert "failed" in Path(here.environ["GITHUB_STEP_SUMMARY"]).read_text()


def uploaded() -> set[str]:
    """What the other steps of the examples take."""
    steps = yaml.safe_load((CI / "github/contracts.yml").read_text())["jobs"]["contracts"]["steps"]
    taken: list[Any] = [step.get("with", {}).get(name) for step in steps for name in ("sarif_file", "path")]
    jobs = yaml.safe_load((CI / "gitlab/contracts.gitlab-ci.yml").read_text()).values()
    for job in jobs:
        taken += job.get("artifacts", {}).get("reports", {}).values()
    return {one for one in taken if one}
