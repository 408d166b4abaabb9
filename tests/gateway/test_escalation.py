"""The escalation's state machine in virtual time: any interleaving of sessions, overlapping runs, clocks that jump."""

import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.resources.escalation import BusinessFallback
from sluicegate.contracts.runs import Trigger
from sluicegate.gateway.escalation import (
    OFF,
    Count,
    Decision,
    Ended,
    Settings,
    Tracks,
    Way,
    arrive,
    end,
    settings_of,
)
from sluicegate.gateway.escalation_ledger import Key, Ledger, _mapped

START = 1_800_000_000.0
NEVER = 1_000_000


def settings(**more: Any) -> Settings:
    """Three in a row, probes every five seconds, two to recover, and a window that never trips."""
    window = {"failures": NEVER} | more.pop("window", {})
    probe = {"everySeconds": 5, "successesToRecover": 2} | more.pop("probe", {})
    spec = {"ruleSet": "r", "afterConsecutiveFailures": 3, "window": window, "probe": probe} | more
    return settings_of(BusinessFallback.model_validate(spec))


@dataclass
class World:
    """Tracks of sessions, a clock, and what happened."""

    settings: Settings
    now: float = START
    version: Any = OFF
    sessions: dict[str, Any] = field(default_factory=lambda: defaultdict(lambda: OFF))
    switches: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def _step(self, session: str, tracks: Tracks) -> None:
        for name, old, new in (
            ("*", self.version, tracks.version),
            (session, self.sessions[session], tracks.session),
        ):
            if old.is_on is not new.is_on:
                self.switches[name].append(self.now)
        self.version, self.sessions[session] = tracks.version, tracks.session

    def arrive(self, session: str = "a") -> Decision:
        tracks, decision = arrive(Tracks(self.version, self.sessions[session]), self.settings, self.now)
        self._step(session, tracks)
        return decision

    def end(self, decision: Decision, *, failed: bool, session: str = "a") -> Trigger | None:
        ended = Ended(failed=failed, probe=decision.probe)
        tracks, trigger = end(Tracks(self.version, self.sessions[session]), self.settings, ended, self.now)
        self._step(session, tracks)
        return trigger

    def run(self, *, failed: bool, session: str = "a") -> tuple[Way, Trigger | None]:
        """One run, alone. The trigger: why rules answered."""
        decision = self.arrive(session)
        if decision.way is Way.DIVERT:
            return decision.way, decision.trigger
        return decision.way, self.end(decision, failed=failed, session=session)


def test_the_third_failure_in_a_row_is_answered_by_rules_in_the_same_run() -> None:
    world = World(settings())
    assert [world.run(failed=True) for _ in range(4)] == [
        (Way.RUN, None),
        (Way.RUN, None),
        (Way.RUN, Trigger.SESSION),
        (Way.DIVERT, Trigger.SESSION),
    ]


def test_a_success_begins_the_count_anew() -> None:
    world = World(settings())
    outcomes = [world.run(failed=failed)[1] for failed in (True, True, False, True, True)]
    assert outcomes == [None] * 5


def test_an_hour_of_silence_begins_the_count_anew() -> None:
    world = World(settings())
    world.run(failed=True)
    world.run(failed=True)
    world.now += 3601
    assert world.run(failed=True)[1] is None


def test_another_session_is_not_touched() -> None:
    world = World(settings())
    for _ in range(5):
        world.run(failed=True)
    assert world.run(failed=True, session="b") == (Way.RUN, None)


def test_probes_bring_the_workflow_back_and_users_of_failing_ones_get_rules() -> None:
    world = World(settings())
    for _ in range(3):
        world.run(failed=True)
    seen = []
    for failed in (True, False, True, False, False):  # the probe in the middle begins the count anew
        world.now += 5
        seen.append(world.run(failed=failed))
        assert world.run(failed=True)[0] is (Way.DIVERT if len(seen) < 5 else Way.RUN)
    assert seen == [
        (Way.PROBE, Trigger.SESSION),
        (Way.PROBE, None),
        (Way.PROBE, Trigger.SESSION),
        (Way.PROBE, None),
        (Way.PROBE, None),
    ]


