"""Cron schedules as windows of time; the one module that imports cronsim. No clock: time is a parameter.

A window begins at each scheduled time and ends `seconds` later, or when the next one begins. Windows of one schedule never
overlap, and every process that knows the schedule knows the same windows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.suggestions import did_you_mean

UTC_NAMES: Final = frozenset({"UTC", "Etc/UTC"})
"""Known without a tz database."""
_FIELDS: Final = 5
_A_MOMENT: Final = timedelta(microseconds=1)
_ANY_TIME: Final = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Window:
    """[opens, closes), aware UTC."""

    opens: datetime
    closes: datetime

    def holds(self, at: datetime) -> bool:
        """Whether `at` lies in it."""
        return self.opens <= at < self.closes


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """cron: five fields. time_zone: by its name in the tz database. seconds: of a window, at most."""

    cron: str
    time_zone: str
    seconds: int

    def newest(self, now: datetime) -> Window | None:
        """The window that began last, at `now` at the latest. Raises Refused for a schedule that is none."""
        opens = next(_ticks(self, now.replace(microsecond=0) + _A_MOMENT, reverse=True), None)
        return None if opens is None else self.window(opens)

    def following(self, now: datetime) -> datetime | None:
        """When the next window begins, after `now`; None: within 50 years never again. Raises Refused."""
        return next(_ticks(self, now), None)

    def window(self, opens: datetime) -> Window:
        """The window that begins at `opens`. Raises Refused."""
        closes, following = opens + timedelta(seconds=self.seconds), self.following(opens)
        return Window(opens, closes if following is None else min(closes, following))


def problems(schedule: Schedule, path: str) -> Iterator[Problem]:
    """What is wrong with the fields `schedule` and `timeZone` below `path`."""
    if schedule.time_zone not in UTC_NAMES and _zone(schedule.time_zone) is None:
        yield Problem(
            path=f"{path}.timeZone",
            message="is no time zone",
            value=schedule.time_zone,
            allowed="a name of the tz database, such as Etc/UTC or Asia/Shanghai",
            hint=did_you_mean(schedule.time_zone, available_timezones()),
        )
    broken = _broken(schedule.cron)
    if broken is not None:
        yield Problem(
            path=f"{path}.schedule",
            message=broken,
            value=schedule.cron,
            allowed="five fields: minute, hour, day of month, month, day of week",
            hint='"0 9 1 * *" is 09:00 on the first of each month',
        )


@lru_cache(maxsize=1024)
def _broken(cron: str) -> str | None:
    if len(cron.split()) != _FIELDS:
        return f"has {len(cron.split())} fields, a schedule has {_FIELDS}"
    try:
        never = next(CronSim(cron, _ANY_TIME), None) is None
    except CronSimError as error:
        return f"is no schedule: {error}"
    return "never comes" if never else None


@lru_cache(maxsize=1024)
def _zone(name: str) -> tzinfo | None:
    if name in UTC_NAMES:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError
        return None


def _ticks(schedule: Schedule, start: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    """Scheduled times beyond `start`, as aware UTC."""
    wrong = tuple(problems(schedule, "drill"))
    zone = _zone(schedule.time_zone)
    if wrong or zone is None:
        raise Refused(wrong)
    for tick in CronSim(schedule.cron, start.astimezone(zone), reverse):
        yield tick.astimezone(UTC)
