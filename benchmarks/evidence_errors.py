"""Error rates of every gate, looked at every minute for 48 hours: false aborts and false promotions."""

from typing import Any

import numpy as np

from sluicegate.contracts.stages import Signal
from tests.observability import designs
from tests.observability.contributions import designs as contributions
from tests.observability.drift import designs as drifts

CHUNK = 50


def measure(seed: int, rows: int) -> list[dict[str, Any]]:
    """A row for each gate and design."""
    found = []
    for number, signal in enumerate(designs.GATES):
        for design in designs.designs_of(signal):
            generator = np.random.default_rng([seed, number, list(designs.DESIGNS).index(design)])
            counts = [designs.wrong(generator, signal, design, CHUNK) for _ in range(rows // CHUNK)]
            found.append(_row(signal, design, counts, rows))
    for number, design in enumerate(drifts.DESIGNS):
        generator = np.random.default_rng([seed, len(designs.GATES), number])
        counts = [drifts.wrong(generator, design, CHUNK, designs.ALPHA) for _ in range(rows // CHUNK)]
        found.append(_row(Signal.DRIFT, design, counts, rows))
    for number, design in enumerate(contributions.DESIGNS):
        generator = np.random.default_rng([seed, len(designs.GATES) + 1, number])
        counts = [contributions.wrong(generator, design, CHUNK, designs.ALPHA) for _ in range(rows // CHUNK)]
        found.append(_row(Signal.SHAPLEY_VARIANCE, design, counts, rows))
    return found


def _row(signal: Signal, design: str, counts: list[tuple[int, int]], rows: int) -> dict[str, Any]:
    aborted, promoted = (sum(count[side] for count in counts) / rows for side in (0, 1))
    return {
        "gate": signal.value,
        "design": design,
        "false_aborts": round(aborted, 4),
        "false_promotions": round(promoted, 4),
    }