def test_of_a_version_at_most_one_run_in_so_many_is_a_probe_of_a_session_each_that_is_due() -> None:
    probe = {"everySeconds": 1, "everyRuns": 4}
    for window, wanted in (
        (3, [Way.DIVERT, Way.DIVERT, Way.DIVERT, Way.PROBE] * 3),
        (NEVER, [Way.PROBE] * 12),
    ):
        world = World(settings(probe=probe, window={"failures": window, "failureRate": "0"}))
        for _ in range(3):
            world.run(failed=True)
        ways = []
        for _ in range(12):
            world.now += 1
            ways.append(world.run(failed=True)[0])
        assert ways == wanted


@pytest.mark.parametrize("every", [5, 7200])
@pytest.mark.parametrize("window", [3, NEVER])
def test_what_was_silent_for_an_hour_is_off(every: int, window: int) -> None:
    world = World(settings(probe={"everySeconds": every}, window={"failures": window, "failureRate": "0"}))
    for _ in range(3):
        world.run(failed=True)
    world.now += 3599 + every
    assert world.run(failed=True)[0] is Way.PROBE
    world.now += 3601 + every
    assert world.run(failed=True) == (Way.RUN, None)


def test_a_worker_whose_clock_was_read_earlier_makes_no_second_probe() -> None:
    world = World(settings())
    for _ in range(3):
        world.run(failed=True)
    world.now += 5
    assert world.run(failed=True)[0] is Way.PROBE
    world.now -= 0.003
    assert world.run(failed=True)[0] is Way.DIVERT


def test_a_worker_that_is_late_keeps_the_failures_of_the_next_part() -> None:
    made = settings(window={"seconds": 10, "failures": 2, "failureRate": "0"})
    slot = made.slot(START)
    tracks, _ = end(Tracks(), made, Ended(failed=True), START)
    after, trigger = end(tracks, made, Ended(failed=False), START - 0.003)
    assert after.version.counts == (Count(slot - 1, 0, 1), Count(slot, 1, 1))
    assert trigger is None
    assert end(after, made, Ended(failed=True), START)[1] is Trigger.WORKFLOW


def test_the_window_trips_for_everybody_and_needs_both_its_numbers() -> None:
    world = World(settings(window={"seconds": 10, "failures": 4, "failureRate": "0.5"}))
    for failed, number in ((True, 1), (False, 5), (True, 3)):  # 4 of 9: enough failures, too small a share
        for one in range(number):
            assert world.run(failed=failed, session=f"{failed}{number}{one}") == (Way.RUN, None)
    assert world.run(failed=True, session="last") == (Way.RUN, Trigger.WORKFLOW)  # 5 of 10
    assert world.run(failed=True, session="anybody") == (Way.DIVERT, Trigger.WORKFLOW)


def test_the_window_forgets() -> None:
    world = World(settings(window={"seconds": 10, "failures": 4, "failureRate": "0"}))
    for number in range(3):
        world.run(failed=True, session=f"bad{number}")
    world.now += 11
    assert world.run(failed=True, session="late") == (Way.RUN, None)


def test_a_run_that_began_before_the_switch_neither_ends_it_nor_delays_the_way_back() -> None:
    world = World(settings())
    early = [world.arrive() for _ in range(5)]
    triggers = [world.end(decision, failed=True) for decision in early[:4]]
    assert triggers == [None, None, Trigger.SESSION, Trigger.SESSION]
    before = world.sessions["a"]
    assert world.end(early[4], failed=False) is None
    assert world.sessions["a"] == before


def test_a_probe_of_an_earlier_period_says_nothing_of_this_one() -> None:
    world = World(settings(probe={"successesToRecover": 1}))
    for _ in range(3):
        world.run(failed=True)
    world.now += 5
    old = world.arrive()
    world.now += 5
    world.run(failed=False)  # a second probe ends the period
    for _ in range(3):
        world.run(failed=True)
    assert world.sessions["a"].is_on
    world.end(old, failed=False)
    assert world.sessions["a"].is_on


def test_a_clock_that_was_set_back_makes_a_probe_due() -> None:
    world = World(settings())
    for _ in range(3):
        world.run(failed=True)
    world.now -= 86_400
    assert [world.run(failed=True)[0] for _ in range(2)] == [Way.PROBE, Way.DIVERT]


SESSIONS = st.sampled_from("abcd")
OPS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), SESSIONS),
        st.tuples(st.just("end"), st.integers(0, 7), st.booleans()),
        st.tuples(st.just("wait"), st.sampled_from((0.1, 1.0, 4.9, 5.0, 60.0))),
    ),
    max_size=120,
)


