"""Whether the version that answers everybody keeps what its SLA promises: what to say of the watch, whom to tell. Pure.

A breach and its end are each told once. What was told stands in the condition's message, so that a restart tells nothing again.
"""

from collections.abc import Iterator
from typing import Final

from sluicegate.contracts.resources.base import Condition
from sluicegate.contracts.resources.workflow import Runtime, WorkflowSpec, WorkflowStatus
from sluicegate.contracts.sla import Measure, Promise, promises
from sluicegate.contracts.stages import Verdict
from sluicegate.contracts.watch import Alarm, WatchedPromise, WatchEvidence
from sluicegate.rollout import conditions, events, phrases
from sluicegate.rollout.conditions import Wanted
from sluicegate.rollout.model import Emit, WorkflowObserved, ref_of

BREACHED: Final = "SlaBreached"
_BETWEEN: Final = "; "
_BAD: Final = {Measure.LATENCY: "were slower", Measure.SUCCESS: "failed", Measure.FALLBACK: "fell back"}


def promises_of(body: WorkflowSpec) -> tuple[Promise, ...]:
    """Those of a version; not that something never happens, which no number of runs can show."""
    return tuple(one for one in promises(body.contract.sla) if one.most > 0)


def wanted(observed: WorkflowObserved, status: WorkflowStatus) -> Iterator[Wanted]:
    """The condition, where a version that promises something is or was watched. Its text changes with what it says."""
    before = conditions.find(status.conditions, BREACHED)
    spec, found = observed.workflow.spec, observed.watch
    if not spec.watch.enabled or spec.runtime is Runtime.SERVICE:
        if before is not None:
            yield Wanted(BREACHED, None, "NotWatched", "spec.watch.enabled is false")
    elif found is not None and found.look.watched.revision == status.stable_revision:
        if found.promises or before is not None:
            yield _of(found, before)
    elif before is not None and conditions.has_moved(observed, status):
        still = _BETWEEN.join(part for part in _parts(before) if _is_open(part))
        named = f"nothing of {status.stable_revision} is known yet"
        yield Wanted(BREACHED, None, "NoData", f"{named}{_BETWEEN}{still}" if still else named)


def news(observed: WorkflowObserved, status: WorkflowStatus) -> Iterator[Emit]:
    """One event for each breach and one for its end that the stored condition does not tell yet. status: after this look."""
    found, old = observed.watch, observed.workflow.status
    if found is None or found.look.watched.revision != status.stable_revision:
        return
    told = None if old is None else conditions.find(old.conditions, BREACHED)
    for item in found.promises:
        yield from _news_of(item, observed, found, told)


def _news_of(
    item: WatchedPromise, observed: WorkflowObserved, found: WatchEvidence, told: Condition | None
) -> Iterator[Emit]:
    about, place = (
        ref_of(observed.workflow),
        f"{observed.workflow.metadata.uid}/{found.look.name}/{item.promise.field}",
    )
    said, breach, kept = _said_of(item, told), item.breach, item.kept
    is_open = _is_open(said)
    # A breach that ended while nobody looked is told as well, where the condition spoke of this version before.
    is_due = item.standing is Verdict.FAIL or (told is not None and _parts(told)[0] == _of_version(found))
    if breach is not None and _mark(breach) not in said and is_due:
        yield events.emit(about, BREACHED, _broken(item, breach), key=f"{place}/{_time(breach)}", bad=True)
        is_open = True
    if kept is not None and item.standing is Verdict.PASS and is_open:
        yield events.emit(about, "SlaKept", _kept(item, kept), key=f"{place}/{_time(kept)}")


def _of(found: WatchEvidence, before: Condition | None) -> Wanted:
    standings = {item.standing for item in found.promises}
    parts = [_of_version(found), *(_part(item, before) for item in found.promises)]
    message = _BETWEEN.join(parts)
    if not found.promises:
        return Wanted(
            BREACHED, None, "NoData", f"{found.look.watched.revision} promises nothing that can be shown"
        )
    if Verdict.FAIL in standings:
        return Wanted(BREACHED, truth=True, reason="PromiseBroken", message=message)
    if standings == {Verdict.PASS}:
        return Wanted(BREACHED, truth=False, reason="PromisesKept", message=message)
    return Wanted(BREACHED, None, "Undecided" if found.units else "NoData", message)


def _part(item: WatchedPromise, before: Condition | None) -> str:
    """What is said of one promise. A breach of the version before stays open until this one is shown to keep it."""
    if item.standing is Verdict.FAIL and item.breach is not None:
        return _broken(item, item.breach)
    if item.standing is Verdict.PASS and item.kept is not None:
        return _kept(item, item.kept)
    said = _said_of(item, before)
    return said if _is_open(said) else f"{item.promise.text} is neither shown to be kept nor to be broken"


def _broken(item: WatchedPromise, breach: Alarm) -> str:
    seen, allowed = phrases.percent(breach.after), phrases.percent(breach.before)
    return (
        f"{item.promise.text} is broken: about {seen} {_BAD[item.promise.measure]}, allowed {allowed}, "
        f"{_mark(breach)} ({breach.units} units, last run {breach.run})"
    )


def _kept(item: WatchedPromise, kept: Alarm) -> str:
    """It names the last breach, so that it is not told again."""
    seen = phrases.percent(kept.after)
    was = f", broken {_mark(item.breach)}" if item.breach is not None else ""
    return f"{item.promise.text} is kept: about {seen} {_BAD[item.promise.measure]}{was}"


def _mark(alarm: Alarm) -> str:
    """By which a breach is known again."""
    return f"since {_time(alarm)}"


def _time(alarm: Alarm) -> str:
    return alarm.since.isoformat().replace("+00:00", "Z")


def _said_of(item: WatchedPromise, condition: Condition | None) -> str:
    """What the condition says of this promise."""
    return next((part for part in _parts(condition) if part.startswith(f"{item.promise.text} is ")), "")


def _parts(condition: Condition | None) -> list[str]:
    return [] if condition is None else condition.message.split(_BETWEEN)


def _is_open(part: str) -> bool:
    """A breach that has not ended."""
    return " is broken: " in part


def _of_version(found: WatchEvidence) -> str:
    return f"of {found.look.watched.revision}"
