"""A real Prometheus scrapes a real `up` of two workers: each golden signal's PromQL gives what the lineage store holds.

The expected values are computed here, from the documents of the store, by the definitions in docs/reference/gates.md.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from sluicegate.console.exits import TIMEOUT
from sluicegate.contracts.evidence import EvidenceKey, Observation
from sluicegate.contracts.stages import Stage
from sluicegate.lineage.store import LineageStore
from sluicegate.observability.signals import MOST_RELATIVE_ERROR, SIGNALS, GoldenSignal
from sluicegate.operator.api.context import BASE
from sluicegate.operator.local.state_dir import read_up
from tests.e2e import bot, life, stage_numbers
from tests.e2e.users import cli
from tests.operator.up import Up, until
from tests.prometheus.server import Job, Prometheus, Sample

pytestmark = pytest.mark.e2e

Document = dict[str, Any]
Values = dict[tuple[str, ...], float]
Arms = dict[str, tuple[str, ...]]  # as `_arm` has them

RULES = Path(__file__).parents[2] / "charts/sluicegate/files/prometheus-rules.yaml"
WORDS = [
    (),
    (),
    ("lookup",),
    (),
    ("agent",),
    ("judge",),
    (),
    ("slow",),
    ("lookup", "judge"),
    ("slow", "agent"),
]


@pytest.fixture(scope="module")
def job(up: Up, prometheus: Prometheus) -> Iterator[Job]:
    facts = read_up(up.state)
    assert facts is not None
    with prometheus.scraping("up", facts.metrics_port) as scraped:
        yield scraped


@pytest.fixture(scope="module")
def documents(up: Up, url: str, job: Job) -> list[Document]:
    """Traffic to stable alone, then with a candidate in Canary, where every run is mirrored; and what the store holds of it."""
    up.apply(bot.workflow("1.0.0", url))
    life.serving(up, bot.NAME)
    _traffic(up, rounds=3)
    up.apply(bot.workflow("2.0.0", url))
    life.in_state(up, "Canary", "2.0.0", bot.NAME)
    until("the plan is followed", lambda: life.is_programmed(life.rollout_of(up, "2.0.0", bot.NAME)))
    _traffic(up, rounds=6)
    return _settled(up)


@pytest.fixture(scope="module")
def units(up: Up, documents: list[Document]) -> list[Observation]:
    """The evidence of the stage, in the store's order."""
    with closing(LineageStore(up.state.lineage)) as lineage:
        return _units(up, lineage)


def _traffic(up: Up, rounds: int) -> None:
    asked = WORDS * rounds
    with ThreadPoolExecutor(4) as pool:
        answered = list(pool.map(lambda words: bot.ask(up, *words), asked))
    for place, ((status, run_id), words) in enumerate(zip(answered, asked, strict=True)):
        assert status == (502 if "agent" in words else 200)
        if "agent" in words:
            bot.say(up, run_id, "Succeeded")  # cannot mend it
        elif place % 5 == 1:
            bot.say(up, run_id, "Failed")
            if place % 10 == 1:
                bot.say(up, run_id, "Succeeded")
    for _ in range(rounds):
        status, _ = bot.ask(up, body={"words": "no list"})  # breaks the input's contract: no arm's fault
        assert status == 422


def _settled(up: Up) -> list[Document]:
    """Every document, once each run of a user that was mirrored has become a unit: then nothing comes any more."""
    found: list[Document] = []

    def is_settled() -> bool:
        with closing(LineageStore(up.state.lineage)) as lineage:
            units = len(_units(up, lineage))  # before what it is compared with
            ids = sorted({one["run_id"] for one in lineage.runs(workflow=bot.NAME, limit=10_000)})
            found[:] = [document for run_id in ids for document in lineage.run(run_id)]
            mirrored = [one for one in found if one["serving"] and one["rollout"]]
            return units == len(mirrored) > 0

    until("every unit is closed", is_settled)
    return found


