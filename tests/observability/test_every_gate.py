"""Every gate keeps both error rates over 48 hours of looks, also with clustered sessions and a share of 1 %.

The small version of `python -m benchmarks.evidence`: 200 seeded rollouts each. Tolerance: the 99.9 % quantile of
Binomial(200, alpha), as a test exactly at its level passes 999 of 1,000 times.
"""

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from sluicegate.contracts.stages import Signal
from tests.observability import designs
from tests.observability import simulation as sim

ROWS = 200
MOST = stats.binom.ppf(0.999, ROWS, designs.ALPHA)
CASES = [
    (Signal.SUCCESS_RATE, "sessions under a drifting load, 20 %"),
    (Signal.SUCCESS_RATE, "split, 1 %"),
    (Signal.P95_LATENCY, "split, 20 %"),
    (Signal.FALLBACK_RATE_MAX, "split, 1 %"),
    (Signal.CONTRACT_VIOLATIONS, "paired"),
    (Signal.DISAGREEMENT, "paired"),
    (Signal.REWARD, "sessions under a drifting load, 20 %"),
]


@pytest.mark.parametrize(("signal", "design"), CASES, ids=str)
def test_a_gate_errs_no_more_often_than_promised(signal: Signal, design: str) -> None:
    generator = np.random.default_rng([288, list(designs.GATES).index(signal)])
    aborted, promoted = designs.wrong(generator, signal, design, ROWS)
    assert aborted <= MOST, f"{aborted} of {ROWS} equal candidates were aborted"
    assert promoted <= MOST, f"{promoted} of {ROWS} candidates worse by the margin were promoted"


def test_runs_of_a_session_taken_for_units_would_break_the_promise() -> None:
    # Oracle: with intra-class correlation 1/2 a session of ten runs has a design effect of 1 + 9/2 (Kish).
    generator = np.random.default_rng(55)
    path = sim.log_e(designs.runs_as_units(generator, ROWS, 10), -1.0, 0.0)
    assert (path.max(axis=1) >= -np.log(designs.ALPHA)).sum() > MOST
