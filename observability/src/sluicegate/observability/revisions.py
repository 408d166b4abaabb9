"""Which revisions are shown: those that answer, so that the number of series is bounded."""

from collections import OrderedDict
from typing import Final

Revision = tuple[str, str, str]
"""Namespace, workflow, revision."""

MOST: Final = 10_000
"""Both revisions of 5,000 workflows; beyond it counters would begin anew with every run."""
RETIRED_SECONDS: Final = 3600.0
"""A revision is retired when it had no run for so long while another one of its workflow had."""


class Revisions:
    """When each revision had its latest run. Times are the runs', in Unix seconds."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, str], dict[str, float]] = {}
        self._order: OrderedDict[Revision, None] = OrderedDict()

    def ran(self, key: Revision, at: float) -> list[Revision]:
        """A run of it; those that are shown no more: retired ones, and beyond MOST the least recently seen."""
        of_workflow = self._latest.setdefault(key[:2], {})
        of_workflow[key[2]] = max(at, of_workflow.get(key[2], at))
        self._order[key] = None
        self._order.move_to_end(key)
        gone = [(*key[:2], name) for name, last in of_workflow.items() if last < at - RETIRED_SECONDS]
        if len(self._order) > MOST:
            gone.append(next(iter(self._order)))
        for revision in gone:
            self.forget(revision)
        return gone

    def of(self, namespace: str, workflow: str) -> list[Revision]:
        """Those of a workflow."""
        return [(namespace, workflow, name) for name in self._latest.get((namespace, workflow), ())]

    def workflows(self) -> list[tuple[str, str]]:
        """Namespace and name of those that had runs."""
        return list(self._latest)

    def forget(self, key: Revision) -> None:
        """It is gone."""
        self._order.pop(key, None)
        names = self._latest.get(key[:2], {})
        names.pop(key[2], None)
        if not names:
            self._latest.pop(key[:2], None)
