"""A routing plan as JSON values, as it is stored and sent. Gateways and operators of neighbouring versions read each other's."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, TypeVar

from sluicegate.contracts.routes import (
    DrillBody,
    MirrorBudget,
    RevisionBody,
    RoutePlan,
    RuleSetBody,
    Share,
    TrafficMode,
)
from sluicegate.contracts.schedules import Schedule
from sluicegate.contracts.stages import Stage

_T = TypeVar("_T")


def plan_to_json(plan: RoutePlan) -> dict[str, Any]:
    """A plan as JSON values, without its lease (which moves without the version)."""
    data = asdict(plan)
    del data["lease_until"]
    if not plan.rule_sets:  # gateways of an earlier version know no such field
        del data["rule_sets"]
    if plan.drill is None:
        del data["drill"]
    return data


def plan_from_json(data: Mapping[str, Any], lease_until: str | None) -> RoutePlan:
    """The inverse of `plan_to_json`. Fields that a later version wrote are left out."""
    values = dict(data)
    candidate = values["candidate"]
    values["stable"] = _made(RevisionBody, values["stable"])
    values["candidate"] = _made(RevisionBody, candidate) if candidate is not None else None
    values["stage"] = Stage(values["stage"]) if values["stage"] is not None else None
    values["mode"] = TrafficMode(values["mode"])
    for name in ("share", "control", "ablation", "versions"):
        values[name] = _made(Share, values[name]) if name in values else Share(0, 1)
    values["mirror_budget"] = _made(MirrorBudget, values["mirror_budget"])
    values["rule_sets"] = tuple(_made(RuleSetBody, body) for body in values.get("rule_sets", ()))
    values["drill"] = _drill(values["drill"]) if values.get("drill") is not None else None
    values["lease_until"] = datetime.fromisoformat(lease_until) if lease_until else None
    return _made(RoutePlan, values)


def _drill(values: Mapping[str, Any]) -> DrillBody:
    schedule, share = _made(Schedule, values["schedule"]), _made(Share, values["share"])
    return _made(DrillBody, {**values, "schedule": schedule, "share": share})


def _made(kind: type[_T], values: Mapping[str, Any]) -> _T:
    """Of the fields that `kind` has. TypeError when one is missing or `values` is no object."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{kind.__name__} is no object")
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in values.items() if name in known})
