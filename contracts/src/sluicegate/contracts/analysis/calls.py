"""How often one user request may call what: the chain of factors of every step."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from sluicegate.contracts.patience import MAX_STAND_INS, attempts
from sluicegate.contracts.resources.workflow import Component, Endpoint, FailureStrategy
from sluicegate.contracts.verification.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What one step may call at one component. factors: name and number of each layer, from the caller inwards, without those of 1."""

    step: int
    component: Component
    factors: tuple[tuple[str, int], ...]
    planned: bool  # the step's own component, no stand-in

    @property
    def most(self) -> int:
        """With every attempt in every layer."""
        return prod(number for _, number in self.factors)

    def __str__(self) -> str:
        """``callers 2 × planner retry 3 × SDK 3``."""
        return " × ".join(f"{name} {number}" for name, number in self.factors) or f"{self.component.name} 1"


def chain(facts: Facts, component: Component) -> tuple[Component, ...]:
    """The component and those that stand in for it, in the order in which the gateway asks them. Of StableVersion the component again, once."""
    return _chains(facts)[component.name]


@lru_cache(maxsize=2)
def _chains(facts: Facts) -> dict[str, tuple[Component, ...]]:
    return {name: _chain(facts, component) for name, component in facts.components.items()}


def _chain(facts: Facts, component: Component) -> tuple[Component, ...]:
    found = [component]
    while len(found) <= MAX_STAND_INS:
        rule = found[-1].on_failure
        if rule.type is FailureStrategy.STABLE_VERSION:
            return (*found, found[-1])
        following = facts.components.get(rule.component or "")
        if rule.type is not FailureStrategy.COMPONENT or following is None or following in found:
            break
        found.append(following)
    return tuple(found)


def calls(facts: Facts, *, per_run: bool = False) -> Iterator[Calls]:
    """Of every step, its component first and then its stand-ins. per_run: without the attempts of the callers."""
    outside = 1 if per_run else facts.spec.contract.sla.caller_attempts or 1
    known: dict[str, tuple[tuple[Component, tuple[tuple[str, int], ...]], ...]] = {}
    for number, step in enumerate(facts.steps):
        component = facts.components.get(step.component)
        if component is None:
            continue
        if component.name not in known:
            known[component.name] = tuple((one, _factors(one, outside)) for one in chain(facts, component))
        for place, (one, factors) in enumerate(known[component.name]):
            yield Calls(step=number, component=one, factors=factors, planned=place == 0)


def _factors(component: Component, outside: int) -> tuple[tuple[str, int], ...]:
    layers = (
        ("callers", outside),
        (f"{component.name} retry", attempts(component)),
        (f"{component.name} rounds", component.max_rounds or 1),
        (f"{component.name} client", component.retry.attempts_below or 1),
    )
    return tuple(layer for layer in layers if layer[1] > 1)


def address(endpoint: Endpoint) -> str:
    """Which destination it is: two endpoints with one address load the same thing."""
    place = endpoint.url if endpoint.service_ref is None else f"http://{endpoint.service_ref}"
    return f"{place} ({endpoint.model})" if endpoint.model else str(place)