def play(world: World, ops: list[Any], only: str | None = None) -> list[Any]:
    """Carry out `ops`, of one session when `only` is given; what each run came to."""
    flying: list[tuple[str, Decision | None]] = []
    told: list[Any] = []
    for op, *args in ops:
        if op == "wait":
            world.now += args[0]
        elif op == "start":
            decision = world.arrive(args[0]) if only in (None, args[0]) else None
            if decision is not None and decision.way is Way.DIVERT:
                told.append((args[0], world.now, Way.DIVERT, decision.trigger))
                flying.append((args[0], None))
            else:
                flying.append((args[0], decision))
        elif flying:
            session, decision = flying.pop(args[0] % len(flying))
            if decision is not None:
                trigger = world.end(decision, failed=args[1], session=session)
                told.append((session, world.now, decision.way, args[1], trigger))
    return told


@given(OPS)
def test_sessions_do_not_depend_on_how_they_are_interleaved(ops: list[Any]) -> None:
    together = play(World(settings()), ops)
    for session in "abcd":
        alone = play(World(settings()), ops, only=session)
        assert [item for item in together if item[0] == session] == alone


@given(OPS, st.integers(1, 4), st.integers(1, 3), st.sampled_from((2, NEVER)))
def test_it_switches_at_the_right_failure_never_early_and_never_flaps(
    ops: list[Any], in_a_row: int, recover: int, window: int
) -> None:
    """An independent count beside the machine: failures in a row of ended runs while off, good probes in a row while on."""
    made = settings(
        afterConsecutiveFailures=in_a_row,
        probe={"everySeconds": 5, "successesToRecover": recover},
        window={"failures": window, "seconds": 60, "failureRate": "0.5"},
    )
    world = World(made)
    told = play(world, ops)
    for item in told:
        if item[2] is Way.DIVERT:
            assert item[3] is not None  # always with a reason
        elif not item[3]:
            assert item[4] is None  # a success is never answered by rules
    shortest = recover * 5.0
    for times in world.switches.values():
        on = list(zip(times[::2], times[1::2], strict=False))
        assert all(end_ - start >= shortest - 1e-6 for start, end_ in on)
        assert len(times) <= 2 * ((world.now - START) / shortest + 1)


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from((0.0, 1.0, 5.0))), max_size=80),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_one_session_follows_a_count_by_hand(
    runs: list[tuple[bool, float]], in_a_row: int, recover: int
) -> None:
    world = World(
        settings(afterConsecutiveFailures=in_a_row, probe={"everySeconds": 5, "successesToRecover": recover})
    )
    row = good = 0
    on, probed = False, 0.0
    for failed, wait in runs:
        world.now += wait
        way, trigger = world.run(failed=failed)
        if on and world.now - probed < 5:
            assert (way, trigger) == (Way.DIVERT, Trigger.SESSION)
        elif on:
            probed = world.now
            good = 0 if failed else good + 1
            assert (way, trigger) == (Way.PROBE, Trigger.SESSION if failed else None)
            if good >= recover:
                on, row = False, 0
        else:
            row = row + 1 if failed else 0
            switched = row >= in_a_row
            assert (way, trigger) == (Way.RUN, Trigger.SESSION if switched else None)
            if switched:
                on, good, probed = True, 0, world.now


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from((0.0, 0.5, 1.0, 3.0, 11.0))), max_size=60),
    st.integers(1, 5),
    st.sampled_from(("0", "0.3", "1")),
)
def test_the_window_counts_what_ended_in_its_parts(
    runs: list[tuple[bool, float]], failures: int, rate: str
) -> None:
    """By hand: parts of 1 s, of which the last ten count; runs before the first failure of the window are not asked for."""
    window = {"seconds": 10, "failures": failures, "failureRate": rate}
    world = World(settings(window=window, afterConsecutiveFailures=1000))
    ended: list[tuple[int, bool]] = []
    for number, (failed, wait) in enumerate(runs):
        world.now += wait
        now = int(world.now)
        _, trigger = world.run(failed=failed, session=str(number))
        ended.append((now, failed))
        ended = [one for one in ended if one[0] > now - 10]
        bad = sum(one[1] for one in ended)
        if not bad:
            ended = []
        assert (trigger is not None) is (failed and bad >= failures and bad >= float(rate) * len(ended))
        if trigger is not None:
            return


