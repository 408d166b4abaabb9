"""Recorded runs as evidence: what a stage would have observed had it seen them. No servers, no times.

Recordings carry no times, so there are no latencies, and a latency gate on them stays without data: leave it out.
"""

from collections.abc import Iterator
from functools import cache

from sluicegate.console.recordings.model import RecordedRun, Recording
from sluicegate.console.replay.selections import Selection, parse_selection
from sluicegate.console.replay.server import answer
from sluicegate.console.replay.tasks import resampled
from sluicegate.contracts.evidence import ArmFacts
from sluicegate.contracts.observed import NOTHING, TOOLS
from sluicegate.gateway.compare import compare
from sluicegate.gateway.facts import Disagreement, judged
from sluicegate.gateway.outputs import shares_of
from sluicegate.rollout.backtest import RecordedPair

COMPONENTS = ("agent", "evaluator")
"""Components of replay.workflows; in a recording none of them ever fell back."""


def pairs(
    recording: Recording, stable: str, candidate: str, floor: str, *, runs: int, seed: int
) -> Iterator[RecordedPair]:
    """`runs` units as input of `rollout.backtest`: tasks drawn with replacement, each answered by the three selections.

    The tasks stand in place of run ids. Raises Refused for a selection that the recording cannot answer.
    """
    selections = tuple(parse_selection(text) for text in (stable, candidate, floor))
    for selection in selections:
        selection.check(recording)
    arms = cache(lambda task: _arms(recording, task, *selections))
    return (
        RecordedPair(unit=f"{seed}/{number}", runs=(f"task-{task}",), **arms(task))
        for number, task in enumerate(resampled(recording, runs, seed))
    )


def _arms(
    recording: Recording, task: str, stable: Selection, candidate: Selection, floor: Selection
) -> dict[str, ArmFacts]:
    served = stable.of(recording, task)
    return {
        "stable": _arm(served),
        "candidate": _arm(candidate.of(recording, task), served),
        "control": _arm(floor.of(recording, task), served),
    }


def _arm(run: RecordedRun, served: RecordedRun | None = None) -> ArmFacts:
    answered = Disagreement() if served is None else _judged(served, run)
    return ArmFacts(
        success=float(bool(run.answer)),
        latencies_ms=(),
        fallbacks=dict.fromkeys(COMPONENTS, 0.0),
        reward=run.reward,
        disagrees=answered.disagrees,
        similarity=answered.similarity,
        texts=answered.texts,
        choices={f"agent.{TOOLS}": shares_of([call.name for call in run.tool_calls] or [NOTHING])},
        numbers={"evaluator.reward": (run.reward,)},
    )


def _judged(served: RecordedRun, other: RecordedRun) -> Disagreement:
    """As the gateway judges mirrored answers."""
    return judged(compare(_output(served), _output(other)), is_better=other.reward > served.reward)


def _output(run: RecordedRun) -> dict[str, object]:
    return {name: value for name, value in answer(run).items() if name in {"answer", "actions"}}
