"""What is watched of the version that answers everybody, once no rollout compares it with anything."""

from typing import Annotated

from pydantic import Field

from sluicegate.contracts.resources.base import Flag, Model, Rate


class Watch(Model):
    """Whether the rewards that the stable version earns fall, its components fall back more often, or its outputs change.

    A change of any of these begins a new watch, with a new baseline.
    """

    enabled: Flag = True
    """Runtime Service is not watched: its runs are not seen."""
    false_alarm_every: Annotated[int, Field(strict=True, ge=100, le=1_000_000_000)] = 100_000
    """Units (sessions, or runs where there is no routing key) from the start to a false alarm, on average and at the least; over reward and all components together."""
    tolerance: Rate = "0.02"
    """How much worse than the baseline is no decay: an absolute difference of the mean reward, or of a component's fallback rate."""
    drift_tolerance: Rate = "0.05"
    """By how much the share of a value in an observed output may move from the baseline: an absolute difference. Its alarms have a `falseAlarmEvery` of their own."""
    baseline_units: Annotated[int, Field(strict=True, ge=50, le=100_000)] = 1000
    """The first units of a version, by which the later ones are judged."""
    baseline: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 1
    """Raise it to take today's level as the new baseline: that is how a person answers an alarm without a new version."""
