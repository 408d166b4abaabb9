"""Which copies of a mirrored run there are, in which order, and the coalition of each."""

from typing import Final

from sluicegate.contracts.runs import Arm, Coalition, Game
from sluicegate.gateway.ablation import coalition_of
from sluicegate.gateway.arms import Assignment
from sluicegate.gateway.plans import LivePlan

COALITIONS: Final = frozenset({Arm.ABLATED, Arm.ABLATED_STABLE, Arm.MIXED})
"""Arms that run with a coalition: what they earn says something of components and nothing of a version as it is."""


def copies(assignment: Assignment, live: LivePlan) -> tuple[Arm, ...]:
    """The mirrored arms in the order in which they run; those with a coalition come last and disturb none before them."""
    compared = (Arm.CANDIDATE, Arm.CONTROL) if assignment.control else (Arm.CANDIDATE,)
    return (
        *(reversed(compared) if assignment.control_first else compared),
        *_ablated(assignment, live),
        *((Arm.MIXED,) if assignment.versions and live.changed else ()),
    )


def _ablated(assignment: Assignment, live: LivePlan) -> tuple[Arm, ...]:
    if not (assignment.ablation and live.players):
        return ()
    if not live.plan.ablates_stable:
        return (Arm.ABLATED,)
    # By a coin of its own, as with the compared copies: neither always meets what the other left warm.
    both = (Arm.ABLATED, Arm.ABLATED_STABLE)
    return both if assignment.ablation[-1] % 2 else both[::-1]


def coalition(arm: Arm, assignment: Assignment, live: LivePlan) -> Coalition | None:
    """Of an arm; stable is ablated as the candidate is."""
    if arm is Arm.MIXED:
        return coalition_of(live.changed, assignment.versions, Game.VERSION)
    return coalition_of(live.players, assignment.ablation) if arm in COALITIONS else None
