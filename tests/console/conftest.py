"""What the tests of the command line share."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluicegate.console import main
from sluicegate.contracts.adapters import system
from tests.console.apiserver import NOW, ApiServer

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parents[2]
UPDATE = "SLUICEGATE_UPDATE_GOLDEN"


@dataclass(frozen=True)
class Said:
    """What one command line did."""

    code: int
    out: str
    err: str


Cli = Callable[..., Said]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty state folder that every command of the test uses."""
    folder = tmp_path / "state"
    monkeypatch.setenv("SLUICEGATE_STATE_DIR", str(folder))
    monkeypatch.setenv("COLUMNS", "140")
    for name in ("SLUICEGATE_NAMESPACE", "SLUICEGATE_DEBUG", "FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def server(state: Path) -> Iterator[ApiServer]:
    """The API on that state folder."""
    with ApiServer(state) as running:
        yield running


@pytest.fixture
def cli(state: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command line in this process."""

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        code = main.run(arguments)
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return run


@pytest.fixture
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands at 2026-03-01 12:00 UTC."""
    monkeypatch.setattr(system, "now", lambda: NOW)


def check(path: Path, found: str) -> None:
    """Compare with a golden file; with SLUICEGATE_UPDATE_GOLDEN=1 write it."""
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
    assert path.exists(), f"{path} is missing: run the tests with {UPDATE}=1 and read what it wrote"
    assert found == path.read_text(), f"{path.name} is stale: run the tests with {UPDATE}=1 and read the diff"


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare with golden/<name>.txt."""
    return lambda name, found: check(GOLDEN / f"{name}.txt", found)
