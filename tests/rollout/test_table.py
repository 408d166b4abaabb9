"""The table: closed, every state ends, abort first."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sluicegate.rollout
from sluicegate.contracts.stages import Outcome, Stage, State
from sluicegate.rollout import table, transitions
from sluicegate.rollout.table import MOVES, STAGES, Input
from tests.rollout.samples import T0, later

README = Path(sluicegate.rollout.__file__).parents[3] / "README.md"


def test_every_move_leads_to_a_known_state_and_draining_has_an_outcome() -> None:
    for (state, cause), move in MOVES.items():
        assert state in State
        assert cause in Input
        assert move.to in State
        assert (move.outcome is not None) == (move.to is State.DRAINING), (state, cause)


def test_every_state_is_reached_from_pending() -> None:
    reached, todo = set(), {State.PENDING}
    while todo:
        state = todo.pop()
        reached.add(state)
        todo |= {move.to for (source, _), move in MOVES.items() if source is state} - reached
    assert reached == set(State)


@pytest.mark.parametrize("state", [state for state in State if state is not State.DONE])
def test_every_state_reaches_done(state: State) -> None:
    reached, todo = set(), {state}
    while todo:
        here = todo.pop()
        reached.add(here)
        todo |= {move.to for (source, _), move in MOVES.items() if source is here} - reached
    assert State.DONE in reached


@pytest.mark.parametrize("state", [State.PENDING, *STAGES])
def test_every_state_before_the_end_has_an_abort_and_a_manual_exit(state: State) -> None:
    assert MOVES[state, Input.ABORT].outcome is Outcome.ABORTED
    assert MOVES[state, Input.REJECT].outcome is Outcome.REJECTED


@given(st.sets(st.sampled_from(list(Input))))
def test_abort_dominates_whatever_arose_with_it(arisen: set[Input]) -> None:
    assert table.first({*arisen, Input.ABORT}) is Input.ABORT


@given(st.sets(st.sampled_from(list(Input))))
def test_a_failure_dominates_everything_that_goes_forward(arisen: set[Input]) -> None:
    forward = {Input.PASS, Input.PROMOTE, Input.PROMOTE_FULL, Input.OVERRIDE}
    assert table.first({*(arisen & forward), Input.FAIL}) is Input.FAIL


def test_no_input_but_a_pass_or_a_person_goes_forward() -> None:
    persons = {Input.PROMOTE, Input.OVERRIDE, Input.PROMOTE_FULL}
    order = [State.PENDING, *STAGES]
    for (state, cause), move in MOVES.items():
        forward = move.to in STAGES and state in STAGES and order.index(move.to) > order.index(state)
        if forward or move.outcome in {Outcome.PROMOTED, Outcome.FAST_PROMOTED}:
            assert cause in persons | {Input.PASS}, (state, cause)


@given(st.sets(st.sampled_from([Stage.CANARY, Stage.SHADOW, Stage.CONTROLLED])))
def test_skipped_stages_are_passed_over_in_order(skipped: set[Stage]) -> None:
    planned = [stage for stage in Stage if stage not in skipped]
    seen, state, cause = [], State.PENDING, Input.START
    while state is not State.DRAINING:
        move = table.move(state, cause, planned)
        assert move is not None
        state, cause = move.to, Input.PASS
        if state in STAGES:
            seen.append(Stage(state.value))
    assert seen == planned


@pytest.mark.parametrize("cause", [item for item in Input if item not in {Input.ABORT, Input.DRAINED}])
def test_draining_listens_to_nothing_but_abort_and_its_end(cause: Input) -> None:
    assert table.move(State.DRAINING, cause, tuple(Stage)) is None


def test_the_readme_shows_the_table() -> None:
    assert table.diagram() in README.read_text(), "paste rollout.table.diagram() into rollout/README.md"


def test_a_moment_of_a_clock_that_was_ahead_is_not_waited_for() -> None:
    every = timedelta(seconds=10)
    due = [
        transitions.is_due(at, T0, every)
        for at in (None, T0, later(5), later(10), later(11), later(600), later(-5))
    ]
    assert due == [True, True, False, False, True, True, True]
