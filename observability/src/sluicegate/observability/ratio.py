"""Whether the arms receive their declared shares: counts by the time of choice, and an e-process over them.

What is counted is when an arm was *chosen*, not when its unit closed: arms may close their units at different speeds (a
candidate that fails closes at once, a reward that comes late keeps its unit open), which is no fault of the routing. The
reader leaves out what was chosen so recently that units of one arm may still be on their way.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sluicegate.contracts.evidence import Observation, RoutingCounts, RoutingSpan
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage

CONCENTRATION: Final = 100.0
"""Weight of the mixture's prior about the declared shares, in units. Measured over 2 to 3,000: 30 to 100 needs the fewest units
to see five points, and hardly more than the others to see one (observability/README.md)."""

MOST_SPANS: Final = 64
FIRST_SPAN_SECONDS: Final = 60


def mixture_log_e(counts: Sequence[int], shares: Sequence[float], prior: Sequence[float]) -> float:
    """Log e-value against "unit by unit, an arm is chosen with its share": Dirichlet(prior) mixture of multinomials.

    ln B(prior + counts) - ln B(prior) - sum_i counts_i ln shares_i, B the multivariate beta function: Lindon & Malek, NeurIPS
    2022 (arXiv 2011.03567). A function of the counts alone, so that they merge in any order. An arm of share 0 must never be
    seen: infinity when it was. Raises ValueError unless the three have one length, shares sum to 1 and counts are at least 0.
    """
    if not len(counts) == len(shares) == len(prior) or min(counts) < 0 or min(shares) < 0.0:
        raise ValueError(
            f"need counts and shares of one length and >= 0, got {counts!r}, {shares!r}, {prior!r}"
        )
    if not math.isclose(math.fsum(shares), 1.0, abs_tol=1e-9):
        raise ValueError(f"shares sum to {math.fsum(shares)!r}; allowed: 1")
    if any(count and not share for count, share in zip(counts, shares, strict=True)):
        return math.inf
    open_ = [(n, share, a) for n, share, a in zip(counts, shares, prior, strict=True) if share > 0.0]
    after, before = [a + n for n, _, a in open_], [a for _, _, a in open_]
    seen = math.fsum(n * math.log(share) for n, share, _ in open_)
    return _log_beta(after) - _log_beta(before) - seen


def share_log_e(chosen: int, others: int, share: float, unknown: int = 0) -> float:
    """Log e-value against "a unit is chosen with probability `share`"; the prior is CONCENTRATION units at the share.

    unknown: units of which nobody knows what they were chosen for. They may be either, so they are given to the side that
    fits best: the value is a lower bound of the one that would be known, and holds its error rate.
    """
    if unknown:
        fitting = round(share * (chosen + others + unknown)) - chosen
        chosen += (mine := min(max(fitting, 0), unknown))
        others += unknown - mine
    prior = (CONCENTRATION * share, CONCENTRATION * (1.0 - share))
    return mixture_log_e((chosen, others), (share, 1.0 - share), prior)


def _log_beta(values: Sequence[float]) -> float:
    return math.fsum(map(math.lgamma, values)) - math.lgamma(math.fsum(values))


def chosen_at(run: str) -> int | None:
    """Unix seconds at which a run began and its arm was chosen, of a UUID version 7 (RFC 9562); None for other ids."""
    if len(run) != 36 or run[14] != "7" or run[8] != "-":
        return None
    try:
        return int(run[:8] + run[9:13], 16) // 1000
    except ValueError:
        return None


class Choices:
    """Units per arm and time of choice. The state depends on the units alone, not on their order, and is at most MOST_SPANS
    spans: they grow to twice their length when there would be more.

    In mirrored stages the units that were not chosen for a mirror are not observed, so what is counted is the second copy of
    stable: chosen are pairs with it, others are pairs without. In split stages chosen is the candidate, others is stable.
    """

    __slots__ = ("_mirrored", "_sessions", "_spans", "_until", "_width")

    def __init__(self, stage: Stage) -> None:
        self._mirrored = stage in MIRRORED_STAGES
        self._width = FIRST_SPAN_SECONDS
        self._spans: dict[int, list[int]] = {}
        self._until: datetime | None = None
        self._sessions = False

    def add(self, observation: Observation) -> None:
        """Count one unit; without a time of choice it is not counted."""
        self._until = max(self._until or observation.at, observation.at)
        at = chosen_at(observation.runs[0]) if observation.runs else None
        place = self._place(observation)
        if at is None or place is None:
            return
        self._sessions = self._sessions or observation.unit not in observation.runs
        self._spans.setdefault(at // self._width, [0, 0, 0])[place] += 1
        while len(self._spans) > MOST_SPANS:
            self._double()

    def _place(self, observation: Observation) -> int | None:
        """0: chosen, 1: others, 2: nobody knows."""
        if self._mirrored:
            if observation.candidate is None:
                return 2 if observation.dropped else None
            return 1 if observation.control is None else 0
        arms = (observation.candidate is not None, observation.stable is not None)
        return {(True, False): 0, (False, True): 1, (True, True): 2}.get(arms)

    def _double(self) -> None:
        self._width *= 2
        spans: dict[int, list[int]] = {}
        for span, counts in self._spans.items():
            mine = spans.setdefault(span // 2, [0, 0, 0])
            mine[:] = [a + b for a, b in zip(mine, counts, strict=True)]
        self._spans = spans

    def evidence(self) -> RoutingCounts:
        """What a reader needs."""
        return RoutingCounts(
            spans=tuple(
                RoutingSpan((span + 1) * self._width, *self._spans[span]) for span in sorted(self._spans)
            ),
            until=self._until,
            sessions=self._sessions,
        )

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "width": self._width,
            "spans": [[span, *self._spans[span]] for span in sorted(self._spans)],
            "until": None if self._until is None else self._until.astimezone(UTC).isoformat(),
            "sessions": self._sessions,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], stage: Stage) -> "Choices":
        """The inverse of to_json, for the same stage."""
        choices = cls(stage)
        choices._width = int(data["width"])
        choices._spans = {int(span): [int(n) for n in counts] for span, *counts in data["spans"]}
        choices._until = None if data["until"] is None else datetime.fromisoformat(data["until"])
        choices._sessions = bool(data["sessions"])
        return choices
