"""Runtime Service: the mesh carries its traffic, so nothing that the gateway does for a run can be asked of it."""

from collections.abc import Callable, Iterator
from typing import Final

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources.strategy import StageSpec
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.stages import MIRRORED_STAGES, Stage
from sluicegate.contracts.verification.facts import Facts

FINEST: Final = 1_000_000
"""The largest denominator of a share: weights of an HTTPRoute go no further."""

_WITHOUT_MEANING: Final = {
    "components": "the service is called as a whole",
    "steps": "the service is called as a whole",
    "output": "the service's answer is the answer",
    "reward": "its runs are not seen",
    "routing": "the Gateway API weighs each request by itself",
    "contract": "nobody would check it",
    "business_fallback": "its failures are not seen",
    "retraining": "its runs are not seen",
    "lineage": "its runs are not seen",
}

_OF_STAGES: Final[dict[str, tuple[Callable[[StageSpec], bool], str]]] = {
    "gates": (
        lambda stage: any(gate.source is None for gate in stage.gates or ()),
        "its runs are not seen, so that only gates with a source can be fed",
    ),
    "minRuns": (lambda stage: stage.min_runs is not None, "its runs are not seen, so they cannot be counted"),
    "controlShare": (
        lambda stage: stage.control_share is not None and stage.control_share.numerator > 0,
        "an answer to a second copy of stable would be lost",
    ),
    "ablationShare": (
        lambda stage: stage.ablation_share is not None and stage.ablation_share.numerator > 0,
        "the answers of copies are lost",
    ),
    "versionShare": (
        lambda stage: stage.version_share is not None and stage.version_share.numerator > 0,
        "the answers of copies are lost",
    ),
    "reviewFallbacks": (lambda stage: bool(stage.review_fallbacks), "its fallbacks are not seen"),
}


def belongs(facts: Facts) -> Iterator[Problem]:
    """`spec.service` says where a Service's traffic is; the gateway does not follow it."""
    if facts.spec.service is not None:
        yield Problem(
            path="spec.service",
            message="has no meaning with runtime Managed",
            value=facts.spec.service.backend.name,
            allowed="only with `runtime: Service`",
            hint="write `runtime: Service`, or remove it",
        )


def is_given(facts: Facts) -> Iterator[Problem]:
    """There is a route and a backend."""
    if facts.spec.service is None:
        yield Problem(
            path="spec.service",
            message="is required with runtime Service",
            value="nothing",
            allowed="route and backend",
            hint="service: {route: {name: my-route}, backend: {name: my-service, port: 8080}}",
        )


def without_meaning(facts: Facts) -> Iterator[Problem]:
    """What only runs through the gateway can have."""
    defaults = WorkflowSpec.model_fields
    for name, why in _WITHOUT_MEANING.items():
        if getattr(facts.spec, name) != defaults[name].get_default(call_default_factory=True):
            yield Problem(
                path=f"spec.{defaults[name].alias or name}",
                message=f"has no meaning with runtime Service: {why}",
                allowed="only with `runtime: Managed`",
                hint="remove it",
            )


def shadow_is_skipped(facts: Facts) -> Iterator[Problem]:
    """Shadow compares answers, and the mesh throws the answer of a mirrored request away."""
    if Stage.SHADOW not in facts.spec.rollout.skip_stages:
        yield Problem(
            path="spec.rollout.skipStages",
            message="Shadow compares answers, and those of mirrored requests are lost with runtime Service",
            value=", ".join(facts.spec.rollout.skip_stages) or "nothing",
            allowed="a list with Shadow",
            hint="skipStages: [Shadow]",
        )


def stages_without_evidence(facts: Facts) -> Iterator[Problem]:
    """Stages advance by people; what would need runs is refused."""
    for number, stage in enumerate(facts.spec.rollout.stages):
        for field, (is_asked, why) in _OF_STAGES.items():
            if is_asked(stage):
                yield Problem(
                    path=f"spec.rollout.stages[{number}].{field}",
                    message=f"cannot be had with runtime Service: {why}",
                    allowed="gates with a source" if field == "gates" else "nothing",
                    hint="remove it; gates with a source ask for the service's own numbers, or a person looks at them",
                )
        if stage.gates and not any(gate.required for gate in stage.gates):
            yield Problem(
                path=f"spec.rollout.stages[{number}].gates",
                message="none of them is required, so that the stage could never be passed",
                allowed="at least one required gate, or no gates: then a person promotes",
            )
        share = stage.share
        if share is not None and stage.name not in MIRRORED_STAGES and share.denominator > FINEST:
            yield Problem(
                path=f"spec.rollout.stages[{number}].share.denominator",
                message="is finer than the weights of an HTTPRoute",
                value=str(share.denominator),
                allowed=f"at most {FINEST}",
            )
    if facts.spec.rollout.mirror_budget != type(facts.spec.rollout).model_fields["mirror_budget"].default:
        yield Problem(
            path="spec.rollout.mirrorBudget",
            message="cannot be kept with runtime Service: the mesh mirrors, and counts nothing",
            hint="remove it; the share of Canary is the limit",
        )


CHECKS = (is_given, without_meaning, shadow_is_skipped, stages_without_evidence)
