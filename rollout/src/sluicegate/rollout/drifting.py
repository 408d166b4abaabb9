"""Whether the outputs of the version that answers everybody are those of its first units. Pure."""

from collections.abc import Iterator
from typing import Final

from sluicegate.contracts.observed import observed_fields
from sluicegate.contracts.resources.workflow import Runtime, WorkflowSpec, WorkflowStatus
from sluicegate.contracts.watch import MovedOutput, WatchedField, WatchedOutput, WatchEvidence
from sluicegate.rollout import conditions, events, phrases
from sluicegate.rollout.conditions import Wanted
from sluicegate.rollout.model import Emit, WorkflowObserved, ref_of

DRIFTING: Final = "OutputsDrifting"
MOST_FIELDS: Final = 16
"""Outputs that are watched, in the contract's order: each keeps the sums of its values."""


def outputs(body: WorkflowSpec) -> tuple[WatchedOutput, ...]:
    """Those of a version; vectors are compared while both versions run, there is no baseline of them."""
    fields = [one for one in observed_fields(body) if not one.length][:MOST_FIELDS]
    return tuple(WatchedOutput(one.component, one.output, one.numeric) for one in fields)


def wanted(observed: WorkflowObserved, status: WorkflowStatus) -> Iterator[Wanted]:
    """The condition, where a version whose outputs are observed is or was watched. Its text changes with what it says."""
    before = conditions.find(status.conditions, DRIFTING)
    spec, found = observed.workflow.spec, observed.watch
    if not spec.watch.enabled or spec.runtime is Runtime.SERVICE:
        if before is not None:
            yield Wanted(DRIFTING, None, "NotWatched", "spec.watch.enabled is false")
    elif found is not None and found.look.watched.revision == status.stable_revision:
        if found.outputs or before is not None:
            yield _of(found)
    elif before is not None and conditions.has_moved(observed, status):
        yield Wanted(DRIFTING, None, "Learning", _learning(status.stable_revision or "", spec.watch.baseline))


def alarms(observed: WorkflowObserved, status: WorkflowStatus) -> Iterator[Emit]:
    """One event for each alarm and each new value that the stored condition does not tell yet. status: after this look."""
    found, now = observed.watch, conditions.find(status.conditions, DRIFTING)
    if found is None or now is None or found.look.watched.revision != status.stable_revision:
        return
    old = observed.workflow.status
    told = None if old is None else conditions.find(old.conditions, DRIFTING)
    for reason, key, said in _news(found):
        if told is None or said not in told.message:
            place = f"{observed.workflow.metadata.uid}/{found.look.name}/{key}"
            yield events.emit(ref_of(observed.workflow), reason, said, key=place, bad=True)


def _of(found: WatchEvidence) -> Wanted:
    name, news = found.look.name, [said for _, _, said in _news(found)]
    if any(item.moved is not None for item in found.outputs):
        return Wanted(DRIFTING, truth=True, reason="OutputMoved", message="; ".join(news))
    given = [item for item in found.outputs if item.units]
    if not given:
        return Wanted(
            DRIFTING, None, "NoData", f"no unit of {found.look.watched.revision} gave an observed output"
        )
    if not all(item.baseline for item in given):
        return Wanted(DRIFTING, None, "Learning", _learning(found.look.watched.revision, found.look.baseline))
    steady = (
        f"no share of a value is shown to have moved by {found.look.drift_tolerance:g} or more from {name}"
    )
    return Wanted(DRIFTING, truth=False, reason="Steady", message="; ".join([steady, *news]))


def _news(found: WatchEvidence) -> Iterator[tuple[str, str, str]]:
    """Reason, key and sentence of each thing that people are told of once."""
    for item in found.outputs:
        if item.moved is not None:
            yield "OutputsDrifted", item.field.key, _sentence(item, item.moved, found.look.name)
        for value, run in item.unseen:
            said = f"{item.field.key} gave {value!r}, which no unit of {found.look.name} did (run {run})"
            yield "UnseenOutput", f"{item.field.key}/{value}", said


def _learning(revision: str, number: int) -> str:
    return f"the first units of {revision} become the baseline {revision}@{number}"


def _sentence(item: WatchedField, moved: MovedOutput, name: str) -> str:
    """Both shares, since when, and what the alarm is worth."""
    alarm = moved.alarm
    since = alarm.since.isoformat(timespec="seconds").replace("+00:00", "Z")
    return (
        f"{item.field.key}: {moved.value} from {phrases.percent(alarm.before)} in {name} to about "
        f"{phrases.percent(alarm.after)}, since {since} ({alarm.units} units; last run {alarm.run})"
    )
