"""What a plan promises, against rollouts that are played: the real fold and gates on simulated units."""

import random  # noqa: TID251 - seeded
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from sluicegate.contracts.evidence import ArmFacts, EvidenceKey, Observation, Question
from sluicegate.contracts.resources.rollout import PlannedStage, RolloutSpec
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import Signal, Stage, Verdict
from sluicegate.observability.fold import Fold
from sluicegate.rollout import exposure, gates, judging, planning
from sluicegate.rollout.outlook import StageOutlook, late, outlook
from sluicegate.rollout.power import GateOutlook
from tests.rollout.samples import SHORT, T0, rollout, workflow_spec

PLAYED = 80
LOOK = 5
TOLERANCE = 0.17
"""The closed form is right within 0.1 (tests/observability/test_passage.py); 80 rollouts err by 0.056 in addition."""

Play = Callable[[random.Random, float], Observation]


def spec_of(stage: str, signal: str, margin: str, **fields: object) -> WorkflowSpec:
    """One gate in one stage, which can be watched from its beginning."""
    one = {"name": stage, "minRuns": 1, "gates": [{"name": "g", "signal": signal, "margin": margin}]} | fields
    return workflow_spec("2.0.0", stages=[one])


def gate_of(spec: WorkflowSpec, stage: Stage) -> tuple[PlannedStage, GateOutlook]:
    planned = next(one for one in planning.plan_stages(spec) if one.name is stage)
    return planned, next(one for one in outlook(spec) if one.stage is stage).gates[0]


