"""How many units a gate needs: the table of observability/README.md (`python -m tests.observability.power`).

Checked after every unit. The last column is what research into other anytime-valid tests measured for the
same question: two-sample Bernoulli e-process (harm), asymptotic confidence sequence (safe), one-sided
beta-binomial mixture (one arm).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.observability import simulation as sim

RUNS, SEED = 500, 2024
Draw = Callable[[np.random.Generator], sim.Array]


@dataclass(frozen=True, slots=True)
class Case:
    """x: what the test sees. low, null: its bounds. longest: units simulated at the most."""

    sentence: str
    alpha: float
    draw: Draw
    low: float
    null: float
    reference: str = "–"


def split(success: tuple[float, float], share: float, longest: int, sign: float = 1.0) -> Draw:
    sizes = sim.stable_per_pair(share, longest, seed=5)
    rates = (1 - success[0], 1 - success[1])
    return lambda generator: sign * sim.split_differences(generator, (RUNS, longest), rates, sizes)


def paired(success: tuple[float, float], shared: float, longest: int, sign: float = 1.0) -> Draw:
    rates = (1 - success[0], 1 - success[1])
    return lambda generator: sign * sim.paired_differences(generator, (RUNS, longest), rates, shared)


def bernoulli(rate: float, longest: int, sign: float = 1.0) -> Draw:
    return lambda generator: sign * (generator.random((RUNS, longest)) < rate).astype(np.float64)


def harm(sentence: str, draw: Draw, reference: str = "–", alpha: float = 0.05) -> Case:
    return Case(f"harm, {sentence}", alpha, draw, -1.0, 0.0, reference)


def safe(sentence: str, margin: float, draw: Draw, reference: str = "–") -> Case:
    return Case(f"safe, {sentence}", 0.05, draw, -1.0, -margin, reference)


CASES = (
    harm("split 5 %: success .95 → .90", split((0.90, 0.95), 0.05, 3000), "269 (480)"),
    harm("split 5 %: .95 → .85", split((0.85, 0.95), 0.05, 1000), "81 (136)"),
    harm("split 5 %: .95 → .93", split((0.93, 0.95), 0.05, 8000), "1,596 (2,905)"),
    harm("split 20 %: .95 → .90", split((0.90, 0.95), 0.2, 3000)),
    harm("split 50 %: .95 → .90", split((0.90, 0.95), 0.5, 4000)),
    harm("paired, half decided by the request: .95 → .90", paired((0.90, 0.95), 0.5, 3000)),
    harm("paired, half decided by the request: .42 → .32", paired((0.32, 0.42), 0.5, 3000)),
    safe("split 5 %: equal .95, margin 2 points", 0.02, split((0.95, 0.95), 0.05, 8000, -1), "850 (1,650)"),
    safe("split 20 %: equal .95, margin 2 points", 0.02, split((0.95, 0.95), 0.2, 8000, -1)),
    safe("split 50 %: equal .95, margin 2 points", 0.02, split((0.95, 0.95), 0.5, 8000, -1), "1,500 (2,600)"),
    safe("split 5 %: equal .95, margin 1 point", 0.01, split((0.95, 0.95), 0.05, 20000, -1), "2,575 (5,900)"),
    safe("split 5 %: equal .95, margin 5 points", 0.05, split((0.95, 0.95), 0.05, 2000, -1), "250 (400)"),
    safe(
        "paired, half decided by the request: equal .95, margin 2",
        0.02,
        paired((0.95, 0.95), 0.5, 6000, -1),
    ),
    safe(
        "paired, half decided by the request: equal .95, margin 5",
        0.05,
        paired((0.95, 0.95), 0.5, 2000, -1),
    ),
    safe(
        "paired, half decided by the request: equal .42, margin 5",
        0.05,
        paired((0.42, 0.42), 0.5, 6000, -1),
    ),
    safe("paired, the arms never differ, margin 2", 0.02, paired((0.95, 0.95), 1.0, 1000, -1)),
    Case("one arm: success .97, limit .95", 0.05, bernoulli(0.03, 5000, -1), -1.0, -0.05, "630 (1,080)"),
    Case("one arm: success .95, limit .90", 0.05, bernoulli(0.05, 2000, -1), -1.0, -0.10, "170 (300)"),
    Case("one arm: fallback 2 % → 4 %", 0.01, bernoulli(0.04, 5000), 0.0, 0.02, "923"),
    Case("one arm: fallback 2 % → 3 %", 0.01, bernoulli(0.03, 12000), 0.0, 0.02, "3,623"),
    Case("one arm: fallback 5 % → 10 %", 0.01, bernoulli(0.10, 2000), 0.0, 0.05, "300"),
    Case("one arm: fallback 1 % → 5 %", 0.01, bernoulli(0.05, 1000), 0.0, 0.01, "170"),
    Case("one arm: fallback 5 % → 20 %", 0.01, bernoulli(0.20, 500), 0.0, 0.05, "43"),
)


def crossings(case: Case) -> sim.Array:
    """Units until shown, per run."""
    generator = np.random.default_rng([SEED, CASES.index(case)])
    return sim.first_crossing(sim.log_e(case.draw(generator), case.low, case.null), case.alpha)


def row(case: Case) -> str:
    """A line of the table."""
    units = crossings(case)
    median, most = np.quantile(units, [0.5, 0.8], method="inverted_cdf")
    return f"| {case.sentence} | {case.alpha:g} | {median:,.0f} ({most:,.0f}) | {case.reference} |"


def main() -> None:
    print("| question | α | units: median (80 %) | other tests |\n|---|---|---|---|")
    for case in CASES:
        print(row(case), flush=True)


if __name__ == "__main__":
    main()
