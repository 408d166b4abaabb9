"""Where local mode keeps its things, and how others find a running one. Light: the CLI imports it."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from sluicegate.contracts.errors import Conflict


def default_state_dir() -> Path:
    """$SLUICEGATE_STATE_DIR, else ``~/.local/state/sluicegate``."""
    chosen = os.environ.get("SLUICEGATE_STATE_DIR")
    return Path(chosen) if chosen else Path.home() / ".local" / "state" / "sluicegate"


@dataclass(frozen=True, slots=True)
class StateDir:
    """The layout below one folder."""

    root: Path

    @property
    def socket(self) -> Path:
        """Unix socket of the resource API."""
        return self.root / "api.sock"

    @property
    def resources(self) -> Path:
        """SQLite: objects and changes."""
        return self.root / "resources.db"

    @property
    def events(self) -> Path:
        """SQLite: what is told to people."""
        return self.root / "events.db"

    @property
    def plans(self) -> Path:
        """SQLite: routing plans and what gateways acknowledged."""
        return self.root / "plans.db"

    @property
    def lineage(self) -> Path:
        """SQLite: runs, observations, folded evidence."""
        return self.root / "lineage.db"

    @property
    def spool(self) -> Path:
        """Segments that gateway workers append to."""
        return self.root / "spool"

    @property
    def lock(self) -> Path:
        """Held (flock) by the one running `up`; holds its pid."""
        return self.root / "lock"

    @property
    def logs(self) -> Path:
        """One file per process."""
        return self.root / "logs"

    @property
    def up(self) -> Path:
        """JSON of the running `up`: UpFile."""
        return self.root / "up.json"

    def make(self) -> None:
        """Create what is missing; the root is for its owner only, since runs hold what users wrote."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.spool, self.logs, self.root / "workers"):
            folder.mkdir(exist_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder; Conflict when another process does. The kernel lets go when the holder dies."""
        with self.lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                file.seek(0)
                pid = file.read().strip() or "unknown"
                raise Conflict(
                    f"another sluicegate up (pid {pid}) uses {self.root}; stop it, or choose another --state-dir"
                ) from error
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield


@dataclass(frozen=True, slots=True, kw_only=True)
class UpFile:
    """Facts of a running `up`, written when it is ready and removed when it stops."""

    pid: int
    gateway_host: str
    gateway_port: int
    metrics_port: int
    workers: int
    version: str
    started_at: str

    def write(self, path: Path) -> None:
        """Replace the file in one step."""
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(asdict(self), indent=2) + "\n")
        draft.replace(path)


def read_up(state: StateDir) -> UpFile | None:
    """What the running `up` says of itself; None when there is none (the pid must be alive)."""
    try:
        found = UpFile(**json.loads(state.up.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return found if _is_alive(found.pid) else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True
