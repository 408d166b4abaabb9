"""Whether a new version of a workflow may stand in for the old one: for callers and for every step, with witnesses."""

from sluicegate.contracts.compatibility.comparison import Comparison, Consumer, Level, Verdict
from sluicegate.contracts.digest import revision_digest
from sluicegate.contracts.resources.workflow import AgentWorkflow

__all__ = ["Comparison", "Consumer", "Level", "Verdict", "compare"]


def compare(old: AgentWorkflow, new: AgentWorkflow, *, level: Level = Level.SEMANTIC) -> Comparison:
    """Both must have passed `verification.verify`. Pure; bounded in time as `containment.covers` is."""
    same = revision_digest(old.spec) == revision_digest(new.spec)
    verdict = Verdict.COMPATIBLE if same else Verdict.UNKNOWN
    names = ("callers", *(f"steps.{step.name}" for step in new.spec.steps))
    return Comparison(
        old=old.spec.version,
        new=new.spec.version,
        level=level,
        verdict=verdict,
        consumers=tuple(Consumer(name=name, verdict=verdict) for name in names),
        diagnostics=(),
    )
