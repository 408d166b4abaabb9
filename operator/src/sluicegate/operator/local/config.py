"""Settings of local mode. Light: the CLI imports it."""

from dataclasses import dataclass, field
from pathlib import Path

from sluicegate.operator.local.state_dir import default_state_dir


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalConfig:
    """Settings of ``sluicegate up``. Port 0: any free one, written to ``DIR/up.json``."""

    state_dir: Path = field(default_factory=default_state_dir)
    host: str = "127.0.0.1"
    gateway_port: int = 8080
    metrics_port: int = 9464
    workers: int = 1
    allow_jobs: bool = False  # gates with `source.job` start processes of this machine
    quiet: bool = False  # no progress lines on a terminal
    stop_with_stdin: bool = False  # standard input is a pipe of whoever started us: its end asks us to stop
    stop_seconds: float = 15.0  # runs in flight get this long after SIGTERM
    start_seconds: float = 60.0  # the gateway must listen by then
