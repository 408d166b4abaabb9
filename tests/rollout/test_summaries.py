"""When a workflow's status repeats the numbers of its rollout."""

from datetime import timedelta

import pytest

from sluicegate.contracts.resources.workflow import Progress
from sluicegate.rollout import summaries
from tests.rollout.samples import T0


@pytest.mark.parametrize(
    ("seconds", "is_told"), [(59, True), (60, False), (-59, True), (-3600, False)], ids=str
)
def test_numbers_are_repeated_once_a_minute_also_when_the_clock_was_ahead(
    seconds: int, is_told: bool
) -> None:
    old = Progress(candidate="2.0.0", samples="1/9", numbers_at=T0)
    found = Progress(candidate="2.0.0", samples="2/9", numbers_at=T0 + timedelta(seconds=seconds))
    assert summaries._is_told(old, found) is is_told
