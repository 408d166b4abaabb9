"""A first AgentComponent per component, with the contract that its recorded calls keep."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sluicegate.console.contracting.samples import AGENT, Sample
from sluicegate.contracts.inference import Shape, schema_of
from sluicegate.contracts.resources.base import API_VERSION

FEW = 5
"""Calls below which a contract says little."""


@dataclass(slots=True)
class Seen:
    """Of one component."""

    calls: int = 0
    given: Shape = field(default_factory=Shape)
    told: Shape = field(default_factory=Shape)


def infer(samples: Iterable[Sample]) -> dict[str, Seen]:
    """Component → what was seen of it, the agent first, then the most used."""
    found: dict[str, Seen] = {}
    for sample in samples:
        seen = found.setdefault(sample.component, Seen())
        seen.calls += 1
        seen.given.observe(sample.input)
        if sample.answered:
            seen.told.observe(sample.output)
    return dict(sorted(found.items(), key=lambda item: (item[0] != AGENT, -item[1].calls, item[0])))


def resources(found: dict[str, Seen], owner: str) -> list[dict[str, Any]]:
    """One for each component, each with a name of its own."""
    names: dict[str, int] = {}
    made = []
    for name, seen in found.items():
        plain = resource_name(name)
        names[plain] = number = names.get(plain, 0) + 1
        made.append(resource(name, seen, owner, plain if number == 1 else f"{plain[:60]}-{number}"))
    return made


def resource(name: str, seen: Seen, owner: str, called: str | None = None) -> dict[str, Any]:
    """The AgentComponent, version 0.1.0, Proposed: a person reads it before anything depends on it."""
    return {
        "apiVersion": API_VERSION,
        "kind": "AgentComponent",
        "metadata": {"name": called or resource_name(name)},
        "spec": {
            "owner": owner,
            "role": "Planner" if name == AGENT else "Tool",
            "description": f"{name}: inferred from {seen.calls} recorded calls, {seen.told.seen} with an answer",
            "versions": [
                {
                    "version": "0.1.0",
                    "lifecycle": "Proposed",
                    "contract": {"input": schema_of(seen.given), "output": schema_of(seen.told)},
                }
            ],
        },
    }


def resource_name(name: str) -> str:
    """As Kubernetes takes it: lower case, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].strip("-") or "component"
