"""What one gate would find, and what that costs, before anything runs. Pure.

The thresholds and the mixture of a rollout; `exposure` says what is assumed of the traffic, `observability.passage` has
the closed form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sluicegate.contracts.resources.rollout import PlannedGate
from sluicegate.contracts.stages import Signal
from sluicegate.observability.passage import first
from sluicegate.rollout.exposure import Seen, failing, passing
from sluicegate.rollout.pairs import PairSight

USUAL: Final = 0.5
LATE: Final = 0.8
"""Quantiles that are told: half of the rollouts, and four of five."""
FOUND: Final = 0.8
"""A degradation counts as found from this chance on."""
_STEP: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutlook:
    """One gate's part of the error budget, and what it can tell by the stage's deadline.

    margin: of RewardShapleyVariance deltaPhi, by which a contribution may move. Units are the candidate's. needed, needed_late: until Pass, of half and of four in five candidates that equal
    stable; None: never, or modelled is False (the gate compares no units). in_time: chance of that Pass by the deadline. power, power_twice:
    chance to abort, by the deadline, a candidate that is worse by the margin and by twice the margin; abort_units,
    abort_units_twice: the median units of that. least: the smallest degradation found with a chance of 80 %. What
    depends on a deadline is None when the traffic is not declared.
    """

    name: str
    signal: Signal
    margin: float
    abort_alpha: float
    promote_alpha: float
    required: bool
    modelled: bool = False
    needed: int | None = None
    needed_late: int | None = None
    in_time: float | None = None
    power: float | None = None
    power_twice: float | None = None
    abort_units: int | None = None
    abort_units_twice: int | None = None
    least: float | None = None


def of_gate(gate: PlannedGate, sight: Seen | None, reach: float | None) -> GateOutlook:
    """reach: units of the candidate by the deadline; None: not known. sight None: the gate compares no units."""
    plain = GateOutlook(
        name=gate.name,
        signal=gate.signal,
        margin=float(gate.margin or 0),
        abort_alpha=float(gate.abort_alpha),
        promote_alpha=float(gate.promote_alpha),
        required=gate.required,
    )
    return plain if sight is None else _seen(plain, sight, reach)


def decided(found: tuple[Seen, ...]) -> Callable[[float], float]:
    """Chance, by units of the candidate, that every one has passed an equal candidate."""
    tests = [_passed(sight) for sight in found]

    def chance(units: float) -> float:
        product = 1.0
        for passed in tests:
            product *= passed(units)
        return product

    return chance


def _passed(sight: Seen) -> Callable[[float], float]:
    """Chance, by units of the candidate, that an equal candidate has passed one gate."""
    if isinstance(sight, PairSight):
        return lambda units: sight.alike(sight.values(units))
    test = passing(sight)

    def chance(units: float) -> float:
        values = sight.values(units)
        return 0.0 if values < sight.floor else test.chance(values, sight.safe_threshold) ** sight.parts

    return chance


@lru_cache(maxsize=4096)
def _seen(plain: GateOutlook, sight: Seen, reach: float | None) -> GateOutlook:
    alone = decided((sight,))
    chances = {times: _aborted(sight, times * sight.margin) for times in (1, 2)}
    return GateOutlook(
        name=plain.name,
        signal=plain.signal,
        margin=sight.margin,
        abort_alpha=plain.abort_alpha,
        promote_alpha=plain.promote_alpha,
        required=plain.required,
        modelled=True,
        needed=first(alone, USUAL),
        needed_late=first(alone, LATE),
        in_time=None if reach is None else alone(reach),
        power=None if reach is None else chances[1](reach),
        power_twice=None if reach is None else chances[2](reach),
        abort_units=first(chances[1], USUAL),
        abort_units_twice=first(chances[2], USUAL),
        least=None if reach is None else _least(sight, reach),
    )


def _aborted(sight: Seen, worse: float) -> Callable[[float], float]:
    """Chance, by units of the candidate, that a candidate worse by so much has been aborted by this gate."""
    if isinstance(sight, PairSight):
        return lambda units: sight.differs(sight.values(units), worse)
    test = failing(sight, worse)

    def chance(units: float) -> float:
        values = sight.values(units)
        return 0.0 if values < sight.floor else test.chance(values, sight.harm_threshold)

    return chance


def _least(sight: Seen, reach: float) -> float | None:
    """The smallest degradation found with a chance of 80 %; None when not even the largest is."""
    low, high = 0.0, 1.0 - sight.bad
    if _aborted(sight, high)(reach) < FOUND:
        return None
    while high - low > _STEP:
        middle = 0.5 * (low + high)
        if _aborted(sight, middle)(reach) < FOUND:
            low = middle
        else:
            high = middle
    return high
