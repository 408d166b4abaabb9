"""`sluicegate demo`: a good candidate is promoted, a bad one is aborted, live in the terminal."""

from dataclasses import dataclass
from pathlib import Path

BAD = ("contract-break", "slow-p95", "more-fallbacks", "lower-reward", "crash")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What `sluicegate demo` can be told.

    bad: which of BAD is tried after the good candidate. rate: sessions per second of the simulated users.
    keep: leave everything running at the end until Ctrl-C. state_dir: None makes a temporary one.
    """

    bad: str = "more-fallbacks"
    rate: float = 30.0
    seed: int = 1
    keep: bool = False
    state_dir: Path | None = None


def run(options: DemoOptions) -> int:
    """Run the demo; 0 only if the good candidate was promoted, the bad one aborted, and users were safe."""
    raise NotImplementedError(options)