def test_successes_that_were_told_late_count_where_they_happened() -> None:
    made = settings(window={"seconds": 10, "failures": 2, "failureRate": "0.5"})
    slot = made.slot(START)
    tracks, _ = end(
        Tracks(), made, Ended(failed=True, others=(Count(slot, 0, 3), Count(slot - 10, 0, 9))), START
    )
    assert tracks.version.counts == (Count(slot, 1, 4),)


# --- the ledger -------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Any) -> Any:
    return tmp_path / "escalation.db"


def ran(
    ledger: Ledger, *, failed: bool, session: str = "a", now: float = START, made: Settings | None = None
) -> Any:
    """As `World.run`."""
    made = made or settings()
    key = Key("shop/bot/bot-1", session)
    decision = ledger.arrive(key, made, now)
    if decision.way is Way.DIVERT:
        return Way.DIVERT, decision.trigger
    return decision.way, ledger.end(key, made, Ended(failed=failed, probe=decision.probe), now)


def test_workers_share_their_counts_and_a_new_one_finds_them(path: Any) -> None:
    one, two = Ledger(path), Ledger(path)
    assert ran(one, failed=True) == (Way.RUN, None)
    assert ran(two, failed=True) == (Way.RUN, None)
    one.close()
    three = Ledger(path)
    assert ran(three, failed=True) == (Way.RUN, Trigger.SESSION)
    assert ran(two, failed=True) == (Way.DIVERT, Trigger.SESSION)
    assert ran(two, failed=False, now=START + 5)[0] is Way.PROBE
    assert ran(three, failed=False, now=START + 6)[0] is Way.DIVERT
    assert ran(three, failed=False, now=START + 10)[0] is Way.PROBE
    assert ran(two, failed=False, now=START + 10) == (Way.RUN, None)
    two.close()
    three.close()


def test_nothing_is_written_while_nothing_fails(path: Any) -> None:
    ledger = Ledger(path)
    ran(ledger, failed=False)
    before = {item.name: item.read_bytes() for item in path.parent.iterdir()}
    for number in range(100):
        ran(ledger, failed=False, session=str(number), now=START + number)
    assert {item.name: item.read_bytes() for item in path.parent.iterdir()} == before
    ledger.close()


def test_what_succeeded_before_counts_against_a_window(path: Any) -> None:
    made = settings(window={"seconds": 60, "failures": 2, "failureRate": "0.5"})
    ledger = Ledger(path)
    for number in range(3):
        ran(ledger, failed=False, session=f"good{number}", made=made)
    assert ran(ledger, failed=True, session="b", made=made) == (Way.RUN, None)
    assert ran(ledger, failed=True, session="c", made=made) == (Way.RUN, None)  # 2 of 5
    assert ran(ledger, failed=True, session="d", made=made) == (Way.RUN, Trigger.WORKFLOW)  # 3 of 6
    ledger.close()


def test_a_damaged_file_is_set_aside_and_a_worker_counts_on(path: Any) -> None:
    path.write_bytes(b"this is no database, and long enough to be one" * 100)
    ledger = Ledger(path)
    outcomes = [ran(ledger, failed=True)[1] for _ in range(3)]
    assert outcomes[-1] is Trigger.SESSION or ran(ledger, failed=True)[1] is Trigger.SESSION
    assert path.with_name("escalation.db.broken").exists()
    ledger.close()


def test_a_worker_that_cannot_share_counts_for_itself(tmp_path: Any) -> None:
    ledger = Ledger(tmp_path / "no" / "such" / "folder.db")
    assert [ran(ledger, failed=True)[1] for _ in range(3)] == [None, None, Trigger.SESSION]
    ledger.close()


