"""The evidence of a rollout's stage once more: stored units, folded and judged as the rollout did it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sluicegate.console import targets
from sluicegate.console.client import Client, Object
from sluicegate.console.plotting import Series
from sluicegate.console.progress import counted
from sluicegate.contracts.errors import NotFound, Problem, Refused
from sluicegate.contracts.evidence import EvidenceKey, Observation
from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.contracts.stages import Stage
from sluicegate.contracts.suggestions import listed
from sluicegate.lineage.entries import observation_from
from sluicegate.observability.fold import Fold
from sluicegate.rollout import gates, judging, planning

PAGE: Final = 5_000
MOST_LOOKS: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Whose evidence."""

    rollout: WorkflowRollout
    stage: Stage
    attempt: int

    @property
    def key(self) -> EvidenceKey:
        """As the store has it."""
        return EvidenceKey(self.rollout.metadata.uid or "", self.stage, self.attempt)


def wanted(client: Client, namespace: str, name: str, *, stage: Stage | None, attempt: int | None) -> Wanted:
    """The stage that was asked for, else the one entered last. Raises NotFound and Refused."""
    found = targets.find(client, namespace, name).rollout
    if found is None:
        raise NotFound(f"{name} has no rollout")
    rollout = WorkflowRollout.model_validate(found)
    planned = [one.name for one in rollout.spec.stages]
    status = rollout.status
    if stage is not None and stage not in planned:
        allowed = listed(one.value for one in planned)
        raise Refused(
            (Problem(path="--stage", message="the rollout does not have it", value=stage, allowed=allowed),)
        )
    last = None if status is None else status.stage or (status.history[-1].stage if status.history else None)
    return Wanted(
        rollout=rollout,
        stage=stage or last or planned[0],
        attempt=attempt or (1 if status is None else status.attempt),
    )


def title(look: Wanted) -> str:
    """Which rollout, from what to what."""
    spec = look.rollout.spec
    return (
        f"{look.rollout.metadata.name}: {spec.stable.version} → {spec.candidate.version}, {look.stage}, "
        f"attempt {look.attempt}"
    )


def fetched(client: Client, look: Wanted) -> Iterator[Object]:
    """Its closed units, page by page."""
    after = 0
    while True:
        query = {
            "namespace": look.rollout.metadata.namespace,
            "rollout": look.key.rollout,
            "stage": look.stage.value,
            "attempt": str(look.attempt),
            "after": str(after),
            "limit": str(PAGE),
        }
        page = client.units(query)
        yield from page
        if len(page) < PAGE:
            return
        after = int(page[-1]["sequence"])


def line(unit: Object) -> str:
    """A unit as one line of JSON."""
    return json.dumps(unit, ensure_ascii=False, separators=(",", ":"))


def series(look: Wanted, units: list[Object]) -> Series:
    """What the gates saw and said, from the first unit to the last. Raises NotFound without units."""
    if not units:
        raise NotFound(f"{title(look)}: no unit is stored (none closed yet, or their retention is over)")
    spec, status = look.rollout.spec, look.rollout.status
    planned = planning.stage_of(spec, look.stage)
    boundary = (
        None if status is None or status.latency_boundary_ms is None else float(status.latency_boundary_ms)
    )
    baseline = {} if status is None else dict(status.baseline)
    fold = Fold(look.key, planning.questions(spec, look.stage, baseline, boundary))
    found = Series((planned,))
    every = -(-len(units) // MOST_LOOKS)
    with counted(len(units), "fold") as progress:
        for number, unit in enumerate(progress.over(units), 1):
            seen = _observation(look.key, unit)
            fold.add(seen)
            if number % every == 0 or number == len(units):
                evidence = fold.evidence()
                view = judging.View(spec=spec, stage=planned, evidence=evidence, now=seen.at)
                found.watch(evidence, gates.judge_all(view))
    return found


def _observation(key: EvidenceKey, unit: Object) -> Observation:
    return observation_from((int(unit["sequence"]), *key, str(unit["unit"]), json.dumps(unit)))
