"""Measurements folded into the status: counters, rows of values, and what comes twice."""

import json
from datetime import timedelta
from typing import Any

import pytest

from sluicegate.contracts.resources.measured import Counted, Measured
from sluicegate.rollout import measuring
from sluicegate.rollout.measurements import WORST_FIRST, Outcome
from sluicegate.rollout.planning import stage_of
from tests.rollout.measured import COUNTS, KEY, VALUE, counts, folded, gate, measurement, missing, values
from tests.rollout.samples import T0, in_stage

ONE_ARM = COUNTS | {"limit": {"max": "0.02"}}


def test_what_was_counted_before_the_stage_is_no_evidence() -> None:
    found = folded(gate(COUNTS, margin="0.02"), counts(50, 100, 1, 100))
    assert found.candidate_counts == Counted(bad=50, total=100)
    assert (found.harm, found.grew_at) == ((), None)


def test_increments_are_counted_once() -> None:
    planned = gate(COUNTS, margin="0.02")
    found = folded(
        planned,
        counts(50, 100, 1, 100),
        counts(53, 120, 1, 130),
        counts(53, 120, 2, 160),
        counts(54, 130, 2, 160),
    )
    # The third: the candidate did not grow, so stable's 30 wait; the fourth folds them together.
    assert found.candidate_counts == Counted(bad=54, total=130, grown_bad=4, grown_total=30)
    assert found.stable_counts == Counted(bad=2, total=160, grown_bad=1, grown_total=60)


def test_a_counter_that_fell_loses_its_interval_and_nothing_else() -> None:
    planned = gate(COUNTS, margin="0.02")
    found = folded(
        planned, counts(0, 0, 0, 0), counts(1, 20, 1, 20), counts(0, 5, 2, 40), counts(1, 15, 2, 50)
    )
    assert found.resets == 1
    assert found.candidate_counts == Counted(bad=1, total=15, grown_bad=2, grown_total=30, lost_total=(15,))
    assert found.stable_counts == Counted(bad=2, total=50, grown_bad=1, grown_total=30)


def test_what_a_process_brings_back_that_was_not_seen_for_a_while_is_no_evidence() -> None:
    """By hand: two processes of each arm; the candidate's second one counted 90 bad of 500 long before, and is not scraped once."""
    planned = gate(COUNTS, margin="0.02")
    seen = [(91, 520, 1, 600), (91, 530, 1, 610), (1, 40, 1, 620), (92, 550, 1, 630), (92, 560, 2, 640)]
    found = folded(planned, *(counts(*one) for one in seen))
    assert found.resets == 2
    assert found.candidate_counts == Counted(bad=92, total=560, grown_bad=0, grown_total=20)
    assert found.stable_counts == Counted(bad=2, total=640, grown_bad=1, grown_total=20)


def test_a_counter_of_bad_ones_alone_that_was_not_seen_for_a_while_is_no_evidence() -> None:
    planned = gate(COUNTS, margin="0.02")
    seen = [(90, 500, 0, 500), (0, 510, 0, 510), (90, 600, 0, 600), (91, 610, 0, 610)]
    found = folded(planned, *(counts(*one) for one in seen))
    assert found.candidate_counts == Counted(bad=91, total=610, grown_bad=1, grown_total=10)


def test_a_process_that_is_gone_for_good_costs_one_interval_in_each_direction_at_most() -> None:
    planned = gate(COUNTS, margin="0.02")
    restarted = [(0, 100, 0, 100), (0, 0, 0, 110), *((0, 60 * n, 0, 110 + 60 * n) for n in range(1, 6))]
    found = folded(planned, *(counts(*one) for one in restarted))
    assert (found.resets, found.candidate_counts) == (
        1,
        Counted(bad=0, total=300, grown_bad=0, grown_total=300, lost_total=(100,)),
    )


@pytest.mark.parametrize(
    ("reading", "outcome"),
    [
        (counts(5, 102, 0, 101), "AmbiguousData"),  # five bad ones of two
        (counts(1.5, 110, 0, 110), "AmbiguousData"),
        (counts(-1, 110, 0, 110), "AmbiguousData"),
        (counts(0, 1e20, 0, 110), "AmbiguousData"),  # a status holds 64 bits
    ],
)
def test_counters_that_are_none_are_not_folded(reading: Any, outcome: str) -> None:
    planned = gate(COUNTS, margin="0.02")
    held = folded(planned, counts(0, 100, 0, 100))
    found = folded(planned, reading, held=held)
    assert (found.outcome, found.candidate_counts) == (outcome, held.candidate_counts)
    assert "candidate: bad" in found.message


def test_the_arm_whose_counters_do_not_agree_is_named() -> None:
    found = folded(gate(COUNTS, margin="0.02"), counts(0, 100, 0, 100), counts(0, 110, 9, 101))
    assert found.message == "stable: bad grew by 9 and total by 1 since the measurement before"


def test_late_counters_are_folded_once_they_agree() -> None:
    """bad may be scraped before total: nothing is lost meanwhile."""
    planned = gate(COUNTS, margin="0.02")
    found = folded(planned, counts(0, 100, 0, 100), counts(5, 102, 0, 110), counts(5, 110, 0, 110))
    assert found.candidate_counts == Counted(bad=5, total=110, grown_bad=5, grown_total=10)