def test_the_oldest_sessions_are_forgotten(path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sluicegate.gateway import escalation_ledger

    monkeypatch.setattr(escalation_ledger, "MOST_TRACKS", 8)
    monkeypatch.setattr(escalation_ledger, "_PRUNE_EVERY", 8)
    ledger = Ledger(path)
    for number in range(50):
        ran(ledger, failed=True, session=str(number), now=START + number)
    connection = ledger._open()
    assert connection.execute("SELECT COUNT(*) FROM tracks").fetchone()[0] <= 8 + 8
    assert len(ledger._held) <= 8
    assert [ran(ledger, failed=True, session="49", now=START + 60)[1] for _ in range(2)] == [
        None,
        Trigger.SESSION,
    ]
    ledger.close()


def test_a_file_that_reads_but_takes_nothing_leaves_a_worker_with_what_it_counted(path: Any) -> None:
    ledger = Ledger(path)
    for _ in range(3):
        ran(ledger, failed=True)
    other = sqlite3.connect(path)
    with other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON tracks BEGIN SELECT RAISE(ABORT, 'full'); END")
    ways = [ran(ledger, failed=False, now=START + wait)[0] for wait in (5, 6.5, 8, 10, 12)]
    assert ways == [Way.PROBE, Way.DIVERT, Way.DIVERT, Way.PROBE, Way.RUN]
    for number in range(3):
        assert ran(ledger, failed=True, session="b", now=START + 20 + 2 * number)[0] is Way.RUN
    assert ran(ledger, failed=True, session="b", now=START + 28) == (Way.DIVERT, Trigger.SESSION)
    with other:
        other.execute("DROP TRIGGER full")
    other.close()
    assert ran(ledger, failed=True, now=START + 40) == (Way.RUN, None)
    assert ran(ledger, failed=True, session="b", now=START + 40)[0] is Way.PROBE
    following = Ledger(path)
    assert ran(following, failed=True, session="b", now=START + 41) == (Way.DIVERT, Trigger.SESSION)
    outcomes = [ran(following, failed=True, now=START + 41)[1] for _ in range(2)]
    assert outcomes == [None, Trigger.SESSION]  # the second and the third
    ledger.close()
    following.close()


def test_a_writer_that_was_stopped_is_waited_for_once_a_second(
    path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(path)
    ran(ledger, failed=False)
    connection, tried = ledger._connection, list[int]()
    transact = ledger._transact

    def counted(*args: Any) -> Any:
        tried.append(1)
        return transact(*args)

    monkeypatch.setattr(ledger, "_transact", counted)
    stopped = sqlite3.connect(path, isolation_level=None)
    stopped.execute("BEGIN IMMEDIATE")
    assert [ran(ledger, failed=True)[1] for _ in range(3)] == [None, None, Trigger.SESSION]
    assert len(tried) == 1
    assert ran(ledger, failed=True, now=START + 1) == (Way.DIVERT, Trigger.SESSION)
    assert ran(ledger, failed=True, now=START + 6)[0] is Way.PROBE
    assert len(tried) == 2
    assert ledger._connection is connection
    stopped.execute("ROLLBACK")
    stopped.close()
    ran(ledger, failed=True, now=START - 86_400)  # the clock was set back: no day is waited
    assert len(tried) > 2
    assert not ledger._is_alone
    ledger.close()


def test_a_file_that_cannot_be_read_is_not_tried_at_each_run(
    path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = Ledger(path), Ledger(path)
    ran(one, failed=False)
    ran(two, failed=True)
    tried = []

    def fail() -> Any:
        tried.append(1)
        raise OSError("too many open files")

    monkeypatch.setattr(one, "_open", fail)
    for _ in range(5):
        ran(one, failed=False, session="b")
    assert len(tried) == 1
    one.close()
    two.close()


def test_the_new_file_of_another_worker_is_not_set_aside(path: Any) -> None:
    one = Ledger(path)
    ran(one, failed=True)
    path.rename(path.with_name("elsewhere.db"))
    two = Ledger(path)
    ran(two, failed=True)
    damaged = sqlite3.DatabaseError("file is not a database")
    damaged.sqlite_errorcode = sqlite3.SQLITE_NOTADB
    one._give_up(damaged, START)
    assert path.exists()
    assert not path.with_name("escalation.db.broken").exists()
    assert ran(one, failed=True, now=START + 2) == (Way.RUN, None)
    assert ran(two, failed=True, now=START + 2) == (Way.RUN, Trigger.SESSION)
    one.close()
    two.close()


def test_the_shared_bytes_are_there_before_the_disk_is_full(tmp_path: Any) -> None:
    path = tmp_path / "escalation.signal"
    _mapped(path).close()
    assert (path.stat().st_size, path.stat().st_blocks > 0) == (8, True)
