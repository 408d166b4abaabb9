"""Which outputs of components a rollout compares, and in which stages: planning for ComponentDrift."""

from sluicegate.contracts.evidence import Question
from sluicegate.contracts.observed import observed_fields
from sluicegate.contracts.resources.rollout import ObservedOutput, PlannedGate
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage


def observed(body: WorkflowSpec) -> tuple[ObservedOutput, ...]:
    """What a revision observes."""
    return tuple(
        ObservedOutput(
            component=field.component,
            output=field.output,
            numeric=field.numeric,
            length=field.length,
            live=field.live,
        )
        for field in observed_fields(body)
    )


def shared(candidates: tuple[ObservedOutput, ...], stable: WorkflowSpec) -> tuple[ObservedOutput, ...]:
    """Those that stable observes as well; what the candidate alone has cannot be compared."""
    known = set(map(_what, observed(stable)))
    return tuple(item for item in candidates if _what(item) in known)


def _what(item: ObservedOutput) -> tuple[str, str, bool, int]:
    return item.component, item.output, item.numeric, item.length


def seen_in(items: tuple[ObservedOutput, ...], stage: Stage) -> tuple[ObservedOutput, ...]:
    """Those that are seen of both arms in a stage: copies never call a Live component, and Full has one arm."""
    if stage is Stage.FULL:
        return ()
    return tuple(item for item in items if not (item.live and stage in MIRRORED_STAGES))


def questions(items: tuple[ObservedOutput, ...], stage: Stage, gate: PlannedGate) -> list[Question]:
    """One for each, so that the gate's α is split over them."""
    return [
        Question(
            signal=gate.signal,
            margin=float(gate.margin or 0),
            component=item.component,
            output=item.output,
            numeric=item.numeric,
            length=item.length,
        )
        for item in seen_in(items, stage)
    ]
