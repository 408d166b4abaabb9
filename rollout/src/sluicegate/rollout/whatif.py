"""A strategy with some numbers changed: what would it cost then? Pure; the spec itself is never touched."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.resources.base import Fraction
from sluicegate.contracts.resources.rollout import PlannedStage
from sluicegate.contracts.resources.workflow import Gate, StageSpec, WorkflowSpec
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.contracts.suggestions import listed
from sluicegate.rollout import planning


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """margins: by gate, or by `Stage/gate`. left_out: gates that are asked and decide nothing. traffic: runs per hour."""

    margins: Mapping[str, str] = field(default_factory=dict)
    shares: Mapping[Stage, Fraction] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    traffic: int | None = None

    @property
    def any(self) -> bool:
        """Whether anything would be different."""
        return bool(self.margins or self.shares or self.left_out or self.traffic is not None)


def changed(spec: WorkflowSpec, changes: Changes) -> WorkflowSpec:
    """The same workflow with `changes`. Raises Refused for gates and stages that the plan does not have, and for margins
    of gates that have none.
    """
    planned = planning.plan_stages(spec)
    problems = (*_unknown(planned, changes), *_without_margin(planned, changes))
    if problems:
        raise Refused(problems)
    written = {stage.name: stage for stage in spec.rollout.stages}
    stages = tuple(_stage(written.get(one.name), one, changes) for one in planned)
    update: dict[str, Any] = {"rollout": spec.rollout.model_copy(update={"stages": stages})}
    if changes.traffic is not None:
        update["expected_runs_per_hour"] = changes.traffic
    return spec.model_copy(update=update)


def _stage(written: StageSpec | None, planned: PlannedStage, changes: Changes) -> StageSpec:
    stage = written or StageSpec(name=planned.name)
    update: dict[str, Any] = {}
    if planned.name in changes.shares:
        update["share"] = changes.shares[planned.name]
    if changes.margins or changes.left_out:
        update["gates"] = tuple(_gate(planned.name, gate, changes) for gate in planned.gates)
    return stage.model_copy(update=update)


def _gate(stage: Stage, gate: Gate, changes: Changes) -> Gate:
    names = (f"{stage}/{gate.name}", gate.name)
    margin = next((changes.margins[name] for name in names if name in changes.margins), gate.margin)
    margin = margin if planning.has_margin(gate) else None
    required = gate.required and not changes.left_out & set(names)
    kept = {name: getattr(gate, name) for name in Gate.model_fields}
    return Gate.model_construct(**(kept | {"margin": margin, "required": required}))


def _without_margin(planned: tuple[PlannedStage, ...], changes: Changes) -> Iterator[Problem]:
    """A margin that no gate would look at. One name may mean gates of several stages: one that has a margin is enough."""
    for name in changes.margins:
        meant = [
            gate
            for stage in planned
            for gate in stage.gates
            if name in {gate.name, f"{stage.name}/{gate.name}"}
        ]
        if meant and not any(planning.has_margin(gate) for gate in meant):
            delta = meant[0].signal is Signal.SHAPLEY_VARIANCE
            yield Problem(
                path="--margin",
                message="the gate has no margin, so that nothing would change",
                value=name,
                allowed="gates that compare the candidate with stable by a margin",
                hint=f"change its {'delta' if delta else 'limit'} in a copy of the file",
            )


def _unknown(planned: tuple[PlannedStage, ...], changes: Changes) -> Iterator[Problem]:
    gates = dict.fromkeys(gate.name for stage in planned for gate in stage.gates)
    known = {*gates, *(f"{stage.name}/{gate.name}" for stage in planned for gate in stage.gates)}
    for option, names in (("--margin", changes.margins), ("--without", sorted(changes.left_out))):
        for name in names:
            if name not in known:
                yield Problem(
                    path=option,
                    message="no stage has this gate",
                    value=name,
                    allowed=f"{listed(gates)}; or STAGE/GATE",
                )
    stages = [stage.name for stage in planned]
    for stage in changes.shares:
        if stage not in stages or stage is Stage.FULL:
            yield Problem(
                path="--share",
                message="is not a stage whose share can be chosen",
                value=stage.value,
                allowed=listed(one.value for one in stages if one is not Stage.FULL),
            )
