"""Sessions in order of arrival, what each says of a promise, and when a promise is decided."""

import itertools
import math
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from sluicegate.console.demo import files as demo_files
from sluicegate.console.files import only_workflow
from sluicegate.console.loading import codes
from sluicegate.console.loading.asked import SlaOptions, ask
from sluicegate.console.loading.judging import LEAST_UNITS, SequentialJudge, least_to_pass
from sluicegate.console.loading.ledger import Ledger, Run
from sluicegate.console.loading.measuring import Measured
from sluicegate.console.loading.plan import Arrival, Arrivals, Script, arrivals
from sluicegate.console.loading.result import diagnostics, judged
from sluicegate.console.loading.target import Meaning, Reply
from sluicegate.contracts.sla import Bad, Measure, Promise, Unit
from sluicegate.contracts.stages import Verdict
from sluicegate.observability.sequential import FRACTIONS, stake_weights
from tests.console.loading.server import plan, scripts, target

LATENCY = Promise(measure=Measure.LATENCY, field="maxLatencyMs", most=Decimal("0.05"), latency_ms=100)
SUCCESS = Promise(measure=Measure.SUCCESS, field="minSuccessRate", most=Decimal("0.01"))
FALLBACK = Promise(measure=Measure.FALLBACK, field="maxFallbackRate", most=Decimal("0.1"))
ALL = (LATENCY, SUCCESS, FALLBACK)


def unit(latency: float = 0.0, success: float = 0.0, fallback: float = 0.0) -> Unit:
    values = {Measure.LATENCY: latency, Measure.SUCCESS: success, Measure.FALLBACK: fallback}
    return {measure: Bad(value, value) for measure, value in values.items()}


def run(
    due: float, took: float, *, fault: str | None = None, fell: bool | None = False, late: float = 0.0
) -> Run:
    meaning = Meaning(fault=fault, fell_back=fell)
    return Run(due=due, sent=due + late, ended=due + late + took, stalled=0.0, meaning=meaning)


class Kept:
    """A judge that keeps what it is told."""

    def __init__(self) -> None:
        self.units: list[Unit] = []

    def add(self, unit: Unit) -> None:
        self.units.append(unit)

    def is_decided(self) -> bool:
        return False

    def findings(self) -> tuple[()]:
        return ()


def expecting(*runs_of_each: int, warm_up: int = 0) -> tuple[Ledger, Kept]:
    judge = Kept()
    ledger = Ledger(ALL, judge, tolerance=0.1, timeout=2.0)
    for number, size in enumerate(runs_of_each):
        script = Script(inputs=(0,) * size)
        ledger.expect(Arrival(number=number, at=float(number), script=script, is_warm_up=number < warm_up))
    return ledger, judge


def test_a_quick_session_waits_for_the_one_that_came_before_it() -> None:
    ledger, judge = expecting(1, 1, 1)
    ledger.add(2, run(2.0, 0.01))
    ledger.add(1, run(1.0, 0.01))
    assert judge.units == []
    ledger.add(0, run(0.0, 5.0))
    assert [one[Measure.LATENCY] for one in judge.units] == [Bad(1.0, 1.0), Bad(0.0, 0.0), Bad(0.0, 0.0)]


def test_a_session_is_one_unit_with_the_share_of_its_bad_runs() -> None:
    ledger, judge = expecting(4)
    for number in range(4):
        ledger.add(
            0, run(number, 0.2 if number == 0 else 0.01, fault="x" if number < 2 else None, fell=number == 3)
        )
    assert judge.units == [unit(latency=0.25, success=0.5, fallback=0.25)]
    assert (ledger.counts.sessions, ledger.counts.runs, ledger.counts.succeeded) == (1, 4, 2)


@pytest.mark.parametrize(
    ("what", "one", "expected"),
    [
        ("sent late, quick by itself: slow at most, not at least", run(0.0, 0.05, late=0.07), (0.0, 1.0)),
        ("slow by itself", run(0.0, 0.11), (1.0, 1.0)),
        ("exactly the promise keeps it", run(0.0, 0.1), (0.0, 0.0)),
        (
            "the generator stood still for most of it",
            Run(due=0.0, sent=0.0, ended=0.5, stalled=0.45, meaning=Meaning(fault=None, fell_back=False)),
            (0.0, 1.0),
        ),
    ],
)
def test_what_the_generator_is_to_blame_for_breaks_no_promise_and_keeps_none(
    what: str, one: Run, expected: tuple[float, float]
) -> None:
    ledger, judge = expecting(1)
    ledger.add(0, one)
    assert judge.units[0][LATENCY.measure] == Bad(*expected), what


