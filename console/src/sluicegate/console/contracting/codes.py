"""Every code that a report may hold, with what it means: those of the checks, and those of the gate itself."""

from collections.abc import Mapping
from typing import Final

from sluicegate.console.loading.codes import CODES as SLA
from sluicegate.console.trying.codes import CODES as TRYING
from sluicegate.contracts.analysis.codes import CODES as ANALYSIS
from sluicegate.contracts.compatibility.codes import CODES as COMPATIBILITY
from sluicegate.contracts.diagnostics import Code
from sluicegate.fallback_rules.codes import CODES as RULES

NOT_PROVEN = "NotProven"
"""What is neither shown nor refuted; `--mode report` makes warnings of such errors."""
REFUSED, EXPIRED = "Refused", "WaiverExpired"
REMOVED, RENAMED = "WorkflowRemoved", "WorkflowRenamed"

OWN: Final[Mapping[str, Code]] = {
    REFUSED: Code(
        title="cannot be read, or would be refused",
        meaning="The file cannot be read, is no document of this product, or is one that `apply` would refuse. Nothing more can be said of it, so the exit code is 2 whatever "
        "`--fail-on`, waivers and baselines say.",
        remedy="Correct what is told; `sluicegate lint` says the same.",
    ),
    EXPIRED: Code(
        title="a waiver has ended",
        meaning="The finding is still there, and the day until which somebody answered for it is over.",
        remedy="Repair what was found, or let the owner write a later day and say why.",
    ),
    NOT_PROVEN: Code(
        title="neither shown nor refuted",
        meaning="Whether everything that one side may send is taken by the other could not be decided within the limits of the proof, and no value was found that shows the "
        "contrary; or the old version of `contract diff` would itself be refused now. It fails with `--mode enforce`, and warns with `--mode report`. An old file of a revision "
        "that is no YAML at all and is still there only warns: nobody could have applied it, and what comes in its place counts as new.",
        remedy="Write the two schemas more alike, or waive it until a day.",
    ),
    REMOVED: Code(
        title="a workflow is gone",
        meaning="The old version has a workflow that the new one has not: whoever calls it gets an error.",
        remedy="Keep it until nobody calls it; then waive this once.",
    ),
    RENAMED: Code(
        title="the workflow has another name",
        meaning="Callers, sessions and recorded runs know it by the old name.",
        remedy="Keep the name and raise `spec.version`.",
    ),
}
CODES: Final[Mapping[str, Code]] = {**ANALYSIS, **COMPATIBILITY, **OWN, **SLA, **TRYING}
"""Of workflows, and of the gate: the page contract-findings."""
ALL: Final[Mapping[str, Code]] = {**RULES, **CODES}