def facts(draw: random.Random, signal: Signal, rate: float) -> ArmFacts:
    bad = draw.random() < rate
    if signal is Signal.P95_LATENCY:
        return ArmFacts(success=1.0, latencies_ms=(2000.0 if bad else 10.0,))
    return ArmFacts(success=float(not bad), latencies_ms=(10.0,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """What all rollouts of a case share."""

    stage: Stage
    planned: PlannedStage
    told: GateOutlook
    live: RolloutSpec
    bad: float
    questions: tuple[Question, ...]


def game_of(spec: WorkflowSpec, stage: Stage) -> Game:
    planned, told = gate_of(spec, stage)
    live = rollout(spec).spec
    bad = exposure.assumed_badness(spec, told.signal)
    baseline = {planning.baseline_key(told.signal): str(1 - bad)} if stage is Stage.FULL else {}
    questions = planning.questions(live, stage, baseline)
    return Game(stage=stage, planned=planned, told=told, live=live, bad=bad, questions=questions)


def played(game: Game, worse: float, seed: int, most: int) -> tuple[Verdict, int]:
    """How one rollout's gate decides, and after how many units of the candidate."""
    stage, planned, told, bad = game.stage, game.planned, game.told, game.bad
    fold = Fold(EvidenceKey("r", stage, 1), game.questions)
    draw = random.Random(seed)
    share = planned.share.numerator / planned.share.denominator
    control = planned.control_share.numerator / planned.control_share.denominator
    for sequence in range(1, 100 * most):
        chosen = stage is not Stage.CONTROLLED or draw.random() < share
        both = stage in {Stage.CANARY, Stage.SHADOW}
        fold.add(
            Observation(
                sequence=sequence,
                key=fold.key,
                unit=str(sequence),
                runs=(str(sequence),),
                at=T0 + timedelta(seconds=sequence),
                candidate=facts(draw, told.signal, bad + worse) if chosen else None,
                stable=facts(draw, told.signal, bad) if both or not chosen else None,
                control=facts(draw, told.signal, bad) if both and draw.random() < control else None,
            )
        )
        if sequence % LOOK:
            continue
        evidence = fold.evidence()
        units = evidence.units
        if not units:
            continue
        now = T0 + timedelta(seconds=sequence)
        view = judging.View(spec=game.live, stage=planned, evidence=evidence, now=now)
        finding = gates.judge(view, planned.gates[0])
        if finding.verdict in {Verdict.PASS, Verdict.FAIL}:
            return finding.verdict, units
        if units >= most:
            break
    return Verdict.WAIT, most


CASES: dict[str, tuple[str, str, str, dict[str, object]]] = {
    "pairs": ("Canary", "WorkflowSuccessRate", "0.1", {}),
    "beside the traffic of stable": ("Controlled", "WorkflowSuccessRate", "0.1", {}),
    "stable's rate of the stages before": ("Full", "WorkflowSuccessRate", "0.1", {}),
    "latency of a half, beside the second copy": ("Shadow", "WorkflowP95Latency", "0.1", {}),
}


@pytest.mark.parametrize("sentence", CASES)
def test_units_until_pass_and_abort_are_those_of_played_rollouts(sentence: str) -> None:
    name, signal, margin, fields = CASES[sentence]
    game = game_of(spec_of(name, signal, margin, **fields), Stage(name))
    told = game.told
    assert told.needed is not None
    assert told.needed_late is not None
    assert told.abort_units_twice is not None
    equal = [played(game, 0.0, seed, 2 * told.needed_late) for seed in range(PLAYED)]
    for units, quantile in ((told.needed, 0.5), (told.needed_late, 0.8)):
        passed = sum(verdict is Verdict.PASS and after <= units for verdict, after in equal)
        assert passed / PLAYED == pytest.approx(quantile, abs=TOLERANCE), units
    most = told.abort_units_twice
    worse = [played(game, 2 * told.margin, 1000 + seed, most) for seed in range(PLAYED)]
    assert sum(verdict is Verdict.FAIL for verdict, _ in worse) / PLAYED == pytest.approx(0.5, abs=TOLERANCE)


def stage_of(spec: WorkflowSpec, stage: Stage = Stage.CANARY) -> StageOutlook:
    return next(one for one in outlook(spec) if one.stage is stage)


@pytest.mark.parametrize("rate", [100, 2000, 50_000])
def test_more_traffic_never_takes_longer_and_finds_no_less(rate: int) -> None:
    spec = workflow_spec("2.0.0")
    few, many = (
        outlook(spec.model_copy(update={"expected_runs_per_hour": traffic})) for traffic in (rate, 3 * rate)
    )
    for before, after in zip(few, many, strict=True):
        assert (after.seconds or 0) <= (before.seconds or 0)
        assert (after.in_time or 0) >= (before.in_time or 0) - 1e-6
        assert after.needed == before.needed, "what it takes does not depend on the traffic"
        for one, other in zip(before.gates, after.gates, strict=True):
            assert (other.power or 0) >= (one.power or 0) - 1e-6
            assert (other.least or 0) <= (one.least or 1)


def test_a_larger_margin_never_needs_more_units() -> None:
    margins = ["0.01", "0.02", "0.05", "0.1", "0.2"]
    needed = [
        [gate.needed for gate in stage_of(spec_of("Canary", "WorkflowSuccessRate", margin)).gates]
        for margin in margins
    ]
    assert needed == sorted(needed, reverse=True)


def test_half_of_the_pairs_have_a_second_copy_so_the_latency_gate_needs_twice_the_units() -> None:
    shadow = stage_of(workflow_spec("2.0.0"), Stage.SHADOW)
    by_name = {gate.name: gate.needed or 0 for gate in shadow.gates}
    assert by_name["latency"] == pytest.approx(2 * by_name["success"], rel=0.02)


def test_in_full_a_candidate_worse_by_the_margin_alone_is_not_aborted() -> None:
    """There stable is a number of an earlier stage, and harm is judged against that number and the margin."""
    for gate in stage_of(workflow_spec("2.0.0"), Stage.FULL).gates:
        assert gate.power is not None
        assert gate.power <= gate.abort_alpha
        assert gate.power_twice == pytest.approx(1.0, abs=0.01)
        assert gate.least is not None
        assert gate.least > gate.margin


def test_without_traffic_what_depends_on_a_deadline_is_not_known() -> None:
    spec = workflow_spec("2.0.0", **SHORT).model_copy(update={"expected_runs_per_hour": None})
    for stage in outlook(spec):
        assert stage.needed is not None
        assert (stage.reach, stage.seconds, stage.in_time) == (None, None, None)
        assert all((gate.power, gate.least, gate.in_time) == (None, None, None) for gate in stage.gates)
    assert list(late(spec)) == []


def test_mirrored_runs_are_no_exposure_of_users() -> None:
    canary, shadow, controlled, full = outlook(workflow_spec("2.0.0"))
    assert (canary.candidate_runs, shadow.candidate_runs) == (0, 0)
    assert controlled.exposed_runs is not None
    assert controlled.candidate_runs == round(controlled.exposed_runs * 0.2)
    assert full.candidate_runs == full.exposed_runs


def test_a_stage_is_decided_no_sooner_than_its_slowest_gate() -> None:
    for stage in outlook(workflow_spec("2.0.0")):
        assert stage.needed is not None
        assert stage.needed >= max(gate.needed or 0 for gate in stage.gates) * 0.99
        assert stage.binding in {gate.name for gate in stage.gates}


def test_the_questions_are_those_of_the_rollout() -> None:
    """The estimate asks of the same design as the fold: pairs, beside stable's traffic, one arm."""
    designs = {stage: {one.design for one in seen.values() if isinstance(one, exposure.Sight)} for stage, seen in
               exposure.sights(workflow_spec("2.0.0")).items()}  # fmt: skip
    assert {stage: len(found) for stage, found in designs.items()} == dict.fromkeys(Stage, 1)
    assert [next(iter(designs[stage])).value for stage in Stage] == ["Paired", "Paired", "Split", "OneSample"]
    assert isinstance(planning.questions(rollout().spec, Stage.CANARY, {})[0], Question)
