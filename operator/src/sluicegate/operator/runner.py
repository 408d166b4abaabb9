"""Local mode in one process tree: what ``sluicegate up`` calls."""

from dataclasses import dataclass, field
from pathlib import Path

from sluicegate.operator.state_dir import default_state_dir


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalConfig:
    """Settings of ``sluicegate up``. Port 0: any free one, written to ``DIR/up.json``."""

    state_dir: Path = field(default_factory=default_state_dir)
    host: str = "127.0.0.1"
    gateway_port: int = 8080
    metrics_port: int = 9464
    workers: int = 1
    status_interval: float = 1.0  # seconds between two writes of a status in which only numbers moved
    quiet: bool = False  # no progress lines on a terminal
    stop_seconds: float = 15.0  # runs in flight get this long after SIGTERM


def run_local(config: LocalConfig) -> int:
    """Serve until SIGTERM or SIGINT. Exit code: 0 stopped on request, 5 another `up` holds the state folder."""
    raise NotImplementedError(config)
