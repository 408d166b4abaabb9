"""Which recorded runs are rolled out against which, and what a backtest says of them."""

from dataclasses import dataclass

from sluicegate.console.recordings import Recording
from sluicegate.console.replay.evidence import pairs
from sluicegate.console.replay.workflows import ReplayWorkflow
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.rollout import backtest as backtests

SEEDS = range(20)


@dataclass(frozen=True, slots=True)
class Pairing:
    """Selections of the two versions."""

    stable: str
    candidate: str


PAIRINGS = {"same": Pairing("trial-0", "trial-3"), "worse": Pairing("best", "worst")}
FLOOR = "trial-1"


def backtest(recording: Recording, pairing: str, seed: int, *, runs: int) -> backtests.BacktestReport:
    """Of the strategy that `replay` writes: abort alpha 0.01, no latency gate."""
    chosen = PAIRINGS[pairing]
    workflow = parse_data(ReplayWorkflow(base="http://127.0.0.1:1", selection=chosen.candidate).document())
    assert isinstance(workflow, AgentWorkflow)
    drawn = pairs(recording, chosen.stable, chosen.candidate, FLOOR, runs=runs, seed=seed)
    return backtests.backtest(workflow.spec, drawn)
