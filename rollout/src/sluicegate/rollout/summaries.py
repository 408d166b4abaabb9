"""What lists show of a rollout: texts in status, since printer columns of the API server cannot compute."""

from datetime import timedelta
from typing import Final

from sluicegate.contracts.resources import WorkflowRollout
from sluicegate.contracts.resources.base import Fraction
from sluicegate.contracts.resources.rollout import GateStatus, RolloutStatus, Summary
from sluicegate.contracts.resources.workflow import Progress
from sluicegate.contracts.stages import MIRRORED_STAGES, Check, State, Verdict
from sluicegate.rollout import improvement, phrases, shares, table

NUMBERS_EVERY: Final = timedelta(seconds=60)
"""How often a workflow's status repeats numbers of its rollout that move."""

_WORST_FIRST: Final = (
    Verdict.FAIL.value,
    Verdict.ERROR.value,
    Verdict.INCONCLUSIVE.value,
    Verdict.WAIT.value,
    Verdict.PASS.value,
)
_NAMED: Final = frozenset({Verdict.FAIL.value, Verdict.ERROR.value})
_ALARMS: Final = frozenset({shares.MISMATCH, improvement.UNCONFIRMED})
_MIRRORED: Final = frozenset(stage.value for stage in MIRRORED_STAGES)


def of_rollout(status: RolloutStatus) -> Summary:
    """From a status that is whole but for this."""
    return Summary(
        traffic=_traffic(status) if status.state in table.STAGES else None,
        gate=_gates(status.gates),
        samples=f"{status.samples}/{status.needed}" if status.needed else str(status.samples),
        decision_in=_decision_in(status),
    )


def of_workflow(rollout: WorkflowRollout | None, old: Progress | None) -> Progress | None:
    """Of the rollout that runs. Numbers that move alone are repeated once in `NUMBERS_EVERY`."""
    if rollout is None or rollout.status is None or rollout.status.state is State.DONE:
        return None
    status, summary = rollout.status, rollout.status.summary or of_rollout(rollout.status)
    found = Progress(
        candidate=rollout.spec.candidate.version,
        traffic=summary.traffic,
        gate=summary.gate,
        samples=summary.samples,
        decision_in=summary.decision_in,
        attempt=status.attempt,
        next_evaluation_at=status.next_evaluation_at,
        numbers_at=status.numbers_at,
    )
    return old if old is not None and _is_told(old, found) else found


def _is_told(old: Progress, found: Progress) -> bool:
    if _without_numbers(old) != _without_numbers(found):
        return False
    if old.numbers_at is None or found.numbers_at is None:
        return old.numbers_at == found.numbers_at
    return abs(found.numbers_at - old.numbers_at) < NUMBERS_EVERY  # a clock may have been ahead


def _without_numbers(progress: Progress) -> Progress:
    return progress.model_copy(
        update=dict.fromkeys(("samples", "decision_in", "next_evaluation_at", "numbers_at"))
    )


def _traffic(status: RolloutStatus) -> str | None:
    """`5 % mirrored`, of which users see nothing, or `20 %` that the candidate answers."""
    if status.share is None:
        return None
    text = _percent(status.share)
    return f"{text} mirrored" if status.state.value in _MIRRORED else text


def _decision_in(status: RolloutStatus) -> str | None:
    seconds = status.estimated_seconds_to_decision if status.state in table.STAGES else None
    return phrases.duration(seconds) if seconds else None


def _percent(share: Fraction) -> str:
    text = f"{100 * share.numerator / share.denominator:.2f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def _gates(gates: tuple[GateStatus, ...]) -> str | None:
    """The worst verdict and how many passed: `Wait 3/5`, `Pass 5/5`; of a failure which it is: `Fail success +1`.

    The checks that are always on are no gates: only their alarms are told.
    """
    alarm = next((gate.name for gate in gates if gate.reason in _ALARMS), None)
    gates = tuple(gate for gate in gates if gate.signal not in set(Check))
    worst = min((gate.verdict for gate in gates), key=_WORST_FIRST.index, default=None)
    if alarm is not None and worst not in _NAMED:
        return f"{Verdict.INCONCLUSIVE} {alarm}"
    if worst is None:
        return None
    which = [gate.name for gate in gates if gate.verdict == worst]
    if worst in _NAMED:
        return f"{worst} {which[0]}" + (f" +{len(which) - 1}" if len(which) > 1 else "")
    return f"{worst} {sum(gate.verdict == Verdict.PASS.value for gate in gates)}/{len(gates)}"
