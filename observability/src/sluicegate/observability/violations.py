"""Kinds of contract violation that the candidate showed and stable never did."""

from collections.abc import Mapping
from typing import Any, Final

from sluicegate.contracts.evidence import ArmFacts, Observation

MOST_KINDS: Final = 64
MOST_STABLE_KINDS: Final = 256
MOST_RUNS: Final = 5
_LONGEST_KIND: Final = 200


class UnseenViolations:
    """Counts by kind, exact and bounded.

    A kind that stable (or its second copy) shows, at any time in the stage, is forgotten for good. At most 64 kinds
    are kept with up to five run ids; further ones are counted in `overflow`. When stable itself shows more
    than 256 kinds, the later ones cannot be told apart and the candidate's new kinds only count as overflow.
    """

    __slots__ = ("_counts", "_known", "_saturated", "overflow")

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._counts: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._saturated = False
        self.overflow = 0

    def add(self, observation: Observation) -> None:
        """Note the kinds of one unit; a unit counts once for a kind."""
        for kind in sorted(_kinds(observation.stable) | _kinds(observation.control)):
            self._learn(kind)
        first = observation.runs[0] if observation.runs else observation.unit
        for kind in sorted(_kinds(observation.candidate) - self._known):
            showed = (one.run for one in observation.by_run if kind in one.candidate.violations)
            self._count(kind, next(showed, first))

    def _learn(self, kind: str) -> None:
        self._counts.pop(kind, None)
        if kind in self._known:
            return
        if len(self._known) < MOST_STABLE_KINDS:
            self._known.add(kind)
        else:
            self._saturated = True

    def _count(self, kind: str, run: str) -> None:
        if kind not in self._counts and (self._saturated or len(self._counts) >= MOST_KINDS):
            self.overflow += 1
            return
        count, runs = self._counts.get(kind, (0, ()))
        self._counts[kind] = (count + 1, (*runs, run) if len(runs) < MOST_RUNS else runs)

    def shown(self) -> dict[str, tuple[int, tuple[str, ...]]]:
        """kind -> (units of the candidate that showed it, the first five run ids), by name."""
        return {kind: self._counts[kind] for kind in sorted(self._counts)}

    def to_json(self) -> dict[str, Any]:
        """State."""
        return {
            "known": sorted(self._known),
            "counts": {kind: [count, list(runs)] for kind, (count, runs) in self._counts.items()},
            "saturated": self._saturated,
            "overflow": self.overflow,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "UnseenViolations":
        """The inverse of to_json."""
        unseen = cls()
        unseen._known = set(data["known"])
        unseen._counts = {kind: (int(count), tuple(runs)) for kind, (count, runs) in data["counts"].items()}
        unseen._saturated = bool(data["saturated"])
        unseen.overflow = int(data["overflow"])
        return unseen


def _kinds(facts: ArmFacts | None) -> set[str]:
    return set() if facts is None else {kind[:_LONGEST_KIND] for kind in facts.violations}
