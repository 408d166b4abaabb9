"""Conditions: metav1.Condition lists whose transition times move only on change."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sluicegate.contracts.resources.base import Condition

Truth = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A condition as it should be. `truth` None: Unknown."""

    type: str
    truth: bool | None
    reason: str
    message: str = ""


def is_true(type: str, reason: str, message: str = "") -> Wanted:
    """It holds."""
    return Wanted(type, truth=True, reason=reason, message=message)


def is_false(type: str, reason: str, message: str = "") -> Wanted:
    """It does not hold."""
    return Wanted(type, truth=False, reason=reason, message=message)


def settle(
    old: tuple[Condition, ...], wanted: Iterable[Wanted], *, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """`wanted` in its order; a condition whose status stays keeps its time, others that were there are kept."""
    before = {condition.type: condition for condition in old}
    settled = {item.type: _settled(before.get(item.type), item, generation, now) for item in wanted}
    kept = (condition for condition in old if condition.type not in settled)
    return (*settled.values(), *kept)


def _settled(old: Condition | None, wanted: Wanted, generation: int, now: datetime) -> Condition:
    status = _truth(wanted.truth)
    at = old.last_transition_time if old is not None and old.status == status else now
    return Condition(
        type=wanted.type,
        status=status,
        reason=wanted.reason,
        message=wanted.message,
        observed_generation=generation,
        last_transition_time=at,
    )


def _truth(truth: bool | None) -> Truth:
    if truth is None:
        return "Unknown"
    return "True" if truth else "False"


def find(conditions: tuple[Condition, ...], type: str) -> Condition | None:
    """The condition of that type."""
    return next((condition for condition in conditions if condition.type == type), None)


def outline(conditions: tuple[Condition, ...]) -> tuple[tuple[str, str, str, int], ...]:
    """What makes a status worth writing at once: not the messages, whose numbers move."""
    return tuple((item.type, item.status, item.reason, item.observed_generation) for item in conditions)
