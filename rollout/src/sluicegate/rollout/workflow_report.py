"""The status of a workflow as people and tools read it (kstatus: Ready, Reconciling, Stalled)."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from sluicegate.contracts import verification
from sluicegate.contracts.resources import AgentWorkflow, WorkflowRollout
from sluicegate.contracts.resources.base import Condition, Fraction, StatusPhase
from sluicegate.contracts.resources.rollout import RolloutStatus
from sluicegate.contracts.resources.workflow import WorkflowStatus
from sluicegate.rollout import conditions, decay, drills, fallbacks, revisions, summaries
from sluicegate.rollout.conditions import Wanted, is_false, is_true
from sluicegate.rollout.model import WorkflowObserved
from sluicegate.rollout.revisions import CHANGED_BY
from sluicegate.rollout.wishes import Step

STABLE: Final = "Stable"
"""`status.stage` while no rollout runs."""

_NOTHING: Final = Fraction(numerator=0, denominator=1)
_MOST_PROBLEMS: Final = 3


def contract_problems(workflow: AgentWorkflow) -> str:
    """What static verification finds, as one text; empty when the wish is valid.

    Found once per generation: the answer is kept in the condition ContractValid.
    """
    known = None if workflow.status is None else conditions.find(workflow.status.conditions, "ContractValid")
    if known is not None and known.observed_generation == workflow.metadata.generation:
        return "" if known.status == "True" else known.message
    problems = verification.verify(workflow)
    said = "; ".join(str(problem) for problem in problems[:_MOST_PROBLEMS])
    more = len(problems) - _MOST_PROBLEMS
    return f"{said}; and {more} more" if more > 0 else said


def with_report(
    observed: WorkflowObserved, status: WorkflowStatus, step: Step, problems: str, now: datetime
) -> WorkflowStatus:
    """Phase, stage, traffic, message and conditions."""
    generation = observed.workflow.metadata.generation or 0
    wanted = (*_conditions(observed, status, step, problems), *drills.wanted(observed, status, now))
    progress = None if step.running is None else step.running.status
    kept = drills.without(fallbacks.without(status.conditions, observed.workflow.spec), observed)
    settled = conditions.settle(kept, wanted, generation=generation, now=now)
    return status.model_copy(
        update={
            "observed_generation": generation,
            "phase": _phase(settled, progress),
            "stage": _stage(progress) if status.rollout is not None else STABLE,
            "stable_version": _stable_version(observed, status),
            "progress": None
            if status.rollout is None
            else summaries.of_workflow(step.running, status.progress),
            "traffic": _NOTHING if progress is None else progress.share,
            "message": _message(settled),
            "changed_by": _changed_by(observed.workflow, status),
            "conditions": settled,
        }
    )


def _stable_version(observed: WorkflowObserved, status: WorkflowStatus) -> str | None:
    stable = revisions.named(observed.revisions, status.stable_revision)
    return status.stable_version if stable is None else stable.spec.version


def _changed_by(workflow: AgentWorkflow, status: WorkflowStatus) -> str | None:
    return workflow.metadata.annotations.get(CHANGED_BY) or status.changed_by


def _stage(progress: RolloutStatus | None) -> str:
    return "Pending" if progress is None else progress.state.value


def _phase(settled: tuple[Condition, ...], progress: RolloutStatus | None) -> StatusPhase:
    """Degraded: the wish is not what serves and cannot become so by itself, however well stable serves."""
    truths = {condition.type: condition.status for condition in settled}
    if progress is not None and progress.phase == "Paused":
        return "Paused"
    if truths.get("Stalled") == "True":
        return "Degraded"
    if truths.get("Ready") == "True":
        return "Healthy"
    return "Progressing"


def _message(settled: tuple[Condition, ...]) -> str:
    stalled, ready = conditions.find(settled, "Stalled"), conditions.find(settled, "Ready")
    shown = stalled if stalled is not None and stalled.status == "True" else ready
    return shown.message if shown is not None else ""


def _conditions(
    observed: WorkflowObserved, status: WorkflowStatus, step: Step, problems: str
) -> Iterator[Wanted]:
    traffic = conditions.traffic(observed, status.plan_version)
    obstacle = step.obstacle or _rollout_obstacle(step.running) or _stalled_traffic(observed)
    busy = status.rollout is not None
    if obstacle is not None:
        ready = is_false("Ready", *obstacle)
    elif busy:
        ready = Wanted("Ready", None, "RolloutRunning", f"{status.rollout} is on its way")
    elif traffic.truth:
        ready = is_true("Ready", _settled_reason(status), f"{status.stable_revision} answers everybody")
    else:
        ready = Wanted("Ready", None, traffic.reason, traffic.message)
    yield ready
    waits = _waits(step.running) or (ready.reason, ready.message)
    yield Wanted("Reconciling", obstacle is None and ready.truth is not True, *waits)
    yield Wanted("Stalled", obstacle is not None, *(obstacle or (ready.reason, "")))
    yield Wanted("ContractValid", not problems, "Verified" if not problems else "ContractInvalid", problems)
    yield traffic
    yield from decay.wanted(observed, status)
    yield from fallbacks.wanted(observed.workflow.spec, observed.rule_sets, observed.plan)


def _settled_reason(status: WorkflowStatus) -> str:
    return "Stable" if status.stable_revision is not None else "Pending"


def _rollout_obstacle(running: WorkflowRollout | None) -> tuple[str, str] | None:
    """A rollout that needs a person stalls its workflow."""
    if running is None or running.status is None:
        return None
    stalled = conditions.find(running.status.conditions, "Stalled")
    if stalled is None or stalled.status != "True":
        return None
    return stalled.reason, f"{running.metadata.name}: {stalled.message}"


def _stalled_traffic(observed: WorkflowObserved) -> tuple[str, str] | None:
    trouble = observed.trouble
    return None if trouble is None or not trouble.stalls else (trouble.reason, trouble.message)


def _waits(running: WorkflowRollout | None) -> tuple[str, str] | None:
    """The people whom the rollout waits for."""
    if running is None or running.status is None:
        return None
    found = conditions.find(running.status.conditions, "Reconciling")
    if found is None or found.reason not in conditions.WAITS:
        return None
    return found.reason, f"{running.metadata.name}: {found.message}"


def with_deletion(
    observed: WorkflowObserved, status: WorkflowStatus, *, busy: bool, now: datetime
) -> WorkflowStatus:
    """While the workflow goes."""
    said = "traffic goes back to stable first" if busy else "nothing is on its way"
    wanted = (
        is_false("Ready", "Deleting", said),
        is_true("Reconciling", "Deleting", said),
        is_false("Stalled", "Deleting"),
    )
    generation = observed.workflow.metadata.generation or 0
    settled = conditions.settle(status.conditions, wanted, generation=generation, now=now)
    return status.model_copy(
        update={
            "observed_generation": generation,
            "conditions": settled,
            "phase": "Progressing",
            "message": said,
        }
    )
