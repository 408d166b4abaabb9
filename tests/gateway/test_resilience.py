"""Retry budget, breaker: laws, with time as a parameter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.resources.workflow import CircuitBreaker
from sluicegate.gateway.resilience import budget as budgets
from sluicegate.gateway.resilience.breaker import WINDOW_SECONDS, Breaker, BreakerState
from sluicegate.gateway.resilience.budget import RetryBudget
from sluicegate.gateway.resilience.destinations import Destinations, origin

GAPS = st.floats(0, 30, allow_nan=False)


@given(st.lists(st.tuples(GAPS, st.booleans()), max_size=200), st.sampled_from([0.0, 0.1, 0.2, 1.0]))
def test_retries_never_exceed_the_budget(events: list[tuple[float, bool]], ratio: float) -> None:
    budget, now, retries = RetryBudget(), 0.0, 0
    for calls, (gap, wants_retry) in enumerate(events, start=1):
        now += gap
        budget.deposit(ratio)
        retries += wants_retry and budget.withdraw(now)
        assert retries <= budgets.START + calls * ratio + now * budgets.FLOOR_PER_SECOND + 1e-6


def test_an_outage_is_not_multiplied() -> None:
    budget = RetryBudget()
    retries = 0
    for number in range(10_000):  # one second of calls that all fail
        budget.deposit(0.1)
        retries += budget.withdraw(number / 10_000)
    assert retries <= 1000 + budgets.START + 1


def test_a_quiet_destination_may_retry_again_after_a_while() -> None:
    budget = RetryBudget()
    while budget.withdraw(0.0):
        pass
    assert not budget.withdraw(1.0)
    assert budget.withdraw(1.0 + 1.0 / budgets.FLOOR_PER_SECOND)


def test_the_floor_never_piles_up() -> None:
    budget = RetryBudget()
    budget.withdraw(0.0)
    assert sum(budget.withdraw(1e6) for _ in range(100)) == budgets.START


def _breaker(**more: float) -> Breaker:
    settings: dict[str, float] = {"failure_rate": 0.5, "min_calls": 4, "open_seconds": 10.0} | more
    return Breaker(
        failure_rate=settings["failure_rate"],
        min_calls=int(settings["min_calls"]),
        open_seconds=settings["open_seconds"],
    )


def _feed(breaker: Breaker, failures: str, now: float = 0.0) -> None:
    for mark in failures:
        breaker.record(failed=mark == "x", begun=now, now=now)


@pytest.mark.parametrize(
    ("calls", "state"),
    [
        ("xxx", BreakerState.CLOSED),  # too few
        ("xxxx", BreakerState.OPEN),
        (".x.x", BreakerState.OPEN),  # exactly the rate
        ("...x...x", BreakerState.CLOSED),
    ],
)
def test_it_opens_at_the_rate_after_the_minimum(calls: str, state: BreakerState) -> None:
    breaker = _breaker()
    _feed(breaker, calls)
    assert breaker.state is state


def test_open_lets_nothing_through_until_its_time_is_over_then_one_probe() -> None:
    breaker = _breaker()
    _feed(breaker, "xxxx")
    assert not breaker.allows(9.99)
    assert breaker.allows(10.0)
    assert not breaker.allows(10.0)


@pytest.mark.parametrize(("failed", "state"), [(False, BreakerState.CLOSED), (True, BreakerState.OPEN)])
def test_the_probe_decides(failed: bool, state: BreakerState) -> None:
    breaker = _breaker()
    _feed(breaker, "xxxx")
    breaker.allows(10.0)
    breaker.record(failed=failed, begun=10.0, now=11.0)
    assert breaker.state is state
    assert breaker.allows(11.5) == (not failed)
    assert breaker.allows(21.0)


def test_a_cancelled_probe_gives_its_place_back() -> None:
    breaker = _breaker()
    _feed(breaker, "xxxx")
    assert breaker.allows(10.0)
    breaker.release(begun=10.0)
    assert breaker.allows(10.0)


def test_old_failures_are_forgotten() -> None:
    breaker = _breaker()
    _feed(breaker, "xxx", now=0.0)
    _feed(breaker, "x", now=2 * WINDOW_SECONDS + 1)
    assert breaker.state is BreakerState.CLOSED


def test_answers_of_calls_made_before_it_opened_change_nothing() -> None:
    breaker = _breaker()
    _feed(breaker, "xxxx", now=1.0)
    for failed in (False, True):
        breaker.record(failed=failed, begun=0.5, now=5.0)
    assert breaker.state is BreakerState.OPEN
    assert breaker.allows(11.0)
    # While the probe is under way they neither decide for it nor take its place.
    for failed in (False, True):
        breaker.record(failed=failed, begun=0.5, now=12.0)
    breaker.release(begun=0.5)
    assert not breaker.allows(12.0)
    breaker.record(failed=False, begun=11.0, now=13.0)
    assert breaker.allows(13.0)


@given(st.lists(st.tuples(GAPS, st.booleans()), max_size=150))
def test_it_always_lets_a_call_through_again(events: list[tuple[float, bool]]) -> None:
    breaker, now = _breaker(), 0.0
    for gap, failed in events:
        now += gap
        if breaker.allows(now):
            breaker.record(failed=failed, begun=now, now=now)
    assert breaker.allows(now + 10.001)


@given(st.lists(st.booleans(), max_size=100))
def test_without_failures_it_never_opens(spaced: list[bool]) -> None:
    breaker, now = _breaker(failure_rate=0.0, min_calls=1), 0.0
    for gap in spaced:
        now += 11.0 if gap else 0.1
        assert breaker.allows(now)
        breaker.record(failed=False, begun=now, now=now)


def test_breakers_are_per_version_and_follow_their_settings() -> None:
    destinations = Destinations()
    one = destinations.breaker(("http://a", "planner", "1"), CircuitBreaker())
    assert destinations.breaker(("http://a", "planner", "1"), CircuitBreaker()) is one
    assert destinations.breaker(("http://a", "planner", "2"), CircuitBreaker()) is not one
    assert destinations.breaker(("http://a", "planner", "1"), CircuitBreaker(min_calls=5)) is not one


def test_budgets_are_per_origin() -> None:
    assert origin("HTTP://Host:80/a?b") == origin("http://host:80/c")
    assert origin("http://host:80/") != origin("http://host:81/")
