"""What evidence costs: contributions, updates, evaluation, state. `python -m benchmarks.evidence --speed`.

The product's own classes on seeded traffic. CPU time of one thread, the best of several rounds; of a gate what a fold with it
costs more than one without. Rounds of all gates alternate, so that a slow moment of the machine meets them alike.
"""

import gc
import json
import random  # noqa: TID251 - seeded
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import numpy as np

from sluicegate.contracts.evidence import VECTOR, Ablation, ArmFacts, EvidenceKey, Observation, Question
from sluicegate.contracts.resources.rollout import ObservedOutput, PlannedStage, RolloutSpec
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.runs import Coalition
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.observability.contributions.exact import shapley
from sluicegate.observability.fold import Fold
from sluicegate.rollout import gates, planning
from sluicegate.rollout.judging import View
from tests.rollout.samples import rollout, workflow_spec

SEED: Final = 6
UNITS: Final = 6_000
ROUNDS: Final = 15
INTENTS: Final = ("ask", "buy", "cancel", "complain", "refund", "return", "track", "other")
COMPONENTS: Final = ("planner", "memory", "agent", "writer")
START: Final = datetime(2026, 3, 1, tzinfo=UTC)
AIMS: Final[dict[str, float]] = {
    "shapley_12_ms": 1.0,
    "shapley_20_ms": 50.0,
    "update_us": 20.0,
    "evaluate_s": 1.0,
    "state_bytes": 4096,
}


@dataclass(frozen=True, slots=True)
class Design:
    """share: of the candidate, in stages that split; in mirrored ones every unit is a pair."""

    stage: Stage
    share: float = 1.0


DESIGNS: Final = {
    "paired": Design(Stage.SHADOW),
    "split, 20 %": Design(Stage.CONTROLLED, 0.2),
    "split, 90 %": Design(Stage.CONTROLLED, 0.9),
    "one arm": Design(Stage.FULL),
}


def best(rounds: int, work: Callable[..., object], *given: Any) -> float:
    """Least CPU time in seconds."""
    found = []
    for _ in range(rounds):
        gc.collect()
        started = time.process_time()
        work(*given)
        found.append(time.process_time() - started)
    return min(found)


def facts(draw: random.Random) -> ArmFacts:
    """An arm as a real workflow has it: every value differs, some runs fail."""
    return ArmFacts(
        success=float(draw.random() < 0.95),
        latencies_ms=(draw.lognormvariate(6.0, 0.4),),
        fallbacks={name: float(draw.random() < 0.02) for name in COMPONENTS},
        violated=float(draw.random() < 0.01),
        violations=("Enum output/intent",) if draw.random() < 0.01 else (),
        reward=draw.betavariate(8.0, 2.0),
        disagrees=float(draw.random() < 0.1),
        choices={"planner.intent": {draw.choice(INTENTS): 1.0}},
        numbers={
            "agent.score": (draw.random(),),
            "writer.embedding": tuple(draw.gauss(0.0, 1.0) for _ in range(VECTOR)),
        },
    )


def ablation(draw: random.Random) -> Ablation:
    """Both versions under one coalition."""
    coalition = Coalition(players=COMPONENTS, mask=draw.randrange(16), probability=1 / 16)
    return Ablation(coalition=coalition, reward=draw.betavariate(8.0, 2.0), stable=draw.betavariate(8.0, 2.0))


def units(design: Design) -> list[Observation]:
    """As the store gives them."""
    draw = random.Random(SEED)
    found = []
    for number in range(1, UNITS + 1):
        run = str(uuid.UUID(int=draw.getrandbits(128), version=4))
        at = START + timedelta(seconds=number)
        one = Observation(
            sequence=number, key=EvidenceKey("uid", design.stage, 1), unit=run, runs=(run,), at=at,
            stable=facts(draw), candidate=facts(draw), control=facts(draw), ablation=ablation(draw),
        )  # fmt: skip
        if design.stage not in MIRRORED_STAGES:
            absent: dict[str, Any] = {"stable" if draw.random() < design.share else "candidate": None}
            one = replace(one, control=None, ablation=None, **absent)
        found.append(one)
    return found


def contributions() -> dict[str, Any]:
    """Exact Shapley values of a table."""
    found = {}
    for n, rounds in ((12, 200), (20, 10)):
        values = np.random.default_rng(SEED).random(1 << n)
        found[f"shapley_{n}_ms"] = round(1e3 * best(rounds, partial(shapley, values)), 3)
    return found


def asked() -> RolloutSpec:
    """Four components, a reward, three observed outputs; every default gate, and in Shadow every gate that there is."""
    body = workflow_spec("2.0.0").to_json() | {"reward": "output.reward"}
    spec = rollout(WorkflowSpec.model_validate(body)).spec
    observed = tuple(
        ObservedOutput(component=component, output=output, numeric=numeric, length=length, live=False)
        for component, output, numeric, length in (
            ("planner", "intent", False, 0),
            ("agent", "score", True, 0),
            ("writer", "embedding", True, 768),
        )
    )
    stages = tuple(
        _with(one, Signal.DRIFT, Signal.SHAPLEY_VARIANCE) if one.name is Stage.SHADOW else one
        for one in spec.stages
    )
    return spec.model_copy(update={"components": COMPONENTS, "observed": observed, "stages": stages})


