"""What is told of drift: the value that moved, the scores beside it, and values that are new."""

from collections.abc import Iterable, Iterator
from typing import Final

from sluicegate.contracts.evidence import SignalEvidence
from sluicegate.contracts.observed import NOTHING
from sluicegate.contracts.resources.rollout import ObservedOutput
from sluicegate.contracts.stages import Signal
from sluicegate.observability.drift.score import score

NEW_UNITS: Final = 3
"""Units of the candidate from which on a value that stable never gave is told."""

UNSEEN: Final = "UnseenValue"
REASONS: Final = {
    "NotDrifted": "Shown: no share of an observed output moved by the margin or more.",
    "Drifted": "Shown: a component does not give what stable's gives; the message names the value that moved.",
    UNSEEN: "The same, and what moved is a value that stable, seen as often, never gave.",
}
SAFE: Final = ("NotDrifted", "no share moved by")

_MOST_NEW: Final = 5


def items(asked: Iterable[ObservedOutput], found: Iterable[SignalEvidence]) -> tuple[SignalEvidence, ...]:
    """The answers to the gate's questions; an output without an answer gets an empty one, which is NoData."""
    known = {(item.component, item.output): item for item in found}
    return tuple(
        known.get(
            (one.component, one.output),
            SignalEvidence(signal=Signal.DRIFT, component=one.component, output=one.output),
        )
        for one in asked
    )


def seen(item: SignalEvidence) -> str:
    """Both shares of what moved most surely."""
    return (
        f"candidate's {item.component} gave {_event(item)} in {_percent(item.candidate)} of {item.units} units, "
        f"stable's in {_percent(item.stable)}"
    )


def harm(item: SignalEvidence) -> tuple[str, str]:
    """Reason and words of a shown drift."""
    found = item.outputs
    if found is not None and any(value == found.moved for value, _, _ in found.unseen):
        return UNSEEN, "stable, seen as often, never did"
    return "Drifted", "moved"


def beside(item: SignalEvidence) -> str:
    """The scores of an output, which decide nothing; empty without counts."""
    if item.outputs is None or not item.units:
        return ""
    found = score(item.outputs, item.units)
    distance = "" if found.distance is None else f"; distance {found.distance:.2f}"
    cloud = item.outputs.cloud if item.outputs.cloud and item.outputs.cloud.looks else None
    whole = f"; as a whole: p = {cloud.p:.2g} (permutation, look {cloud.looks})" if cloud else ""
    return (
        f"{whole}; KL {found.kl:.3g} debiased (of equal arms 99 in 100 below {found.limit:.2g}){distance}, "
        f"if looked at once: p = {found.p:.2g} ({found.method})"
    )


def new_values(found: Iterable[SignalEvidence]) -> str:
    """Values that stable never gave, of every output; empty without any."""
    told = list(_news(found))
    more = f" and {len(told) - _MOST_NEW} more" if len(told) > _MOST_NEW else ""
    return f"; new: {', '.join(map(''.join, told[:_MOST_NEW]))}{more}" if told else ""


def first_told(found: Iterable[SignalEvidence], before: str, after: str) -> Iterator[tuple[str, str]]:
    """(name, sentence) of each new value that the message `after` tells and the one `before` did not."""
    for name, where in _news(found):
        if f"{name} in " in after and f"{name} in " not in before:
            yield name, f"candidate gave {name}{where}; stable, seen as often, never did"


def _news(found: Iterable[SignalEvidence]) -> Iterator[tuple[str, str]]:
    """What, and in which units: values that at least three units of the candidate gave, and stable never did."""
    for item in found:
        for value, units, runs in () if item.outputs is None else item.outputs.unseen:
            if units >= NEW_UNITS and value != NOTHING:
                yield (
                    f"{item.component}.{item.output} = {_value(value)}",
                    f" in {units} units ({', '.join(runs)})",
                )


def _event(item: SignalEvidence) -> str:
    found = item.outputs
    if found is None:
        return f"{item.output}"
    in_words = found.numeric or found.cloud is not None
    return f"{item.output} {found.moved}" if in_words else f"{item.output} = {_value(found.moved)}"


def _value(text: str) -> str:
    """For one line."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{value * 100:.1f} %"
