"""Gates with a source: one policy above all providers, and rollouts that rest on them."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.rollout import PlannedGate, RolloutStatus
from sluicegate.contracts.stages import Outcome as End
from sluicegate.contracts.stages import Stage, State, Verdict
from sluicegate.rollout import asking, capabilities, external, gates, planning
from sluicegate.rollout.judging import View
from sluicegate.rollout.measurements import Measurement, Outcome
from sluicegate.rollout.model import Capabilities, Plan, RolloutObserved
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.rollout.measured import (
    COUNTS,
    VALUE,
    counts,
    folded,
    gate,
    measurement,
    missing,
    service_spec,
    values,
)
from tests.rollout.samples import T0, in_stage, later, remember, revision, workflow, workflow_spec

ONE_ARM = COUNTS | {"limit": {"max": "0.05"}}
GOOD = [values(400.0)] * 3
BAD = [values(600.0)] * 3
SAFE_COUNTS = [counts(0, 0, 0, 0), counts(2, 200, 2, 200), counts(10, 2200, 10, 2200)]
HARM_COUNTS = [counts(0, 0, 0, 0), counts(0, 10, 0, 10), counts(200, 1000, 5, 1000)]
FALLS = [counts(0, 40 - n, 0, 40) for n in range(4)]


def judge(planned: PlannedGate, held: Measured, *, now: datetime = T0, late: bool = False) -> Finding:
    item = in_stage(Stage.CANARY)
    stage = planning.stage_of(item.spec, Stage.CANARY).model_copy(update={"gates": (planned,)})
    view = View(spec=item.spec, stage=stage, evidence=None, now=now, late=late, measured=(held,))
    return external.judge(view, planned)


SAID: dict[str, tuple[PlannedGate, list[Any], Verdict, str]] = {
    "three good values in a row": (gate(VALUE), GOOD, Verdict.PASS, "LimitKept"),
    "two good values": (gate(VALUE), GOOD[:2], Verdict.WAIT, "NeedsMore"),
    "three bad values in a row": (gate(VALUE), BAD, Verdict.FAIL, "LimitBroken"),
    "two bad values": (gate(VALUE), BAD[:2], Verdict.WAIT, "NeedsMore"),
    "one bad value, where one is enough": (gate(VALUE | {"consecutive": 1}), BAD[:1], Verdict.FAIL, "LimitBroken"),
    "good and bad values by turns": (gate(VALUE), [values(400.0), values(600.0)] * 9, Verdict.WAIT, "NeedsMore"),
    "too few samples": (gate(VALUE | {"minSamples": 9}), [values(1.0, samples=8.0)] * 5, Verdict.WAIT, "InsufficientSamples"),
    "counts that show safety": (gate(COUNTS, margin="0.02"), SAFE_COUNTS, Verdict.PASS, "NotWorse"),
    "counts that show harm": (gate(COUNTS, margin="0.02"), HARM_COUNTS, Verdict.FAIL, "Worse"),
    "counts that show nothing yet": (gate(COUNTS, margin="0.02"), [counts(0, 0, 0, 0), counts(1, 20, 1, 20)], Verdict.WAIT, "NeedsMore"),
    "counts of nothing": (gate(COUNTS, margin="0.02"), [counts(0, 0, 0, 0)] * 9, Verdict.WAIT, "InsufficientSamples"),
    "safe counts that are too few for minSamples": (
        gate(COUNTS | {"minSamples": 3000}, margin="0.02"), SAFE_COUNTS, Verdict.WAIT, "InsufficientSamples",
    ),
    "a rate below its limit": (gate(ONE_ARM), [counts(0, 0), counts(1, 1000)], Verdict.PASS, "LimitKept"),
    "a rate above its limit": (gate(ONE_ARM), [counts(0, 0), counts(150, 1000)], Verdict.FAIL, "LimitBroken"),
    "safe counts after more falls of a counter than not": (
        gate(COUNTS, margin="0.02"), [*SAFE_COUNTS, *FALLS], Verdict.WAIT, "PartialData",
    ),
    "safe counts with one fall": (gate(COUNTS, margin="0.02"), [*SAFE_COUNTS, FALLS[0]], Verdict.PASS, "NotWorse"),
    "harm, whatever was left out": (
        gate(COUNTS, margin="0.02"), [*HARM_COUNTS, *FALLS], Verdict.FAIL, "Worse",
    ),
    "no measurement": (gate(VALUE), [], Verdict.WAIT, "NoData"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", SAID)
def test_what_is_said_of(sentence: str) -> None:
    planned, readings, verdict, reason = SAID[sentence]
    finding = judge(planned, folded(planned, *readings))
    assert (finding.verdict, finding.reason) == (verdict, reason), finding.message
    assert reason in gates.REASONS


NONE = [one for one in Outcome if one is not Outcome.VALUE]


@pytest.mark.parametrize("outcome", NONE)
@pytest.mark.parametrize(
    ("planned", "before"), [(gate(VALUE), GOOD), (gate(COUNTS, margin="0.02"), SAFE_COUNTS)]
)
def test_what_is_missing_never_passes(outcome: Outcome, planned: PlannedGate, before: list[Any]) -> None:
    """Whatever was measured before it, now and at the deadline."""
    held = folded(planned, *before)
    assert judge(planned, held).verdict is Verdict.PASS
    held = folded(planned, missing(outcome), held=held)
    finding = judge(planned, held)
    assert (finding.verdict, finding.reason) == (Verdict.WAIT, outcome.value)
    assert "why" in finding.message
    assert judge(planned, held, late=True).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("outcome", NONE)
def test_a_breach_does_not_wait_for_the_provider(outcome: Outcome) -> None:
    held = folded(gate(VALUE), *BAD, missing(outcome))
    assert judge(gate(VALUE), held).verdict is Verdict.FAIL


def test_a_provider_that_fails_again_and_again_is_an_error_until_it_answers() -> None:
    planned = gate(VALUE | {"errorLimit": 3})
    failing = [missing(Outcome.ERROR, "refused")] * 3
    assert judge(planned, folded(planned, *GOOD, *failing[:2])).verdict is Verdict.WAIT
    finding = judge(planned, folded(planned, *GOOD, *failing))
    assert (finding.verdict, finding.reason) == (Verdict.ERROR, "ProviderError")
    assert "3 failures in a row" in finding.message
    assert judge(planned, folded(planned, *failing), late=True).verdict is Verdict.INCONCLUSIVE
    assert judge(planned, folded(planned, *failing, *GOOD)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("planned", "readings"), [(gate(VALUE), GOOD), (gate(COUNTS, margin="0.02"), SAFE_COUNTS)]
)
def test_old_measurements_do_not_pass(planned: PlannedGate, readings: list[Any]) -> None:
    """maxAge 120 s, one interval of 30 s and one timeout of 10 s."""
    held = folded(planned, *readings)
    assert judge(planned, held, now=later(160)).verdict is Verdict.PASS
    finding = judge(planned, held, now=later(161))
    assert (finding.verdict, finding.reason) == (Verdict.WAIT, "StaleData")


def test_a_clock_that_was_set_back_is_waited_for() -> None:
    held = folded(gate(VALUE), *GOOD)
    assert judge(gate(VALUE), held, now=T0 - timedelta(seconds=15)).verdict is Verdict.PASS
    finding = judge(gate(VALUE), held, now=T0 - timedelta(seconds=16))
    assert (finding.reason, finding.verdict) == ("StaleData", Verdict.WAIT)


def test_counters_that_stand_still_are_stale() -> None:
    """The provider answers, and nobody uses the candidate any more."""
    planned = gate(COUNTS, margin="0.02")
    held = folded(planned, *SAFE_COUNTS)
    held = folded(planned, counts(10, 2200, 90, 9000), held=held, at=later(600))
    finding = judge(planned, held, now=later(600))
    assert (finding.verdict, finding.reason) == (Verdict.WAIT, "StaleData")
    assert "seen to grow" in finding.message


def test_the_message_has_both_numbers_and_what_they_are_held_against() -> None:
    planned = gate(COUNTS, margin="0.02")
    finding = judge(planned, folded(planned, *HARM_COUNTS))
    assert finding.message.startswith("candidate 20.0 % bad of 1000, stable 0.5 % of 1000: worse (e = ")
    assert finding.message.endswith("≥ 20 = 1/α)")
    assert (finding.candidate, finding.stable, finding.have) == (0.2, 0.005, 1000)
    planned = gate(VALUE)
    assert (
        judge(planned, folded(planned, *BAD)).message == "candidate 600, above 500: 3 measurements in a row"
    )


MIXED = workflow_spec(
    "2.0.0",
    stages=[
        {
            "name": "Canary",
            "minRuns": 1,
            "gates": [
                {"name": "success", "signal": "WorkflowSuccessRate"},
                {"name": "outside", "source": VALUE},
                {"name": "errors", "source": COUNTS},
            ],
        },
    ],
)


def test_a_value_takes_nothing_of_the_error_budget_and_has_no_margin() -> None:
    """The budget is split over tests: two here, and the gates of the other stages."""
    canary, *rest = planning.plan_stages(MIXED)
    tests = 2 + sum(len(stage.gates) for stage in rest)
    assert [one.margin for one in canary.gates] == ["0.05", None, "0.05"]
    assert float(canary.gates[0].abort_alpha) == pytest.approx(0.05 / tests)


def test_folds_are_not_asked_about_it() -> None:
    item = in_stage(Stage.CANARY, remember(MIXED))
    wanted = planning.look(item)
    assert wanted is not None
    assert [question.signal for question in wanted.questions] == ["WorkflowSuccessRate"]


SERVICE = service_spec(
    Canary=[{"name": "errors", "source": COUNTS}], Controlled=[{"name": "p95", "source": VALUE}]
)
STABLE = revision(service_spec("1.0.0"))


def look(stage: Stage, *news: Measurement, seconds: float = 100.0, **status: Any) -> Plan[RolloutStatus]:
    """One look at a rollout of runtime Service, with everything programmed."""
    return reconcile_rollout(observed(stage, *news, **status), later(seconds))


def observed(stage: Stage, *news: Measurement, programmed: int = 3, **status: Any) -> RolloutObserved:
    return RolloutObserved(
        rollout=in_stage(stage, SERVICE, **status),
        workflow=workflow(SERVICE, rollout="bot-1", stable_revision=STABLE.metadata.name),
        stable=STABLE,
        candidate=revision(SERVICE, 2),
        programmed=programmed,
        live_gateways=1,
        measurements=news,
    )


def of(name: str, stage: Stage, *readings: dict[Any, Any], at: float = 90.0) -> list[Measurement]:
    found = [measurement(n, one, later(at)) for n, one in enumerate(readings, 1)]
    return [
        Measurement(
            key=one.key._replace(stage=stage), gate=name, number=one.number, at=one.at, readings=one.readings
        )
        for one in found
    ]


def test_a_service_is_promoted_by_counts() -> None:
    plan = look(Stage.CANARY, *of("errors", Stage.CANARY, *SAFE_COUNTS))
    assert plan.status.state is State.CONTROLLED
    assert plan.status.measured == (), "another stage begins with nothing"
    (left,) = plan.status.history
    assert [(one.name, one.signal, one.verdict) for one in left.gates] == [("errors", "External", "Pass")]


def test_a_service_is_aborted_by_counts() -> None:
    plan = look(Stage.CANARY, *of("errors", Stage.CANARY, *HARM_COUNTS))
    assert (plan.status.state, plan.status.outcome) == (State.DRAINING, End.ABORTED)
    assert "stable 0.5 % of 1000: worse" in plan.status.message


def test_a_service_is_aborted_by_values_that_it_measured_one_by_one() -> None:
    status: dict[str, Any] = {}
    for number, one in enumerate(of("p95", Stage.CONTROLLED, *BAD), 1):
        plan = look(Stage.CONTROLLED, one, **status)
        status = {"measured": plan.status.measured}
        assert (plan.status.state is State.DRAINING) is (number == 3)


def test_a_service_waits_for_a_provider_that_fails_and_is_held_at_the_deadline() -> None:
    news = of("errors", Stage.CANARY, *([missing(Outcome.ERROR, "not reached")] * 9))
    plan = look(Stage.CANARY, *news)
    assert (plan.status.state, plan.status.held) == (State.CANARY, False)
    assert plan.status.gates[0].verdict == "Error"
    plan = look(Stage.CANARY, *news, seconds=3601)
    assert (plan.status.state, plan.status.held) == (State.CANARY, True)
    assert "not reached" in (plan.status.hold_reason or "")


def test_measurements_survive_in_the_status_and_are_not_written_every_second() -> None:
    news = of("errors", Stage.CANARY, *(counts(0, n, 0, n) for n in range(3)))
    first = look(Stage.CANARY, *news[:2])
    assert first.status.measured[0].number == 2
    held = {key: value for key, value in dict(first.status).items() if key != "stage"}
    assert look(Stage.CANARY, *news[:2], seconds=101, **held).status == first.status
    more = look(Stage.CANARY, *news, seconds=105, **held)
    assert more.status.measured[0].number == 2, "written once per evaluation interval"
    more = look(Stage.CANARY, *news, seconds=111, **held)
    assert more.status.measured[0].number == 3


def test_a_stage_of_a_service_without_gates_waits_for_a_person() -> None:
    plan = look(Stage.FULL, seconds=100_000.0)
    assert plan.status.state is State.FULL
    assert plan.status.gates == ()


def test_what_is_asked_names_the_arms() -> None:
    (ask,) = asking.asks(observed(Stage.CANARY))
    assert (ask.gate, ask.after, ask.namespace) == ("errors", 0, "default")
    assert [(one.arm, dict(one.texts)["total"]) for one in ask.inquiries] == [
        ("candidate", 'sum(requests_total{version="2.0.0"})'),
        ("stable", 'sum(requests_total{version="1.0.0"})'),
    ]
    (ask,) = asking.asks(observed(Stage.CONTROLLED))
    assert [one.arm for one in ask.inquiries] == ["candidate"], "nothing is compared"


def test_nothing_is_asked_before_the_candidate_gets_its_share() -> None:
    assert asking.asks(observed(Stage.CANARY, programmed=2)) == ()
    assert asking.asks(observed(Stage.FULL)) == ()


@pytest.mark.parametrize(
    ("secrets", "credential", "refused"),
    [
        (True, {"env": "SLUICEGATE_SOURCE_A"}, "env"),
        (False, {"secretKeyRef": {"name": "s", "key": "k"}}, "secretKeyRef"),
        (True, {"secretKeyRef": {"name": "s", "key": "k"}}, None),
        (False, {"env": "SLUICEGATE_SOURCE_A"}, None),
    ],
)
def test_a_token_comes_from_where_its_author_may_read(
    secrets: bool, credential: dict[str, Any], refused: str | None
) -> None:
    source = {"name": "outside", "source": COUNTS | {"credentialRef": credential}}
    gates = [{"name": "success", "signal": "WorkflowSuccessRate"}, source]
    spec = workflow_spec("2.0.0", stages=[{"name": "Canary", "gates": gates}])
    paths = [one.path for one in capabilities.unsupported(spec, Capabilities(secrets=secrets))]
    where = "spec.rollout.stages[0].gates[1].source.credentialRef"
    assert paths == ([] if refused is None else [f"{where}.{refused}"])
