"""The floor of similarity: frozen from stable beside itself, never judged by what set it; and the power of the gate."""

import math
from dataclasses import replace

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from sluicegate.contracts.evidence import AnswerEvidence, ArmFacts, Observation, Question, SignalEvidence
from sluicegate.contracts.stages import Signal, Stage
from sluicegate.observability.answers import SIMILARITIES, Answers
from sluicegate.observability.fold import Fold
from sluicegate.observability.metrics import GatewayMetrics
from tests.observability import simulation as sim
from tests.observability.facts import good, key, unit

QUESTIONS = (Question(signal=Signal.DISAGREEMENT, margin=0.05),)


def facts(text: float | None, *, differs: float = 0.0) -> ArmFacts:
    return good(disagrees=differs, similarity=0.5 if text is None else text, texts=(text,))


def pair(number: int, candidate: ArmFacts, control: ArmFacts | None) -> Observation:
    return unit(number, Stage.SHADOW, stable=good(), candidate=candidate, control=control)


def folded(*units: Observation) -> SignalEvidence:
    fold = Fold(key(Stage.SHADOW), QUESTIONS)
    fold.add_all(units)
    return fold.evidence().signals[0]


def answers(item: SignalEvidence) -> AnswerEvidence:
    assert item.answers is not None
    return item.answers


def test_the_floor_is_the_second_lowest_of_the_first_39() -> None:
    """Oracle: numpy's order statistic; rank 0.05 (n + 1) as conformal prediction has it (Vovk et al. 2005)."""
    values = np.random.default_rng(5).uniform(0.2, 0.7, size=60)
    units = [pair(n, facts(0.9), facts(float(value))) for n, value in enumerate(values, 1)]
    assert answers(folded(*units[: SIMILARITIES - 1])).floor is None
    assert answers(folded(*units[: SIMILARITIES - 1])).have == SIMILARITIES - 1
    floor = answers(folded(*units[:SIMILARITIES])).floor
    assert floor == float(np.partition(values[:SIMILARITIES], 1)[1])
    assert answers(folded(*units)).floor == floor  # frozen
    assert answers(folded(*units)).unjudged == SIMILARITIES


def test_a_further_answer_of_stable_falls_below_it_one_time_in_twenty() -> None:
    """Conformal prediction: exactly 1/20 on average, whatever the distribution. 4,000 draws: sd 0.0034."""
    below = []
    for *first, further in np.random.default_rng(6).beta(2, 5, size=(4_000, SIMILARITIES + 1)).tolist():
        state, control = Answers(), good(disagrees=0.0, texts=tuple(first))
        state.add(facts(None), control, 0.0)
        assert state.floor is not None
        below.append(further < state.floor)
    assert np.mean(below) == pytest.approx(0.05, abs=0.011)


def test_a_stable_that_repeats_itself_exactly_does_not_ask_for_the_same_words() -> None:
    units = [pair(n, facts(0.85), facts(1.0)) for n in range(1, 101)]
    item = folded(*units)
    assert answers(item).floor == 0.8
    assert (item.candidate, item.stable) == (0.0, 0.0)
    assert answers(item).similarity == pytest.approx(0.85)


def test_texts_below_the_floor_differ_once_it_is_known() -> None:
    units = [pair(n, facts(0.3), facts(0.6)) for n in range(1, 101)]
    item = folded(*units)
    # Facts agree in all; the first 39 set the floor, the 61 after them are judged by it.
    assert item.units == 100
    assert item.candidate == pytest.approx(0.61)
    assert item.stable == 0.0
    assert (answers(item).only_candidate, answers(item).only_stable) == (61, 0)
    assert item.witnesses == tuple(f"run-{n}" for n in range(96, 101))


def test_what_sets_the_floor_is_not_judged_by_it_and_facts_count_all_the_time() -> None:
    low = [pair(n, facts(0.1), facts(0.05 if n == 7 else 0.6)) for n in range(1, SIMILARITIES + 1)]
    assert folded(*low).candidate == 0.0
    wrong = [pair(n, facts(None, differs=1.0), facts(0.6)) for n in range(1, SIMILARITIES + 1)]
    assert folded(*wrong).candidate == 1.0


def test_a_workflow_without_free_text_needs_no_floor() -> None:
    none = good(disagrees=0.0, similarity=1.0, texts=(None,))
    item = folded(*(pair(n, none, none) for n in range(1, 101)))
    assert (answers(item).floor, answers(item).unjudged, item.units) == (None, 0, 100)


def test_evidence_of_before_says_nothing_of_similarity() -> None:
    old = replace(good(disagrees=0.0), similarity=None, texts=())
    item = folded(*(pair(n, old, old) for n in range(1, 101)))
    assert answers(item) == AnswerEvidence(want=SIMILARITIES)


