"""What RewardShapleyVariance gets to see in its stage, and when it would decide: before anything runs. Pure.

Assumed beside `exposure`'s: rewards are 0 or 1 with an even chance under ablation and independent in both versions, and the
contributions of one version spread as widely as they are large on average. Versions that fail on the same requests need
fewer pairs than these estimates say.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sluicegate.contracts.compiled import steps_of
from sluicegate.contracts.resources.rollout import PlannedGate, PlannedStage
from sluicegate.contracts.resources.workflow import FailureStrategy, Phase, SideEffects, WorkflowSpec
from sluicegate.observability.contributions.coalitions import probability
from sluicegate.observability.contributions.interval import LEAST_UNITS, multiplier
from sluicegate.observability.contributions.likeness import EVERY
from sluicegate.observability.contributions.outcomes import weight
from sluicegate.rollout.likeness import LEAST_PAIRS

_VARIANCE: Final = 2 * 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSight:
    """One gate's view; values are pairs in which both versions were ablated alike. What `Sight` says of other gates.

    seen: pairs per unit of the candidate. margin: deltaPhi, by which one contribution may move. spread: variance of the
    contributions of a version. variance: of the difference of both rewards under one coalition.
    """

    players: int
    delta: float
    margin: float
    abort_alpha: float
    promote_alpha: float
    seen: float
    spread: float
    variance: float = _VARIANCE
    bad: float = 0.0
    spent: int = 0

    def values(self, units: float) -> float:
        """Pairs after so many units of the candidate."""
        return units * self.seen

    def units(self, values: float) -> float:
        """The units of the candidate that give so many pairs."""
        return values / self.seen

    @property
    def least(self) -> tuple[int, int]:
        """Pairs without which it cannot fail and cannot pass, whatever happens."""
        return LEAST_UNITS, LEAST_PAIRS + EVERY

    def alike(self, pairs: float) -> float:
        """Chance that an equal candidate has passed: inside ±delta since the needed number of pairs, no contribution far."""
        before = pairs - LEAST_PAIRS
        if before < EVERY:
            return 0.0
        inside = _within(self.delta, self._spread_error, before, self.promote_alpha)
        return inside * _within(self.margin, self._error, pairs, self.promote_alpha) ** self.players

    def differs(self, pairs: float, moved: float) -> float:
        """Chance that a candidate of which one contribution has moved by so much has failed, by the look after `pairs`."""
        if pairs < LEAST_UNITS:
            return 0.0
        room = (moved - self.margin) * math.sqrt(pairs) / self._error
        return _below(room - multiplier(pairs, self.abort_alpha / 2.0 / self.players))

    @property
    def _error(self) -> float:
        """Standard deviation of the difference of one contribution, of one pair."""
        return math.sqrt(_powers(self.players)[0] * self.variance)

    @property
    def _spread_error(self) -> float:
        """The same of the variance of the contributions: 2/n·√(φᵀCΣCφ) with φᵀCφ = n·spread."""
        own, shared = _powers(self.players)
        return 2.0 * math.sqrt((own - shared) * self.variance * self.spread / self.players)


def sight(spec: WorkflowSpec, stage: PlannedStage, gate: PlannedGate, bad: float) -> PairSight | None:
    """Of a gate that can be asked; None of others, which verification refuses. bad: 1 − reward of stable."""
    players, share = _players(spec), stage.ablation_share.numerator / stage.ablation_share.denominator
    rates = tuple(
        float(rate or 0) for rate in (gate.delta, gate.delta_phi, gate.abort_alpha, gate.promote_alpha)
    )
    if not (players and share > 0.0 and stage.share.numerator and all(0.0 < rate < 1.0 for rate in rates)):
        return None
    delta, delta_phi, abort_alpha, promote_alpha = rates
    return PairSight(
        players=players,
        delta=delta,
        margin=delta_phi,
        abort_alpha=abort_alpha,
        promote_alpha=promote_alpha,
        seen=share,
        spread=((1.0 - bad) / players) ** 2,
    )


def _players(spec: WorkflowSpec) -> int:
    """Components that take part in the answer, call nothing Live, and declare a fallback."""
    steps = steps_of(spec)
    after = {step.component for step in steps if step.phase is Phase.AFTER_ANSWER}
    answering = {step.component for step in steps} - after
    return sum(
        component.name in answering
        and component.side_effects is not SideEffects.LIVE
        and component.on_failure.type is not FailureStrategy.FAIL
        for component in spec.components
    )


@lru_cache(maxsize=64)
def _powers(players: int) -> tuple[float, float]:
    """Mean over the draws of (W_i/p)², and of W_i·W_j/p² of two players: how much a reward's noise is enlarged."""
    own = shared = 0.0
    for size in range(players + 1):
        chance = probability(players, (1 << size) - 1) * math.comb(players, size)
        factor, shift = weight(players, size)
        one = size / players
        two = size * (size - 1) / (players * (players - 1)) if players > 1 else one
        own += chance * factor**2 * (one - 2.0 * shift * one + shift**2)
        shared += chance * factor**2 * (two - 2.0 * shift * one + shift**2)
    return own, shared


def _within(room: float, deviation: float, pairs: float, alpha: float) -> float:
    """Chance that the interval of a difference that is 0 lies inside ±room after so many pairs."""
    if deviation <= 0.0:
        return 1.0
    beyond = room * math.sqrt(pairs) / deviation - multiplier(pairs, alpha)
    return max(0.0, 2.0 * _below(beyond) - 1.0)


def _below(z: float) -> float:
    """Chance of a standard normal below z."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
