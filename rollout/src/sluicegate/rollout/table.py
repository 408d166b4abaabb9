"""The states of a rollout and every move between them, as data.

Stages are passed in order; a stage that the plan skips is passed over by following the same table
(`advance`). Inputs that a state does not list change nothing. Paused and held are flags beside the state:
they decide which inputs arise (`looks.inputs`), never where an input leads.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sluicegate.contracts.stages import Outcome, Stage, State


class Input(StrEnum):
    """What can happen to a rollout. The order is the precedence: the first that arose in a look counts."""

    ABORT = "Abort"  # a person
    REJECT = "Reject"  # a person
    UNDO = "Undo"  # a person, before promotion
    FAIL = "Fail"  # a required gate with onFail Abort
    SUPERSEDE = "Supersede"  # another wish, or the workflow is going
    EXPIRE = "Expire"  # every gate passed, the people did not answer by the deadline
    RETRY = "Retry"  # a person: a new attempt
    PROMOTE_FULL = "PromoteFull"  # a person: past all stages
    OVERRIDE = "Override"  # a person: past an inconclusive or held stage
    PROMOTE = "Promote"  # a person: past the rest of the wait
    PASS = "Pass"  # noqa: S105 - every condition of the stage holds
    ROLLBACK = "Rollback"  # Pending: the earlier stable comes back without stages
    START = "Start"  # Pending: it is this rollout's turn
    DRAINED = "Drained"  # Draining: every gateway follows the last plan


PRECEDENCE: Final = tuple(Input)


@dataclass(frozen=True, slots=True)
class Move:
    """Where an input leads. outcome: fixed on the way into Draining."""

    to: State
    outcome: Outcome | None = None


STAGES: Final = (State.CANARY, State.SHADOW, State.CONTROLLED, State.FULL)

_DRAIN: Final = {
    Input.ABORT: Outcome.ABORTED,
    Input.REJECT: Outcome.REJECTED,
    Input.UNDO: Outcome.ROLLED_BACK,
    Input.FAIL: Outcome.ABORTED,
    Input.SUPERSEDE: Outcome.SUPERSEDED,
    Input.EXPIRE: Outcome.EXPIRED,
    Input.PROMOTE_FULL: Outcome.FAST_PROMOTED,
}

_FORWARD: Final = {
    State.CANARY: Move(State.SHADOW),
    State.SHADOW: Move(State.CONTROLLED),
    State.CONTROLLED: Move(State.FULL),
    State.FULL: Move(State.DRAINING, Outcome.PROMOTED),
}

MOVES: Final[dict[tuple[State, Input], Move]] = {
    (State.PENDING, Input.ABORT): Move(State.DRAINING, Outcome.ABORTED),
    (State.PENDING, Input.REJECT): Move(State.DRAINING, Outcome.REJECTED),
    (State.PENDING, Input.SUPERSEDE): Move(State.DRAINING, Outcome.SUPERSEDED),
    (State.PENDING, Input.ROLLBACK): Move(State.DRAINING, Outcome.FAST_ROLLED_BACK),
    (State.PENDING, Input.START): Move(State.CANARY),
    **{
        (stage, cause): Move(State.DRAINING, outcome) for stage in STAGES for cause, outcome in _DRAIN.items()
    },
    **{(stage, Input.RETRY): Move(State.PENDING) for stage in STAGES},
    **{
        (stage, cause): _FORWARD[stage]
        for stage in STAGES
        for cause in (Input.OVERRIDE, Input.PROMOTE, Input.PASS)
    },
    (State.DRAINING, Input.ABORT): Move(State.DRAINING, Outcome.ABORTED),  # only before the promotion is done
    (State.DRAINING, Input.DRAINED): Move(State.DONE),
    (State.DONE, Input.RETRY): Move(State.PENDING),
}

CANDIDATE_WINS: Final = frozenset({Outcome.PROMOTED, Outcome.FAST_PROMOTED, Outcome.FAST_ROLLED_BACK})
"""Outcomes after which the candidate is the stable revision."""

LATCHING: Final = frozenset({Outcome.ABORTED, Outcome.REJECTED, Outcome.EXPIRED, Outcome.ROLLED_BACK})
"""Outcomes after which the candidate is not tried again until a retry or a new digest."""


def move(state: State, cause: Input, planned: Collection[Stage]) -> Move | None:
    """The move that `cause` makes, past stages that are not planned; None when it changes nothing."""
    found = MOVES.get((state, cause))
    while found is not None and found.to in STAGES and Stage(found.to.value) not in planned:
        found = _FORWARD[found.to]
    return found


def first(inputs: Collection[Input]) -> Input | None:
    """The input that counts: the first by precedence, abort before all."""
    return next((cause for cause in PRECEDENCE if cause in inputs), None)


def diagram() -> str:
    """The table as a Mermaid state diagram, as shown in README.md."""
    labels: dict[tuple[str, str], list[str]] = {}
    for (state, cause), target in MOVES.items():
        label = f"{cause}: {target.outcome}" if target.outcome is not None else str(cause)
        labels.setdefault((state.value, target.to.value), []).append(label)
    lines = ["stateDiagram-v2", "    [*] --> Pending"]
    lines += [f"    {source} --> {to}: {', '.join(found)}" for (source, to), found in labels.items()]
    return "\n".join([*lines, "    Done --> [*]"])