@pytest.mark.parametrize(
    ("what", "ended", "stalled", "timed_out", "expected"),
    [
        ("the generator stood still for most of the time out", 2.01, 1.5, True, (0.0, 1.0)),
        ("it stood still, and the service had all of its time all the same", 2.2, 0.1, True, (1.0, 1.0)),
        ("the service was late by itself", 2.01, 0.0, True, (1.0, 1.0)),
        ("the system of the generator gave up earlier", 1.0, 0.0, True, (1.0, 1.0)),
        ("another fault", 1.0, 0.9, False, (1.0, 1.0)),
    ],
)
def test_a_time_out_that_the_generator_is_to_blame_for_is_no_fault_and_no_success(
    what: str, ended: float, stalled: float, timed_out: bool, expected: tuple[float, float]
) -> None:
    ledger, judge = expecting(1)
    meaning = Meaning(fault="Timeout: 2 seconds", fell_back=True, timed_out=timed_out)
    ledger.add(0, Run(due=0.0, sent=0.0, ended=ended, stalled=stalled, meaning=meaning))
    assert judge.units[0][Measure.SUCCESS] == judge.units[0][Measure.FALLBACK] == Bad(*expected), what


def test_a_reply_says_whether_the_generator_waited_no_longer() -> None:
    replies = [
        Reply(status=0, error="Timeout"),
        Reply(status=0, error="Unavailable"),
        Reply(status=504, body="{}"),
    ]
    assert [target("http://127.0.0.1:9/").meaning(reply).timed_out for reply in replies] == [
        True,
        False,
        False,
    ]


def test_what_was_not_sent_or_cannot_be_told_may_have_been_anything() -> None:
    ledger, judge = expecting(1, 1)
    ledger.unsent(0)
    ledger.add(1, run(1.0, 0.01, fell=None))
    assert judge.units[0] == dict.fromkeys(
        (Measure.LATENCY, Measure.SUCCESS, Measure.FALLBACK), Bad(0.0, 1.0)
    )
    assert judge.units[1][Measure.FALLBACK] == Bad(0.0, 1.0)
    assert (ledger.counts.unsent, ledger.counts.kept_up) == (1, False)


def test_the_warm_up_says_nothing_and_what_is_cut_off_is_counted() -> None:
    ledger, judge = expecting(1, 1, 2, 1, warm_up=1)
    ledger.add(0, run(0.0, 9.0, fault="cold"))
    ledger.add(1, run(1.0, 0.01))
    ledger.add(2, run(2.0, 0.01))  # its second run never comes
    ledger.add(3, run(3.0, 0.01))  # and so nobody knows of a later one whether it came first
    ledger.close()
    assert judge.units == [unit()]
    assert (ledger.counts.warm_up, ledger.counts.unfinished, sum(ledger.counts.faults.values())) == (1, 2, 0)


def test_without_a_bad_run_success_passes_when_the_capital_says_so() -> None:
    """sum w_k (1 + f_k 0.01 / 0.99)^n / sum w_k >= 3 / 0.05, written out; the rule of three alone would be content with 300."""
    weights = stake_weights(1 / 0.99)

    def capital(n: int) -> float:
        return sum(w * (1 + f * 0.01 / 0.99) ** n for w, f in zip(weights, FRACTIONS, strict=True)) / sum(
            weights
        )

    first = next(n for n in range(1, 2000) if capital(n) >= 60)
    judge = SequentialJudge(ALL, 0.05)
    for _ in range(first - 1):
        judge.add(unit())
    assert [one.verdict for one in judge.findings()] == ["Pass", "Inconclusive", "Pass"]
    assert judge.findings()[1].more == pytest.approx(1, abs=200)
    judge.add(unit())
    found = judge.findings()[1]
    assert (found.verdict, found.decided_at, found.rate, found.low) == (Verdict.PASS, first, 0.0, 0.0)
    assert found.high <= 0.01
    assert first == least_to_pass((SUCCESS,), 0.05 / 3) == least_to_pass(ALL, 0.05) > 300