def _units(up: Up, lineage: LineageStore) -> list[Observation]:
    """The evidence of the stage."""
    rollout = life.rollout_of(up, "2.0.0", bot.NAME)
    assert rollout is not None
    return lineage.observations(EvidenceKey(rollout["metadata"]["uid"], Stage.CANARY, 1), after=0)


def test_traffic_reached_every_arm_through_both_workers(documents: list[Document]) -> None:
    arms = {"stable", "candidate", "control", "ablated", "stable-ablated"}
    assert {one["arm"] for one in documents} >= arms
    assert len({one["worker"] for one in documents}) == 2
    assert {one["outcome"] for one in documents} == {"Succeeded", "Failed", "Rejected"}
    assert any("outcomeAtAnswer" in one for one in documents)


def _arm(document: Document) -> tuple[str, ...]:
    return (document["namespace"], document["workflow"], document["revision"], document["arm"])


def _counted(documents: Iterable[Document]) -> list[Document]:
    """Those that say something of an arm that users may get."""
    golden = {"stable", "candidate", "control"}
    return [
        one
        for one in documents
        if one["arm"] in golden and one.get("outcomeAtAnswer", one["outcome"]) != "Rejected"
    ]


def _by_arm(documents: list[Document], of: Callable[[list[Document]], float]) -> Values:
    arms = defaultdict(list)
    for document in _counted(documents):
        arms[_arm(document)].append(document)
    return {arm: of(runs) for arm, runs in arms.items()}


def _is_good(document: Document) -> bool:
    """Both at the answer and by what was said later."""
    return {document["outcome"], document.get("outcomeAtAnswer", document["outcome"])} == {"Succeeded"}


def _fell(document: Document) -> set[str]:
    return {
        step["component"] for step in document["steps"] if step["fallback"] and not step["fallback"]["forced"]
    }


