"""What the tests of the command line share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sluicegate.console import main
from sluicegate.contracts.adapters import system
from tests.console.apiserver import NOW, ApiServer
from tests.console.kube import Room, govern, ungovern
from tests.console.said import Said
from tests.controlplane.plane import ControlPlane
from tests.support.golden import check

GOLDEN = Path(__file__).parent / "golden"


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


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare with golden/<name>.txt."""
    return lambda name, found: check(GOLDEN / f"{name}.txt", found)


@pytest.fixture(scope="module")
def governed(installed: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane with the chart's roles and policies; the board and the team hold their roles."""
    govern(installed)
    yield installed
    ungovern(installed)


@pytest.fixture
def room(governed: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A fresh namespace of a real API server."""
    monkeypatch.setenv("COLUMNS", "140")
    for name in ("NAMESPACE", "CLUSTER", "STATE_DIR", "LINEAGE_URL", "LINEAGE_TOKEN", "DEBUG"):
        monkeypatch.delenv(f"SLUICEGATE_{name}", raising=False)
    return Room.fresh(governed)
