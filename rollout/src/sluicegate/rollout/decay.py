"""The watch over the stable version: what to ask, what to say of the answer, whom to tell. Pure."""

from collections.abc import Iterator
from typing import Final

from sluicegate.contracts.resources import AgentWorkflow, WorkflowRevision
from sluicegate.contracts.resources.base import Condition
from sluicegate.contracts.resources.workflow import Runtime, WorkflowStatus
from sluicegate.contracts.stages import Signal
from sluicegate.contracts.watch import Alarm, Watched, WatchedSignal, WatchEvidence, WatchLook
from sluicegate.rollout import conditions, drifting, events, phrases, promising, revisions
from sluicegate.rollout.conditions import Wanted
from sluicegate.rollout.model import Emit, WorkflowObserved, ref_of

DECAYING: Final = "RewardDecaying"
MISSING: Final = 500
"""Units in a row without a reward after which nothing is claimed of it any more."""


def look(workflow: AgentWorkflow, known: tuple[WorkflowRevision, ...]) -> WatchLook | None:
    """What is watched now; None when nothing is: no stable version, runtime Service, or nobody wants it."""
    status, watch = workflow.status, workflow.spec.watch
    stable = None if status is None else revisions.named(known, status.stable_revision)
    if stable is None or not watch.enabled or workflow.spec.runtime is Runtime.SERVICE:
        return None
    return WatchLook(
        watched=Watched(workflow.metadata.namespace, workflow.metadata.name, stable.metadata.name),
        components=tuple(component.name for component in stable.spec.body.components),
        false_alarm_every=watch.false_alarm_every,
        tolerance=float(watch.tolerance),
        baseline_units=watch.baseline_units,
        baseline=watch.baseline,
        since=stable.metadata.creation_timestamp,
        outputs=drifting.outputs(stable.spec.body),
        drift_tolerance=float(watch.drift_tolerance),
        promises=promising.promises_of(stable.spec.body),
    )


def wanted(observed: WorkflowObserved, status: WorkflowStatus) -> Iterator[Wanted]:
    """The conditions, of outputs and promises too, if there is anything to say. A text changes with what it says, never with each unit.

    Without an answer of the store it stays as it was; of another version than the stable one nothing is known yet.
    """
    before = conditions.find(status.conditions, DECAYING)
    spec, stable, found = observed.workflow.spec, status.stable_revision, observed.watch
    if not spec.watch.enabled or spec.runtime is Runtime.SERVICE:
        if before is not None:
            yield Wanted(DECAYING, None, "NotWatched", "spec.watch.enabled is false")
    elif found is not None and found.look.watched.revision == stable:
        yield _of(found)
    elif before is not None and conditions.has_moved(observed, status):
        yield Wanted(DECAYING, None, "Learning", _learning(stable or "", spec.watch.baseline_units))
    yield from drifting.wanted(observed, status)
    yield from promising.wanted(observed, status)


def alarms(observed: WorkflowObserved, status: WorkflowStatus) -> Iterator[Emit]:
    """One event for each alarm that the stored conditions do not tell yet. status: after this look."""
    yield from drifting.alarms(observed, status)
    yield from promising.news(observed, status)
    found, now = observed.watch, conditions.find(status.conditions, DECAYING)
    if found is None or now is None or now.status != "True":
        return
    old = observed.workflow.status
    told = None if old is None else conditions.find(old.conditions, DECAYING)
    for item, alarm in _alarmed(found):
        said = _sentence(item, alarm)
        if not _tells(told, said):
            key = f"{observed.workflow.metadata.uid}/{found.look.watched.revision}/{found.look.baseline}/{item.signal}/{item.component or ''}/{alarm.at.isoformat()}"
            yield events.emit(ref_of(observed.workflow), "RewardDecayed", said, key=key, bad=True)


def _tells(condition: Condition | None, said: str) -> bool:
    return condition is not None and condition.status == "True" and said in condition.message


def _of(found: WatchEvidence) -> Wanted:
    alarmed = list(_alarmed(found))
    if alarmed:
        reason = "RewardFell" if alarmed[0][0].signal is Signal.REWARD else "FallbacksRose"
        return Wanted(
            DECAYING, truth=True, reason=reason, message="; ".join(_sentence(*pair) for pair in alarmed)
        )
    revision, units = found.look.watched.revision, found.look.baseline_units
    reward = next((item for item in found.signals if item.signal is Signal.REWARD), None)
    if not found.units:
        return Wanted(DECAYING, None, "NoData", f"no unit of {revision} was served yet")
    if reward is None or reward.gap >= MISSING or not reward.units:
        return Wanted(
            DECAYING,
            None,
            "NoData",
            f"the last {MISSING} units of {revision} had no reward, or there never was one",
        )
    if any(item.baseline is None for item in found.signals):
        return Wanted(DECAYING, None, "Learning", _learning(revision, units))
    return Wanted(DECAYING, truth=False, reason="Steady", message=_steady(found, reward))


def _alarmed(found: WatchEvidence) -> Iterator[tuple[WatchedSignal, Alarm]]:
    for item in found.signals:
        if item.alarm is not None:
            yield item, item.alarm


def _learning(revision: str, units: int) -> str:
    return f"the first {units} units of {revision} become the baseline"


def _steady(found: WatchEvidence, reward: WatchedSignal) -> str:
    return (
        f"{found.look.watched.revision} earned {_number(reward.baseline)} in its first {found.look.baseline_units} units, "
        f"and is not shown to earn less than {_number(reward.limit)}; no component is shown to fall back more often"
    )


def _sentence(item: WatchedSignal, alarm: Alarm) -> str:
    """Both numbers, since when, and what the alarm is worth."""
    if item.signal is Signal.REWARD:
        what = f"the reward fell from {_number(alarm.before)} to about {_number(alarm.after)}"
    else:
        what = f"{item.component} falls back in about {phrases.percent(alarm.after)} of the units, before in {phrases.percent(alarm.before)}"
    since = alarm.since.isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{what}, since {since} ({alarm.units} units; last run {alarm.run})"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.3f}"
