"""Whether a new version of a workflow may stand in for the old one: for callers and for every step, with witnesses."""

from dataclasses import replace

from sluicegate.contracts.compatibility import behaviour, messages, promises
from sluicegate.contracts.compatibility.comparison import CALLERS, Change, Comparison, Consumer, Level, worst
from sluicegate.contracts.containment import Verdict
from sluicegate.contracts.resources.workflow import AgentWorkflow
from sluicegate.contracts.verification.facts import gather

__all__ = ["Comparison", "Consumer", "Level", "Verdict", "compare"]


def compare(old: AgentWorkflow, new: AgentWorkflow, *, level: Level = Level.SEMANTIC) -> Comparison:
    """Both must have passed `verification.verify`. Pure; bounded by one `containment.Budget`."""
    before, after = gather(old), gather(new)
    found = [*messages.changes(before, after, level)]
    if level is Level.SEMANTIC:
        found += [*promises.changes(before, after), *behaviour.changes(before, after)]
    names = (CALLERS, *(f"steps.{step.name}" for step in after.steps))
    consumers = tuple(_consumer(name, found) for name in names)
    subject = f"{new.kind}/{new.metadata.name}"
    return Comparison(
        old=old.spec.version,
        new=new.spec.version,
        level=level,
        verdict=worst((*(one.verdict for one in consumers), *(change.verdict for change in found))),
        consumers=consumers,
        diagnostics=tuple(replace(change.diagnostic, subject=subject) for change in found),
    )


def _consumer(name: str, changes: list[Change]) -> Consumer:
    counted = [
        change for change in changes if name in change.consumers and change.verdict is not Verdict.COMPATIBLE
    ]
    reasons = tuple(dict.fromkeys(change.diagnostic.code for change in counted))
    return Consumer(name=name, verdict=worst(change.verdict for change in counted), reasons=reasons)