def test_a_session_counts_its_runs_in_shares() -> None:
    start = [pair(n, facts(0.9), facts(0.6)) for n in range(1, SIMILARITIES + 1)]
    mixed = good(
        disagrees=0.25, similarity=0.6, texts=(None, 0.3, 0.9, 0.9)
    )  # one run differs by a fact, one by its words
    item = folded(*start, pair(SIMILARITIES + 1, mixed, facts(0.9)))
    assert item.candidate == pytest.approx(0.5 / (SIMILARITIES + 1))


@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.5, math.inf])
def test_a_similarity_that_is_none_makes_the_unit_missing(wrong: float) -> None:
    start = [pair(n, facts(0.9), facts(0.6)) for n in range(1, SIMILARITIES + 1)]
    item = folded(*start, pair(SIMILARITIES + 1, facts(wrong), facts(0.9)))
    assert (item.units, item.missing) == (SIMILARITIES, 1)


def test_one_that_is_none_never_sets_the_floor() -> None:
    units = [pair(n, facts(0.9), facts(math.nan if n % 2 else 0.6)) for n in range(1, 101)]
    item = folded(*units)
    assert (item.units, item.missing, answers(item).have) == (50, 50, SIMILARITIES)
    assert answers(item).floor == 0.6


def test_state_comes_back() -> None:
    state = Answers()
    for n in range(50):
        state.add(facts(0.3 + n / 100), facts(0.6 + n / 200), float(n % 3) - 1.0)
    again = Answers.from_json(state.to_json())
    assert again.evidence() == state.evidence()
    assert again.to_json() == state.to_json()


def test_the_similarity_of_mirrored_answers_is_a_metric_with_the_run_as_exemplar() -> None:
    registry = CollectorRegistry()
    metrics = GatewayMetrics(registry)
    ran = {
        "t": "run",
        "namespace": "n",
        "workflow": "w",
        "revision": "w-2",
        "arm": "candidate",
        "outcome": "Succeeded",
    }
    for number, comparison in enumerate(
        (None, {"similarity": 0.75}, {"similarity": 0.25}, {"similarity": None})
    ):
        metrics.entry(ran | {"run_id": f"run-{number}", "comparison": comparison})
    labels = {"namespace": "n", "workflow": "w", "revision": "w-2", "arm": "candidate"}
    name = "sluicegate_response_similarity_score"
    assert registry.get_sample_value(f"{name}_count", labels) == 2
    assert registry.get_sample_value(f"{name}_sum", labels) == 1.0
    assert registry.get_sample_value(f"{name}_bucket", labels | {"le": "0.8"}) == 2
    metrics.forget("n", "w", "w-2")
    assert registry.get_sample_value(f"{name}_count", labels) is None


def power(
    candidate: float, stable: float, units: int, *, alpha: float, rows: int, seed: int
) -> tuple[float, float]:
    """Share of rows in which harm was shown within `units` pairs, and the median of pairs that it took.

    Both copies disagree with the user independently, the least favourable case: the more discordant pairs there are by
    chance, the more must be seen.
    """
    generator = np.random.default_rng(seed)
    x = (generator.random((rows, units)) < candidate).astype(float) - (
        generator.random((rows, units)) < stable
    )
    hit = sim.log_e(x, -1.0, 0.0) >= -math.log(alpha)
    first = np.where(hit.any(axis=1), hit.argmax(axis=1) + 1.0, np.inf)
    return float(np.isfinite(first).mean()), float(np.median(first))


@pytest.mark.parametrize(
    ("candidate", "units", "fixed", "found", "median"),
    [
        # fixed: power of McNemar at that number of pairs, looked at once (research/statistics.md section 8.1, alpha .01)
        (0.25, 1_000, 0.61, 0.26, math.inf),  # 99 % in 5,000, median 1,660
        (0.30, 1_000, 0.997, 0.96, 414),
    ],
)
def test_the_sequential_form_of_mcnemar_finds_what_a_single_look_would(
    candidate: float, units: int, fixed: float, found: float, median: float
) -> None:
    """Stable beside itself 20 %. The price of looking after every pair."""
    shown, took = power(candidate, 0.20, units, alpha=0.01, rows=400, seed=8)
    assert shown == pytest.approx(found, abs=0.05)
    assert shown < fixed
    assert took == median or took == pytest.approx(median, rel=0.15)


def test_equal_disagreement_is_blamed_no_more_often_than_promised() -> None:
    shown, _ = power(0.20, 0.20, 2_880, alpha=0.05, rows=400, seed=9)
    assert shown <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
