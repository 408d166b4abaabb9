"""Error rates of every gate, looked at every minute for 48 hours: false aborts and false promotions."""

from typing import Any

import numpy as np

from tests.observability import designs

CHUNK = 50


def measure(seed: int, rows: int) -> list[dict[str, Any]]:
    """A row for each gate and design."""
    found = []
    for number, signal in enumerate(designs.GATES):
        for design in designs.designs_of(signal):
            generator = np.random.default_rng([seed, number, list(designs.DESIGNS).index(design)])
            counts = [designs.wrong(generator, signal, design, CHUNK) for _ in range(rows // CHUNK)]
            aborted, promoted = (sum(count[side] for count in counts) / rows for side in (0, 1))
            found.append(
                {
                    "gate": signal.value,
                    "design": design,
                    "false_aborts": round(aborted, 4),
                    "false_promotions": round(promoted, 4),
                }
            )
    return found
