"""Which components of a candidate can be replaced in its mirrors, and the coalition that a unit gets."""

from collections.abc import Iterator

from sluicegate.contracts.resources.workflow import FailureStrategy
from sluicegate.contracts.runs import Coalition, Game
from sluicegate.gateway.engine.program import Program, ProgramComponent
from sluicegate.gateway.engine.steps import is_same, stand_in
from sluicegate.observability.contributions.coalitions import draw


def players_of(candidate: Program, stable: Program, *, both: bool = False) -> tuple[str, ...]:
    """Components that a mirror can do without, in the workflow's order; every other one always runs.

    They take part in the answer, call no Live component, and declare a fallback that is not themselves. Components
    that run after the answer measure the reward. None without a reward to share out. both: stable must be able to do
    without them as well, or not have them: there they add nothing.
    """
    return tuple(
        name
        for name, component in _answering(candidate)
        if _has_fallback(component, candidate, stable) and not (both and _is_needed(name, stable))
    )


def version_players_of(candidate: Program, stable: Program) -> tuple[str, ...]:
    """Components of which a mirror can take stable's version, in the workflow's order.

    They take part in the answer, call nothing Live in either version, and differ. None without a reward to share out.
    """
    found = []
    for name, component in _answering(candidate):
        other = stable.components.get(name)
        if other is not None and not other.live and not is_same(component, other):
            found.append(name)
    return tuple(found)


def coalition_of(players: tuple[str, ...], seed: bytes, game: Game = Game.FALLBACK) -> Coalition | None:
    """The coalition of a unit, the same for all of its runs; None: nothing can be replaced."""
    if not players:
        return None
    drawn = draw(len(players), seed)
    return Coalition(players=players, mask=drawn.mask, probability=drawn.probability, game=game)


def _answering(program: Program) -> Iterator[tuple[str, ProgramComponent]]:
    """Components that take part in the answer and call nothing Live."""
    if not program.has_reward:
        return
    after = {step.component.name for step in program.after_steps}
    answering = {step.component.name for step in program.request_steps} - after
    for name, component in program.components.items():
        if name in answering and not component.live:
            yield name, component


def _has_fallback(component: ProgramComponent, candidate: Program, stable: Program | None) -> bool:
    if component.on_failure.type in (FailureStrategy.SKIP, FailureStrategy.VALUE):
        return True
    other = stand_in(component, candidate, stable)
    return other is not None and not other.live and not is_same(other, component)


def _is_needed(name: str, stable: Program) -> bool:
    """Whether stable has the component and cannot do without it."""
    component = stable.components.get(name)
    return component is not None and (component.live or not _has_fallback(component, stable, None))
