"""Windows of cron schedules: the laws, against a scan of every minute, and across changes of the clock."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.schedules import Schedule, Window, problems

MINUTES = st.integers(0, 59).map(str) | st.sampled_from(["*", "*/15", "0,30", "10-12"])
HOURS = st.integers(0, 23).map(str) | st.sampled_from(["*", "*/6", "9-17"])
DAYS = st.integers(1, 28).map(str) | st.sampled_from(["*", "1,15", "L"])
MONTHS = st.sampled_from(["*", "2", "*/3", "MAR,OCT"])
WEEKDAYS = st.sampled_from(["*", "*", "MON", "1-5", "SUN#2"])
CRONS = st.tuples(MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS).map(" ".join)
ZONES = st.sampled_from(
    ["Etc/UTC", "Europe/Berlin", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe"]
)
SECONDS = st.integers(60, 604_800)
SCHEDULES = st.builds(
    lambda cron, zone, seconds: Schedule(cron=cron, time_zone=zone, seconds=seconds), CRONS, ZONES, SECONDS
)
TIMES = st.integers(0, 3 * 365 * 86_400_000).map(
    lambda ms: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)


@given(SCHEDULES, TIMES)
def test_windows_cover_no_moment_twice_and_the_newest_is_the_last_that_began(
    schedule: Schedule, now: datetime
) -> None:
    newest, following = schedule.newest(now), schedule.following(now)
    assert newest is not None
    assert following is not None
    assert newest.opens <= now < following
    assert schedule.following(newest.opens) == following, "nothing begins between the two"
    assert newest.opens < newest.closes <= min(following, newest.opens + timedelta(seconds=schedule.seconds))
    assert newest.closes in (following, newest.opens + timedelta(seconds=schedule.seconds))
    assert newest.holds(now) is (now < newest.closes)


@given(SCHEDULES, TIMES, st.timedeltas(timedelta(0), timedelta(days=40)))
def test_whoever_looks_while_a_window_is_open_sees_the_same_window(
    schedule: Schedule, now: datetime, later: timedelta
) -> None:
    opens = schedule.following(now)
    assert opens is not None
    window = schedule.window(opens)
    assert schedule.newest(opens) == window
    assert schedule.newest(opens - timedelta(microseconds=1)) != window
    at = min(opens + later, window.closes - timedelta(microseconds=1))
    assert schedule.newest(at) == window


@given(st.integers(0, 59), st.integers(0, 23), st.integers(1, 28), TIMES)
def test_a_monthly_schedule_is_what_a_calendar_says(minute: int, hour: int, day: int, now: datetime) -> None:
    schedule = Schedule(cron=f"{minute} {hour} {day} * *", time_zone="Etc/UTC", seconds=3600)
    months = [(year, month) for year in range(2024, 2030) for month in range(1, 13)]
    every = [datetime(year, month, day, hour, minute, tzinfo=UTC) for year, month in months]
    assert schedule.following(now) == min(at for at in every if at > now)
    assert schedule.newest(now) == Window(
        *(max(at for at in every if at <= now) + timedelta(hours=one) for one in (0, 1))
    )


def test_it_follows_the_wall_clock_of_its_zone() -> None:
    schedule, berlin = (
        Schedule(cron="30 2 * * *", time_zone="Europe/Berlin", seconds=600),
        ZoneInfo("Europe/Berlin"),
    )
    now, told = datetime(2026, 3, 27, 12, tzinfo=UTC), []
    for _ in range(3):
        now = schedule.following(now) or now
        told.append(now.astimezone(berlin).strftime("%d %H:%M %z"))
    # 02:30 is not there on 29 March 2026: the clocks go from 02:00 to 03:00.
    assert told == ["28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"]


@pytest.mark.parametrize(
    ("cron", "zone", "found"),
    [
        ("0 9 1 * *", "Asia/Shanghai", []),
        ("0 9 L * *", "UTC", []),
        ("0 9 * * * *", "Etc/UTC", ["drill.schedule: has 6 fields, a schedule has 5"]),
        ("@monthly", "Etc/UTC", ["drill.schedule: has 1 fields, a schedule has 5"]),
        ("0 25 * * *", "Etc/UTC", ["drill.schedule: is no schedule: Bad hour"]),
        ("0 0 30 2 *", "Etc/UTC", ["drill.schedule: is no schedule: Bad day-of-month"]),
        ("0 9 1 * *", "Asia/Shangai", ["drill.timeZone: is no time zone"]),
        (
            "x",
            "../etc/passwd",
            ["drill.timeZone: is no time zone", "drill.schedule: has 1 fields, a schedule has 5"],
        ),
    ],
)
def test_what_is_no_schedule_is_told_whole(cron: str, zone: str, found: list[str]) -> None:
    schedule = Schedule(cron=cron, time_zone=zone, seconds=60)
    assert [f"{one.path}: {one.message}" for one in problems(schedule, "drill")] == found
    if found:
        with pytest.raises(Refused):
            schedule.newest(datetime(2026, 1, 1, tzinfo=UTC))
