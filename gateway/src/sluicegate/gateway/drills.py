"""Which runs are rehearsed: of an open drill a share, by a hash of the run's id."""

from datetime import datetime, timedelta
from typing import Final

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.routes import DrillBody, RoutePlan, place_of
from sluicegate.contracts.schedules import Window, problems

_FOR_EVER: Final = timedelta(days=36_500)


class Drills:
    """Those of one plan. What the schedule says is looked up once for each drill. Raises Refused for a schedule that is none here."""

    def __init__(self, plan: RoutePlan, body: DrillBody) -> None:
        wrong = tuple(problems(body.schedule, "drill"))
        if wrong:
            raise Refused(wrong)
        self.body = body
        self._name = f"{plan.namespace}/{plan.workflow}"
        self._known: Window | None = None
        """From when to when `_open` and `_salt` hold."""
        self._open: Window | None = None
        self._salt = ""

    def takes(self, run_id: str, at: datetime) -> bool:
        """Whether this run, which begins at `at`, is rehearsed. Each drill takes other runs."""
        if self._known is None or not self._known.holds(at):
            self._look(at)
        return (
            self._open is not None
            and self._open.holds(at)
            and self.body.share.holds(place_of(self._salt, run_id))
        )

    def _look(self, at: datetime) -> None:
        schedule = self.body.schedule
        self._open = schedule.newest(at)
        since = at if self._open is None else self._open.opens
        self._known = Window(since, schedule.following(at) or at + _FOR_EVER)
        self._salt = f"{self._name}/drill/{since.isoformat()}/"


def drills_of(plan: RoutePlan) -> tuple[Drills | None, str | None]:
    """The plan's, if it has any; and why they cannot be followed. Runs go on all the same."""
    if plan.drill is None:
        return None, None
    try:
        return Drills(plan, plan.drill), None
    except Refused as refused:
        return None, str(refused)
