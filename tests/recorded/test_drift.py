"""Drift of the tools that recorded agents call (tau-bench airline, gpt-4o), in pairs of runs of the same task.

Trials 0 and 3 are the same agent; a coin says which of the two is stable in a pair, since 50 tasks drawn again and again
would make whatever differs between these two trials a fact. 1/α = 340, the default of a gate.
"""

import math
from collections.abc import Callable

import pytest

from sluicegate.console.recordings import Recording
from sluicegate.console.recordings.model import RecordedRun
from sluicegate.console.replay.evidence import pairs
from sluicegate.contracts.adapters.system import seeded
from sluicegate.contracts.evidence import ArmFacts, Question, SignalEvidence
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.gateway.outputs import shares_of
from sluicegate.observability.drift.outputs import Outputs
from tests.observability.facts import good, unit

pytestmark = pytest.mark.recorded

TOOLS = Question(signal=Signal.DRIFT, margin=0.05, component="agent", output="tool_calls")
SEEDS = range(10)
UNITS, LOOK = 1500, 20
ALARM, CLEAR = math.log(340.0), math.log(20.0)
Names = Callable[[RecordedRun], list[str]]


def called(run: RecordedRun) -> list[str]:
    return [call.name for call in run.tool_calls]


def moved(seed: int) -> Names:
    """A fifth of the look-ups of a reservation become searches of a flight: always the same calls of a run."""

    def names(run: RecordedRun) -> list[str]:
        draws = seeded("moved", seed, run.task, run.trial)
        return [
            "search_direct_flight" if name == "get_reservation_details" and draws.random() < 0.2 else name
            for name in called(run)
        ]

    return names


def facts(names: list[str]) -> ArmFacts:
    return good(choices={"agent.tool_calls": shares_of(names or ["(none)"])})


def watched(arms: list[tuple[list[str], list[str]]]) -> tuple[int | None, int | None, SignalEvidence]:
    """(candidate, stable) of each unit to: units until the alarm, until all shares are shown to stay, and the end."""
    fold = Outputs(TOOLS, Stage.SHADOW)
    alarm = clear = None
    for number, (candidate, stable) in enumerate(arms, start=1):
        fold.add(unit(number, candidate=facts(candidate), stable=facts(stable)))
        if number % LOOK == 0:
            found = fold.evidence()
            alarm = number if alarm is None and found.harm_log_e >= ALARM else alarm
            clear = number if clear is None and found.safe_log_e >= CLEAR else clear
    return alarm, clear, fold.evidence()


def drawn(recording: Recording, seed: int, names: Names) -> list[tuple[list[str], list[str]]]:
    draws = seeded("drawn", seed)
    found = []
    for _ in range(UNITS):
        trials = recording.runs[draws.choice(recording.tasks)]
        mine, theirs = (0, 3) if draws.random() < 0.5 else (3, 0)
        found.append((names(trials[mine]), called(trials[theirs])))
    return found


def test_trials_0_and_3_as_recorded_do_not_alarm(tau_bench: Recording) -> None:
    arms = [(called(trials[3]), called(trials[0])) for trials in tau_bench.runs.values()]
    alarm, _, found = watched(arms)
    assert found.units == 50
    assert alarm is None


def test_the_same_agent_does_not_drift_and_is_cleared(tau_bench: Recording) -> None:
    ends = [watched(drawn(tau_bench, seed, called))[:2] for seed in SEEDS]
    assert [alarm for alarm, _ in ends] == [None] * len(SEEDS)
    assert all(clear is not None and clear <= 1400 for _, clear in ends), ends


def test_a_fifth_of_one_tools_calls_moved_to_another_alarms(tau_bench: Recording) -> None:
    ends = [watched(drawn(tau_bench, seed, moved(seed))) for seed in SEEDS]
    units = sorted(alarm for alarm, _, _ in ends if alarm is not None)
    assert len(units) >= 9, ends
    assert units[len(units) // 2] <= 700
    assert all(clear is None or alarm is not None for alarm, clear, _ in ends)
    names = {found.outputs.moved for _, _, found in ends if found.outputs is not None}
    assert names <= {"search_direct_flight", "get_reservation_details"}


def test_the_recordings_of_a_backtest_bring_their_tools(tau_bench: Recording) -> None:
    pair = next(iter(pairs(tau_bench, "0", "3", "1", runs=1, seed=1)))
    run = tau_bench.runs[pair.runs[0].removeprefix("task-")][0]
    share = called(run).count("get_user_details") / len(called(run))
    assert pair.stable.choices["agent.tool_calls"].get("get_user_details", 0.0) == pytest.approx(share)
    assert pair.stable.numbers == {"evaluator.reward": (run.reward,)}