def _p95(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[math.ceil(0.95 * len(ordered)) - 1] / 1000.0


def _fallback_rates(documents: list[Document]) -> Values:
    rates: Values = {}
    for name in ("lookup", "check", "agent", "judge"):

        def rate(runs: list[Document], name: str = name) -> float:
            return sum(name in _fell(one) for one in runs) / len(runs)

        rates |= {(*arm, name): value for arm, value in _by_arm(documents, rate).items()}
    return rates


def _worst(documents: list[Document]) -> Values:
    worst: Values = {}
    for (*arm, _), value in _fallback_rates(documents).items():
        worst[tuple(arm)] = max(worst.get(tuple(arm), 0.0), value)
    return worst


def _by_component(documents: list[Document], of: Callable[[list[Document]], float]) -> Values:
    calls = defaultdict(list)
    for document in _counted(documents):
        for step in document["steps"]:
            if step["outcome"] != "Skipped" and not (step["stubbed"] and not step["attempts"]):
                calls[(*_arm(document), step["component"], step["version"])].append(step)
    return {key: of(steps) for key, steps in calls.items()}


STORE: dict[str, Callable[[list[Document]], Values]] = {
    "workflow_success_rate": lambda all_: _by_arm(all_, lambda runs: sum(map(_is_good, runs)) / len(runs)),
    "workflow_p95_latency": lambda all_: _by_arm(all_, lambda runs: _p95(one["latency_ms"] for one in runs)),
    "workflow_sla_exceedance_rate": lambda all_: _by_arm(
        all_, lambda runs: sum(one["latency_ms"] > bot.PROMISED_MS for one in runs) / len(runs)
    ),
    "component_fallback_rate": _fallback_rates,
    "component_fallback_rate_max": _worst,
    "component_success_rate": lambda all_: _by_component(
        all_, lambda steps: sum(step["outcome"] == "Ok" for step in steps) / len(steps)
    ),
    "component_p95_latency": lambda all_: _by_component(
        all_, lambda steps: _p95(s["latency_ms"] for s in steps)
    ),
}


def _outcomes(units: list[Observation], arms: Arms) -> dict[tuple[str, ...], stage_numbers.Array]:
    """By arm."""
    found = list(stage_numbers.ablations(units))
    rewards = {
        "ablated": [(one.coalition, one.reward) for one in found],
        "stable-ablated": [(one.coalition, one.stable) for one in found],
    }
    return {
        arms[arm]: stage_numbers.outcomes(
            [(coalition, reward) for coalition, reward in pairs if reward is not None]
        )
        for arm, pairs in rewards.items()
    }


def _contributions(units: list[Observation], arms: Arms) -> Values:
    players = next(stage_numbers.ablations(units)).coalition.players
    return {
        (*arm, player, bound): float(value)
        for arm, rows in _outcomes(units, arms).items()
        for bound, values in stage_numbers.bounds(rows)
        for player, value in zip(players, values, strict=True)
    }


STAGE: dict[str, Callable[[list[Observation], Arms], Values]] = {
    "reward_shapley_variance": lambda units, arms: {
        arm: stage_numbers.spread(rows) for arm, rows in _outcomes(units, arms).items()
    },
    "component_reward_contribution": _contributions,
    "component_drift_score": lambda units, arms: {
        (*arms["candidate"], "agent", "echo.kind"): stage_numbers.drift(units, "agent.echo.kind")
    },
}
"""Those that the control loop tells, at each of its looks."""


def _key(sample: Sample, per: str) -> tuple[str, ...]:
    labels = {name: value for name, value in sample.labels.items() if name != "__name__"}
    names = ["namespace", "workflow", "revision", "arm", *filter(None, per.split(", "))]
    assert set(labels) == set(names)
    return tuple(labels[name] for name in names)


ALIKE = {"workflow_sla_exceedance_rate", "component_fallback_rate_max"}
"""May be the same in every arm: a busy machine is slow in every run, and which half has a second copy is drawn."""


@pytest.mark.parametrize("signal", [one for one in SIGNALS if one.name in STAGE], ids=lambda one: one.name)
def test_the_promql_of_a_stages_signal_gives_what_the_units_say(
    signal: GoldenSignal,
    documents: list[Document],
    units: list[Observation],
    job: Job,
    prometheus: Prometheus,
) -> None:
    expected = STAGE[signal.name](units, {one["arm"]: _arm(one) for one in documents if one["rollout"]})
    seen: list[Values] = []

    def is_so() -> bool:
        seen.append({_key(one, signal.per): one.value for one in prometheus.query(signal.promql)})
        return seen[-1] == pytest.approx(expected, rel=1e-9, abs=1e-12)

    with suppress(AssertionError):
        until("the last unit was looked at and scraped", is_so)
    assert seen[-1] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert all(value > 0.0 for value in expected.values() if signal.name == "component_drift_score")


@pytest.mark.parametrize(
    "signal", [one for one in SIGNALS if one.name not in STAGE], ids=lambda one: one.name
)
def test_the_promql_of_a_golden_signal_gives_what_the_store_computes(
    signal: GoldenSignal, documents: list[Document], job: Job, prometheus: Prometheus
) -> None:
    expected = STORE[signal.name](documents)
    error = MOST_RELATIVE_ERROR if "p95" in signal.name else 1e-12
    found = {_key(one, signal.per): one.value for one in prometheus.query(signal.promql, at=job.fresh())}
    assert found == pytest.approx(expected, rel=error, abs=0 if "p95" in signal.name else 1e-12)
    if signal.name not in ALIKE:
        assert len(set(expected.values())) > 1, "the traffic tells the arms or components apart"


def test_the_shipped_rules_record_the_same(
    documents: list[Document], job: Job, prometheus: Prometheus
) -> None:
    job.fresh()
    expected = STORE["workflow_success_rate"](documents)
    with prometheus.ruled(RULES):
        until("the rules are evaluated", lambda: prometheus.query("workflow_success_rate"))
        found = {_key(one, ""): one.value for one in prometheus.query("workflow_success_rate")}
    assert found == pytest.approx(expected)


def test_the_numbers_of_runs_are_those_of_the_store(
    documents: list[Document], job: Job, prometheus: Prometheus
) -> None:
    asked = "sum by (namespace, workflow, revision, arm) (sluicegate_runs_total)"
    found = {_key(one, ""): one.value for one in prometheus.query(asked, at=job.fresh())}
    expected: Values = defaultdict(float)
    for document in documents:
        expected[_arm(document)] += 1
    assert found == expected


def test_the_candidates_rates_are_those_of_the_gates_evidence(
    units: list[Observation], documents: list[Document], job: Job, prometheus: Prometheus
) -> None:
    """Every mirrored run of the candidate is one unit: means over units are the rates."""
    candidates = [one.candidate for one in units if one.candidate is not None]
    assert len(candidates) == len([one for one in documents if one["arm"] == "candidate"])
    promql = {signal.name: signal.promql for signal in SIGNALS}

    def found(name: str, **labels: str) -> float:
        wanted = {"arm": "candidate", **labels}.items()
        (sample,) = [one for one in prometheus.query(promql[name], at=at) if wanted <= one.labels.items()]
        return sample.value

    at = job.fresh()
    assert found("workflow_success_rate") == pytest.approx(
        sum(one.success for one in candidates) / len(candidates)
    )
    slow = sum(one.latencies_ms[0] > bot.PROMISED_MS for one in candidates)
    assert found("workflow_sla_exceedance_rate") == pytest.approx(slow / len(candidates))
    for name in ("lookup", "check", "agent", "judge"):
        rate = sum(one.fallbacks.get(name, 0.0) for one in candidates) / len(candidates)
        assert found("component_fallback_rate", component=name) == pytest.approx(rate)


def test_an_exemplar_leads_from_a_slow_run_to_its_document(
    documents: list[Document], job: Job, prometheus: Prometheus
) -> None:
    at = job.fresh()
    asked = {"query": "sluicegate_run_latency_sla_ratio_bucket", "start": f"{at - 600}", "end": f"{at}"}
    kept = [one for series in prometheus.api("query_exemplars", asked) for one in series["exemplars"]]
    slow = {one["labels"]["run_id"]: float(one["value"]) for one in kept if float(one["value"]) > 1}
    assert slow
    for run_id, ratio in slow.items():
        found = [one["latency_ms"] / bot.PROMISED_MS for one in documents if one["run_id"] == run_id]
        assert any(ratio == pytest.approx(value) for value in found)


def test_the_evidence_itself_is_printed_in_the_stores_order_drawn_and_played_again(
    up: Up, units: list[Observation], tmp_path: Path
) -> None:
    """`rollout units`, `rollout plot` and `backtest` on what a real gateway and a real store have written."""
    stored = [(one.sequence, one.unit) for one in units]
    code, said = cli(up, "rollout", "units", bot.NAME, "--stage", "Canary")
    assert code == 0, said
    printed = [orjson.loads(line) for line in said.splitlines()]
    assert [(one["sequence"], one["unit"]) for one in printed] == stored
    code, drawn = cli(up, "rollout", "plot", bot.NAME, "--stage", "Canary")
    assert code == 0, drawn
    assert "Canary · success (WorkflowSuccessRate): " in drawn
    assert f"(n = {len(stored):,})" in drawn
    recorded, strategy = tmp_path / "units.jsonl", tmp_path / "bot.json"
    recorded.write_text(said)
    strategy.write_bytes(orjson.dumps(bot.workflow("2.0.0", "http://127.0.0.1:1")))
    code, played = cli(up, "backtest", str(recorded), "--format", "units", "-f", str(strategy), "-o", "json")
    assert code == TIMEOUT, played
    (stage,) = orjson.loads(played)["stages"]
    assert (stage["stage"], stage["units"]) == ("Canary", len(stored))


def test_the_series_of_a_workflow_that_is_gone_vanish(
    up: Up, documents: list[Document], job: Job, prometheus: Prometheus
) -> None:
    series = f'count({{__name__=~"sluicegate_.*", workflow="{bot.NAME}"}})'
    assert prometheus.query(series, at=job.fresh())
    code, _ = up.api("DELETE", f"{BASE}/namespaces/default/agentworkflows/{bot.NAME}")
    assert code == 200
    until("no series of it", lambda: prometheus.query(series, at=job.fresh()) == [])
