"""Which recorded task each simulated run is about."""

from collections.abc import Iterator

from sluicegate.console.recordings.model import Recording
from sluicegate.contracts.adapters import system


def resampled(recording: Recording, runs: int, seed: int) -> Iterator[str]:
    """`runs` task ids, drawn with replacement; the same for the same seed and recording."""
    draws = system.seeded("tasks", seed)
    for _ in range(runs):
        yield draws.choice(recording.tasks)
