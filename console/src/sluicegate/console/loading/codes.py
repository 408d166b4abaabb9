"""What a load test can find."""

from collections.abc import Mapping
from typing import Final

from sluicegate.contracts.diagnostics import Code

BROKEN, UNDECIDED, NOT_SENT = "SlaBroken", "SlaUndecided", "LoadNotSent"

CODES: Final[Mapping[str, Code]] = {
    BROKEN: Code(
        title="a promise of the SLA is broken",
        meaning="More runs were slow, failed or degraded than `sla` allows. It is shown, not only measured: the whole interval lies beyond the limit.",
        remedy="Look at the latencies and faults of the report; repair the component, or promise what it can keep.",
    ),
    UNDECIDED: Code(
        title="too few runs to tell",
        meaning="The interval still holds the limit: the promise is neither kept nor broken as far as anybody can tell. Nothing passes undecided.",
        remedy="A longer `--duration` or a higher `--rate`; the hint says about how many more sessions would decide.",
    ),
    NOT_SENT: Code(
        title="the load was not the one that was asked for",
        meaning="The load generator did not keep up: more than 5 % of the sessions were not sent, or were late by half the promised latency. What was measured then says nothing good.",
        remedy="A lower `--rate`, a machine with less to do, or more `--max-in-flight`.",
    ),
}
"""Code -> what it means, for docs/reference."""
