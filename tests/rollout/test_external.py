"""Gates with a source: one policy above all providers, and rollouts that rest on them."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from sluicegate.contracts.evidence import EvidenceKey
from sluicegate.contracts.findings import Finding
from sluicegate.contracts.resources.measured import Measured
from sluicegate.contracts.resources.rollout import PlannedGate, RolloutStatus
from sluicegate.contracts.resources.workflow import Runtime
from sluicegate.contracts.stages import Outcome as End
from sluicegate.contracts.stages import Stage, State, Verdict
from sluicegate.rollout import asking, capabilities, external, gates, planning
from sluicegate.rollout.authority import forbidden
from sluicegate.rollout.job_runs import name_of
from sluicegate.rollout.judging import View
from sluicegate.rollout.measurements import Measurement, Outcome
from sluicegate.rollout.model import AdmissionContext, Capabilities, Discard, Plan, RolloutObserved
from sluicegate.rollout.rollouts import reconcile_rollout
from tests.rollout.measured import (
    COUNTS,
    JOB,
    JOB_COUNTS,
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
    "three Jobs that completed": (gate(JOB), [values(1.0)] * 3, Verdict.PASS, "LimitKept"),
    "two Jobs that completed": (gate(JOB), [values(1.0)] * 2, Verdict.WAIT, "NeedsMore"),
    "a Job that failed, where one is enough": (gate(JOB | {"consecutive": 1}), [values(0.0)], Verdict.FAIL, "LimitBroken"),
    "a failed Job between completed ones": (gate(JOB), [values(1.0), values(1.0), values(0.0), values(1.0)], Verdict.WAIT, "NeedsMore"),
    "Jobs that counted safely": (gate(JOB_COUNTS, margin="0.02"), [counts(2, 200, 2, 200), counts(8, 2000, 8, 2000)], Verdict.PASS, "NotWorse"),
    "Jobs that counted harm": (gate(JOB_COUNTS, margin="0.02"), [counts(0, 10, 0, 10), counts(200, 990, 5, 990)], Verdict.FAIL, "Worse"),
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


# --- Jobs ------------------------------------------------------------------------------------------------------


def test_counts_of_jobs_are_those_of_counters_that_grew_by_as_much() -> None:
    """A Job counts its own run; a counter goes on. The test sees the same blocks, so it says the same."""
    blocks = [(2, 200, 3, 200), (4, 300, 1, 300), (0, 50, 2, 60)]
    grown = [counts(0, 0, 0, 0)]
    for block in blocks:
        total = [0.0] * 4
        for done in blocks[: blocks.index(block) + 1]:
            total = [a + b for a, b in zip(total, done, strict=True)]
        grown.append(counts(*total))
    by_jobs = folded(gate(JOB_COUNTS, margin="0.02"), *(counts(*block) for block in blocks))
    by_counters = folded(gate(COUNTS, margin="0.02"), *grown)
    assert (by_jobs.harm, by_jobs.safe) == (by_counters.harm, by_counters.safe)
    assert by_jobs.candidate_counts == by_counters.candidate_counts
    assert by_jobs.stable_counts == by_counters.stable_counts


def jobs_of(stage: str = "Canary", **job: Any) -> tuple[Any, ...]:
    gates_: dict[str, Any] = {
        stage: [{"name": "load", "source": {"job": JOB["job"] | job, "intervalSeconds": 5}}]
    }
    spec = remember(service_spec(**gates_))
    item = in_stage(Stage(stage), spec)
    stable, new = revision(service_spec("1.0.0", **gates_), 1), revision(spec, 2)
    seen = RolloutObserved(rollout=item, workflow=workflow(spec), stable=stable, candidate=new, programmed=9)
    return item, seen


def test_a_job_is_asked_for_each_arm_with_its_placeholders_filled_in() -> None:
    env = [{"name": "TARGET", "value": "http://{{backend}}/{{stage}}"}]
    _, seen = jobs_of(result="Counts", env=env, command=["load"])
    (ask,) = asking.asks(seen)
    runs = [one.job for one in ask.inquiries]
    assert [(run.arm, run.template.args, run.template.env[0].value) for run in runs if run] == [
        ("candidate", ("--version=2.0.0",), "http://agent-v2/Canary"),
        ("stable", ("--version=1.0.0",), "http://agent-v1/Canary"),
    ]
    assert [one.texts for one in ask.inquiries] == [(("bad", "bad"), ("total", "total"))] * 2
    assert [one.texts for one in asking.asks(jobs_of()[1])[0].inquiries] == [(("value", ""),)]


def test_jobs_of_a_stage_wait_for_gateways_and_queries_are_not_asked() -> None:
    _, seen = jobs_of()
    (ask,) = asking.asks(replace(seen, programmed=0))
    assert ask.is_paused
    assert not asking.asks(seen)[0].is_paused


def test_the_name_of_a_job_says_which_look_it_is() -> None:
    key = EvidenceKey("ro-1", Stage.CANARY, 1)
    named = name_of(key, "load", "candidate", 1)
    assert named == name_of(key, "load", "candidate", 1)
    assert re.fullmatch(r"sluicegate-look-[0-9a-f]{20}", named)
    others = {
        name_of(key._replace(rollout="ro-2"), "load", "candidate", 1),
        name_of(key._replace(stage=Stage.FULL), "load", "candidate", 1),
        name_of(key._replace(attempt=2), "load", "candidate", 1),
        name_of(key, "other", "candidate", 1),
        name_of(key, "load", "stable", 1),
        name_of(key, "load", "candidate", 2),
    }
    assert len(others | {named}) == 7


def test_the_jobs_of_a_stage_go_when_it_is_left_and_never_before() -> None:
    """The newest looks that the status holds, and the one that may be running."""
    item, seen = jobs_of()
    assert item.status is not None
    held = Measured(gate="load", number=7, at=T0, outcome="Value", candidate="1", good=1)
    item = item.model_copy(update={"status": item.status.model_copy(update={"measured": (held,)})})
    waits = reconcile_rollout(replace(seen, rollout=item), later(1))
    assert not [act for act in waits.after() if isinstance(act, Discard)]
    gone = reconcile_rollout(replace(seen, rollout=item, workflow=None), later(1))
    assert gone.status.state is State.DRAINING
    key = EvidenceKey("ro-1", Stage.CANARY, 1)
    assert [act.ref.name for act in gone.after() if isinstance(act, Discard)] == [
        name_of(key, "load", "candidate", number) for number in (5, 6, 7, 8)
    ]


@pytest.mark.parametrize(
    ("job", "can", "refused"),
    [
        ({}, Capabilities(), "spec.rollout.stages[0].gates[0].source.job"),
        ({"command": ["a"]}, Capabilities(jobs=True), None),
        ({}, Capabilities(jobs=True), "spec.rollout.stages[0].gates[0].source.job.command"),
        ({}, Capabilities(jobs=True, secrets=True), None),
        (
            {"command": ["a"], "env": [{"name": "A", "secretKeyRef": {"name": "s", "key": "k"}}]},
            Capabilities(jobs=True),
            "spec.rollout.stages[0].gates[0].source.job.env[0].secretKeyRef",
        ),
    ],
)
def test_where_a_job_may_run(job: dict[str, Any], can: Capabilities, refused: str | None) -> None:
    spec = service_spec(Canary=[{"name": "load", "source": {"job": JOB["job"] | job}}])
    can = replace(can, runtimes=frozenset(Runtime))
    found = [one.path for one in capabilities.unsupported(spec, can)]
    assert found == ([] if refused is None else [refused])


@pytest.mark.parametrize("allowed", [True, False])
def test_nobody_starts_by_a_gate_what_he_may_not_start_himself(allowed: bool) -> None:
    """Asked where the spec changes; who changes labels only is not."""
    spec = service_spec(Canary=[{"name": "load", "source": JOB}])
    plain = workflow(service_spec(Canary=[{"name": "load", "source": VALUE}]))
    context = AdmissionContext(now=T0, may_run_jobs=allowed)
    told = [one.path for one in forbidden(plain, workflow(spec), "author", context)]
    assert told == ([] if allowed else ["spec.rollout.stages"])
    assert list(forbidden(workflow(spec), workflow(spec), "author", context)) == []
    assert list(forbidden(workflow(spec), plain, "author", context)) == []
