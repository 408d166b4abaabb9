"""Which changed component most explains a worse reward: the version game, where the stage plays it."""

from typing import Final

from sluicegate.contracts.evidence import AblatedUnits, StageEvidence
from sluicegate.contracts.stages import Signal
from sluicegate.observability.contributions.interval import multiplier

EXPLAINED: Final = frozenset({Signal.REWARD, Signal.SUCCESS_RATE})
"""Signals that the version game explains: a failed run earns nothing."""
_ALPHA: Final = 0.05


def culprit(evidence: StageEvidence | None) -> str:
    """The end of a sentence; empty when no component is shown to take away from the reward.

    The component that takes most away, if its interval lies below 0; α is split over the components.
    """
    found = None if evidence is None else evidence.mixed
    if found is None or not found.estimates:
        return ""
    return _said(found)


def _said(found: AblatedUnits) -> str:
    worst = min(found.estimates, key=lambda one: one.value)
    reach = multiplier(found.units, _ALPHA / len(found.estimates)) * worst.error
    if not worst.value + reach < 0.0:
        return ""
    return (
        f"; of the changed components {worst.component} explains most: {worst.value:+.3f} of the reward "
        f"({worst.value - reach:+.3f} to {worst.value + reach:+.3f})"
    )
