"""What `sluicegate replay` can be told."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """Serve `file` on `port` (0: any free one).

    stable, candidate, floor: selections (trial-N, best, worst); floor is what the second copy of stable
    answers with. write_workflow: a folder for workflow.yaml and candidate.yaml. latency_ms: median of the
    simulated answer time (recordings carry no times).
    """

    file: Path
    format: str = "tau-bench"
    host: str = "127.0.0.1"
    port: int = 9201
    stable: str = "trial-0"
    candidate: str = "trial-1"
    floor: str = "trial-1"
    write_workflow: Path | None = None
    latency_ms: float = 0.0
