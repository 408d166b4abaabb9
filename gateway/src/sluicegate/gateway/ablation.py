"""Which components of a candidate can be ablated in its mirrors, and the coalition that a unit gets."""

from sluicegate.contracts.resources.workflow import FailureStrategy
from sluicegate.contracts.runs import Coalition
from sluicegate.gateway.engine.program import Program, ProgramComponent
from sluicegate.gateway.engine.steps import is_same, stand_in
from sluicegate.observability.contributions.coalitions import MOST_PLAYERS, draw


def players_of(candidate: Program, stable: Program) -> tuple[str, ...]:
    """Components that a mirror can do without, in the workflow's order; every other one always runs.

    They take part in the answer, call no Live component, and declare a fallback that is not themselves. Components
    that run after the answer measure the reward. At most MOST_PLAYERS; none without a reward to share out.
    """
    if not candidate.has_reward:
        return ()
    after = {step.component.name for step in candidate.after_steps}
    answering = {step.component.name for step in candidate.request_steps} - after
    found = [
        name
        for name, component in candidate.components.items()
        if name in answering and not component.live and _has_fallback(component, candidate, stable)
    ]
    return tuple(found[:MOST_PLAYERS])


def coalition_of(players: tuple[str, ...], seed: bytes) -> Coalition | None:
    """The coalition of a unit, the same for all of its runs; None: nothing can be ablated."""
    if not players:
        return None
    drawn = draw(len(players), seed)
    return Coalition(players=players, mask=drawn.mask, probability=drawn.probability)


def _has_fallback(component: ProgramComponent, candidate: Program, stable: Program) -> bool:
    if component.on_failure.type in (FailureStrategy.SKIP, FailureStrategy.VALUE):
        return True
    other = stand_in(component, candidate, stable)
    return other is not None and not other.live and not is_same(other, component)