def _with(stage: PlannedStage, *signals: Signal) -> PlannedStage:
    more = tuple(
        stage.gates[0].model_copy(
            update={"name": signal.value.lower(), "signal": signal, "delta": "0.05", "delta_phi": "0.05"}
        )
        for signal in signals
    )
    return stage.model_copy(update={"gates": (*stage.gates, *more)})


def by_gate(questions: tuple[Question, ...]) -> dict[str, tuple[Question, ...]]:
    """The questions of each gate; vectors apart, as they cost more than other outputs."""
    found: dict[str, tuple[Question, ...]] = {}
    for one in questions:
        name = f"{one.signal.value}, vectors" if one.length else one.signal.value
        found[name] = (*found.get(name, ()), one)
    return found


def baseline(questions: tuple[Question, ...]) -> dict[str, str]:
    """What stages before Full came to."""
    good = {Signal.SUCCESS_RATE, Signal.REWARD}
    return {
        planning.baseline_key(one.signal, one.component): "0.95" if one.signal in good else "0.05"
        for one in questions
    }


def folds() -> list[dict[str, Any]]:
    """Each gate in each design: µs an update, bytes of state; then the stage as a whole."""
    spec = asked()
    rows = []
    for name, design in DESIGNS.items():
        observations = units(design)
        gc.collect()
        gc.freeze()  # the units are no part of what a fold keeps
        questions = planning.questions(spec, design.stage, {}, 1000.0)
        if design.stage is Stage.FULL:
            questions = planning.questions(spec, design.stage, baseline(questions), 1000.0)
        parts = by_gate(questions)
        whole = f"all {len({one.signal for one in questions})} of the stage, with what they share"
        spent = update_us(observations, {"": (), **parts, whole: questions})
        for gate in sorted(parts):
            more = min(spent[gate]) - min(spent[""])
            rows.append(row(gate, name, more, sizes(observations, parts[gate])[0]))
        rows.append(row(whole, name, min(spent[whole]), sizes(observations, questions)[1]))
    return rows


def row(gate: str, design: str, update: float, size: int) -> dict[str, Any]:
    """Of the table."""
    return {"gate": gate, "design": design, "update_us": round(update, 2), "state_bytes": size}


def update_us(
    observations: list[Observation], asked: dict[str, tuple[Question, ...]]
) -> dict[str, list[float]]:
    """Microseconds for each unit of a fold, round by round."""
    found: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(ROUNDS):
        for name, questions in asked.items():
            seconds = best(1, Fold(observations[0].key, questions).add_all, observations)
            found[name].append(1e6 * seconds / len(observations))
    return found


def sizes(observations: list[Observation], questions: tuple[Question, ...]) -> tuple[int, int]:
    """Bytes of the largest state at any of 60 moments: of the questions, and of everything."""
    fold, tracks, state = Fold(observations[0].key, questions), 0, 0
    for start in range(0, len(observations), 100):
        fold.add_all(observations[start : start + 100])
        saved = fold.to_bytes()
        kept = json.loads(saved)["tracks"]
        tracks = max(tracks, sum(len(json.dumps(one, separators=(",", ":"))) for one in kept))
        state = max(state, len(saved))
    return tracks, state


def evaluation() -> dict[str, Any]:
    """A thousand rollouts of ten gates: from evidence to findings, and from the saved state on."""
    spec, design = asked(), DESIGNS["paired"]
    planned = planning.stage_of(spec, design.stage)
    ten = tuple(
        gate.model_copy(update={"name": f"{gate.name}-{number}"})
        for number, gate in enumerate((*planned.gates, *planned.gates)[:10])
    )
    stage: PlannedStage = planned.model_copy(update={"gates": ten})
    questions = planning.questions(spec, design.stage, {}, 1000.0)
    fold = Fold(EvidenceKey("uid", design.stage, 1), questions)
    fold.add_all(units(design)[:500])
    now, saved, evidence = START + timedelta(seconds=600), fold.to_bytes(), fold.evidence()

    def look() -> None:
        for _ in range(1000):
            gates.evaluate(View(spec=spec, stage=stage, evidence=evidence, now=now))

    def read_and_look() -> None:
        for _ in range(1000):
            known = Fold.from_bytes(saved, questions).evidence()
            gates.evaluate(View(spec=spec, stage=stage, evidence=known, now=now))

    return {"evaluate_s": round(best(3, look), 3), "read_and_evaluate_s": round(best(3, read_and_look), 3)}


def measure() -> dict[str, Any]:
    """Everything."""
    return {"aims": AIMS, "units": UNITS, **contributions(), **evaluation(), "folds": folds()}