def test_nothing_is_decided_on_a_first_bad_moment() -> None:
    judge = SequentialJudge(ALL, 0.05)
    for _ in range(LEAST_UNITS - 1):
        judge.add(unit(latency=1.0))
    assert judge.findings()[0].verdict is Verdict.INCONCLUSIVE
    judge.add(unit(latency=1.0))
    found = judge.findings()[0]
    assert (found.verdict, found.decided_at, found.rate) == (Verdict.FAIL, 59, 1.0)
    assert found.low > 0.5


def test_a_verdict_stays_and_its_interval_keeps_the_limit_outside() -> None:
    judge = SequentialJudge((FALLBACK,), 0.05)
    for number in range(400):
        judge.add(unit(fallback=float(number < 60)))
    [found] = judge.findings()
    assert (found.verdict, found.decided_at) == (Verdict.FAIL, 59)
    assert found.low > 0.1
    assert found.rate == pytest.approx(60 / 400)


def test_a_rate_at_the_limit_stays_undecided_and_says_so() -> None:
    judge = SequentialJudge((FALLBACK,), 0.05)
    for number in range(600):
        judge.add(unit(fallback=float(number % 10 == 0)))
    [found] = judge.findings()
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.low < 0.1 < found.high
    assert not judge.is_decided()


def test_arrivals_are_the_same_for_the_same_seed_and_independent_of_each_other() -> None:
    """Gaps of a Poisson process: mean 1/rate and deviation 1/rate, within four standard errors of 3,000 draws."""
    of = plan(rate=50.0, duration=60.0, arrivals=Arrivals.POISSON)
    sessions = scripts([1], [2], [3])
    first, again = list(arrivals(of, sessions)), list(arrivals(of, sessions))
    other = list(arrivals(plan(rate=50.0, duration=60.0, arrivals=Arrivals.POISSON, seed=2), sessions))
    assert first == again != other
    gaps = [after.at - before.at for before, after in itertools.pairwise(first)]
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert abs(mean - 0.02) < 4 * 0.02 / math.sqrt(len(gaps))
    assert abs(deviation - 0.02) < 4 * 0.02 * math.sqrt(
        2 / len(gaps)
    )  # variance of s of an exponential: 2 sigma^2 / n
    shares = [sum(one.script.inputs == (number,) for one in first) / len(first) for number in (1, 2, 3)]
    assert all(abs(share - 1 / 3) < 4 * math.sqrt(2 / 9 / len(first)) for share in shares)


def test_no_more_sessions_are_measured_than_asked_for() -> None:
    of = plan(rate=10.0, duration=None, most_runs=7, warm_up=1.0)
    found = list(arrivals(of, scripts([1])))
    assert [one.is_warm_up for one in found] == [True] * 10 + [False] * 7
    assert found[-1].at == pytest.approx(1.6)


def test_a_generator_that_was_late_itself_decides_nothing() -> None:
    ledger, _ = expecting(*[1] * 20)
    for number in range(20):
        ledger.add(number, run(number, 9.0, late=0.2 if number < 2 else 0.0))
    assert ledger.counts.is_late
    judge = SequentialJudge((LATENCY,), 0.05)
    for _ in range(100):
        judge.add(unit(latency=1.0))
    at = datetime(2026, 3, 1, tzinfo=UTC)
    found = Measured(
        findings=judge.findings(), counts=ledger.counts, sessions=(), started_at=at, ended_at=at, seconds=20.0, ended_by="Planned"
    )  # fmt: skip
    assert (judge.findings()[0].verdict, judged(found).verdict) == (Verdict.FAIL, Verdict.INCONCLUSIVE)
    asked = ask(only_workflow(demo_files.support_bot() / "workflow.yaml"), SlaOptions(component="planner"))
    codes_of = [(check, one.code) for check, one in diagnostics(asked, found, "x.yaml")]
    assert codes_of == [("latency", codes.UNDECIDED), ("load", codes.NOT_SENT)]
