"""Workflow files for tests: one good one, and ways to break it."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from sluicegate.contracts.errors import Problem, Refused

DATA = Path(__file__).parent / "data"
EXAMPLE = (DATA / "support-bot.yaml").read_text()
"""The design's own example of an AgentWorkflow; it must verify without a finding."""

_EXAMPLE: dict[str, Any] = yaml.safe_load(EXAMPLE.replace("on: Job", "'on': Job"))

MINIMAL: dict[str, Any] = {
    "apiVersion": "sluicegate.io/v1alpha1",
    "kind": "AgentWorkflow",
    "metadata": {"name": "agent"},
    "spec": {
        "version": "1.0.0",
        "components": [
            {
                "name": "agent",
                "version": "1",
                "endpoint": {"url": "http://127.0.0.1:9000/run"},
                "sideEffects": "None",
            }
        ],
    },
}


def minimal(**spec: Any) -> dict[str, Any]:
    """The smallest workflow, with other spec fields."""
    data = copy.deepcopy(MINIMAL)
    data["spec"] |= spec
    return data


def component(name: str = "agent", **fields: Any) -> dict[str, Any]:
    """A component."""
    found: dict[str, Any] = {
        "name": name,
        "version": "1",
        "endpoint": {"url": f"http://{name}"},
        "sideEffects": "None",
    }
    return found | fields


def example(*edits: tuple[str, Any]) -> dict[str, Any]:
    """The example, edited."""
    return edited(_EXAMPLE, *edits)


def edited(item: dict[str, Any], *edits: tuple[str, Any]) -> dict[str, Any]:
    """A copy with values set at dotted paths of its spec (`components.0.sla`); an edit with `...` removes the field."""
    data = copy.deepcopy(item)
    for path, value in edits:
        place: Any = data["spec"]
        *above, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        for key in above:
            place = place[key]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    return data


def as_file(data: dict[str, Any]) -> bytes:
    """As one writes it."""
    return json.dumps(data, indent=1).encode()


def refusal(act: Callable[[], object]) -> tuple[Problem, ...]:
    """The problems that `act` is refused with; none when it is not. Anything else that it raises goes through."""
    try:
        act()
    except Refused as refused:
        return refused.problems
    return ()