def test_a_value_is_judged_by_rows() -> None:
    planned = gate(VALUE)
    assert [
        folded(planned, *[values(v) for v in row]).good for row in ([400.0], [400.0] * 4, [400.0, 600.0])
    ] == [1, 4, 0]
    assert folded(planned, values(600.0), values(600.0)).bad == 2
    assert folded(planned, values(500.0)).good == 1, "the limit itself is kept"


def test_a_good_row_does_not_reach_over_measurements_that_were_lost() -> None:
    planned = gate(VALUE)
    held = folded(planned, values(400.0), values(400.0))
    assert measuring.add(planned, held, measurement(3, values(400.0))).good == 3
    assert measuring.add(planned, held, measurement(4, values(400.0))).good == 1


def test_samples_beyond_all_measure_fit_in_a_status() -> None:
    found = folded(gate(VALUE | {"minSamples": 30}), values(400.0, samples=1e30))
    assert (found.samples, found.good) == (2**53, 1)


@pytest.mark.parametrize("outcome", [one for one in Outcome if one is not Outcome.VALUE])
def test_what_is_no_value_ends_a_good_row_and_no_bad_one(outcome: Outcome) -> None:
    planned = gate(VALUE)
    assert folded(planned, values(400.0), missing(outcome)).good == 0
    assert folded(planned, values(600.0), missing(outcome), values(600.0)).bad == 2


def test_failures_of_the_provider_are_counted_in_a_row() -> None:
    planned = gate(VALUE)
    rows = [missing(Outcome.ERROR), missing(Outcome.TIMEOUT), missing(Outcome.ERROR)]
    assert folded(planned, *rows).errors == 3
    assert folded(planned, *rows, missing(Outcome.NO_DATA)).errors == 0


@pytest.mark.parametrize(
    ("limit", "value", "stable", "keeps"),
    [
        ({"max": "10"}, 10.0, None, True),
        ({"max": "10"}, 10.1, None, False),
        ({"min": "0.9"}, 0.9, None, True),
        ({"min": "0.9"}, 0.89, None, False),
        ({"min": "1", "max": "2"}, 1.5, None, True),
        ({"aboveStable": "5"}, 15.0, 10.0, True),
        ({"aboveStable": "5"}, 15.1, 10.0, False),
        ({"aboveStable": "5"}, 1.0, 10.0, True),
        ({"belowStable": "0.1"}, 0.85, 0.9, True),
        ({"belowStable": "0.1"}, 0.75, 0.9, False),
        ({"max": "-1"}, -2.0, None, True),
    ],
)
def test_limits(limit: dict[str, str], value: float, stable: float | None, keeps: bool) -> None:
    found = folded(gate(VALUE | {"limit": limit}), values(value, stable))
    assert (found.good, found.bad) == ((1, 0) if keeps else (0, 1))


def test_too_few_samples_count_for_neither_side() -> None:
    planned = gate(VALUE | {"minSamples": 30})
    assert folded(planned, values(600.0, samples=29.0)).bad == 0
    assert folded(planned, values(400.0, samples=29.0)).good == 0
    assert folded(planned, values(600.0, samples=30.0)).bad == 1


def test_the_worst_reading_speaks_for_all() -> None:
    found = measurement(
        1, values(1.0) | {("stable", "value"): missing(Outcome.NO_DATA)["candidate", "value"]}
    )
    assert found.worst() == (Outcome.NO_DATA, "value of stable: why")
    assert set(WORST_FIRST) == set(Outcome)


def test_folded_twice_is_folded_once_and_survives_the_status() -> None:
    """A look that was lost folds the same again; what was read back from JSON goes on bit for bit."""
    planned = gate(COUNTS, margin="0.02")
    stage = stage_of(in_stage(KEY.stage).spec, KEY.stage).model_copy(update={"gates": (planned,)})
    news = [measurement(n, counts(n, 10 * n, n // 2, 12 * n), T0 + timedelta(seconds=n)) for n in range(1, 9)]
    whole = measuring.after((), stage, KEY, news)
    once = measuring.after((), stage, KEY, news[:5])
    stored = tuple(Measured.model_validate(json.loads(json.dumps(one.to_json()))) for one in once)
    assert measuring.after(stored, stage, KEY, reversed(news)) == whole
    assert measuring.after(whole, stage, KEY, news) == whole


def test_of_another_attempt_or_gate_nothing_is_folded() -> None:
    planned = gate(VALUE)
    stage = stage_of(in_stage(KEY.stage).spec, KEY.stage).model_copy(update={"gates": (planned,)})
    (found,) = measuring.after((), stage, KEY._replace(attempt=2), [measurement(1, values(400.0))])
    assert found == Measured(gate="outside")
    (found,) = measuring.after((), stage, KEY, [measurement(1, values(400.0))])
    assert found.good == 1


def test_a_limit_on_counts_needs_no_stable() -> None:
    found = folded(gate(ONE_ARM), counts(0, 0), counts(3, 100))
    assert found.stable_counts is None
    assert len(found.harm) == len(found.safe) > 0
