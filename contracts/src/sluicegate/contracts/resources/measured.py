"""What a gate with a `source` has measured in the present stage: all that its next finding rests on."""

from datetime import datetime

from sluicegate.contracts.resources.base import Model


class Counted(Model):
    """Counters of one arm: as read last, and what they grew by in this stage."""

    bad: int = 0
    """Of the counter `bad`, as read last."""
    total: int = 0
    """Of the counter `total`, as read last."""
    grown_bad: int = 0
    """Since the stage was entered, without what a counter that fell has lost."""
    grown_total: int = 0
    """The same of all."""
    lost_bad: tuple[int, ...] = ()
    """What `bad` alone fell by, where it may come back."""
    lost_total: tuple[int, ...] = ()
    """What `total` fell by, where it may come back: a process that was not seen for a while brings all that it ever counted."""


class Measured(Model):
    """The measurements of one gate, folded; bounded."""

    gate: str
    """Name of the gate."""
    number: int = 0
    """Measurements folded."""
    at: datetime | None = None
    """When the newest one was taken."""
    outcome: str = ""
    """Of the newest one: Value, or why there is none."""
    message: str = ""
    """What the provider said of it."""
    candidate: str | None = None
    """The newest value of the candidate, as decimal text."""
    stable: str | None = None
    """The newest value of stable, as decimal text."""
    samples: int | None = None
    """What the candidate's newest value was measured on."""
    good: int = 0
    """Measurements in a row, up to the newest, that keep the limit."""
    bad: int = 0
    """Measurements in a row that break it; one without a value does not end the row."""
    errors: int = 0
    """Failures of the provider in a row."""
    candidate_counts: Counted | None = None
    """With `bad` and `total`: the candidate's counters."""
    stable_counts: Counted | None = None
    """The same of stable."""
    grew_at: datetime | None = None
    """When the candidate's total was last seen to grow."""
    resets: int = 0
    """Measurements that were left out because a counter fell, or came back. If they are more than half, the gate waits with PartialData."""
    harm: tuple[str, ...] = ()
    """Log capital of each stake of the test for harm, as exact decimal text."""
    safe: tuple[str, ...] = ()
    """The same of the test for safety."""
