"""A drift gate has outputs to compare."""

from collections.abc import Iterator

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.observed import observed_fields
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage


def observable(spec: WorkflowSpec, stage: Stage, path: str) -> Iterator[Problem]:
    """Some output is observed of both arms in the stage. path: of the gate's signal."""
    if stage is Stage.FULL:
        yield Problem(
            path=path,
            message="in Full there is one arm, so its outputs have nothing to be compared with",
            value=Signal.DRIFT.value,
            allowed="only in " + ", ".join(name.value for name in Stage if name is not Stage.FULL),
            hint="move the gate to Shadow or Controlled",
        )
        return
    found = observed_fields(spec)
    if not found:
        yield Problem(
            path=path,
            message="no output of a component is observed",
            value=Signal.DRIFT.value,
            allowed="a workflow whose output contracts bound some field: enum, boolean, number with minimum and maximum, "
            "list of numbers with minItems equal to maxItems, or tool_calls; and that lineage.redact does not hide",
            hint="intent: {enum: [order, refund, other]} in a component's contract.output",
        )
    elif stage in MIRRORED_STAGES and all(field.live for field in found):
        yield Problem(
            path=path,
            message=f"{stage.value} mirrors, and copies never call the Live components whose outputs are observed",
            value=Signal.DRIFT.value,
            allowed="in Controlled, or with an output of a component that is not Live",
            hint="move the gate to Controlled",
        )
