"""Rules of an AgentWorkflow: the checks of `contracts.verification` that one object can answer within the cost limits."""

from collections.abc import Iterable
from typing import Any, Final

from sluicegate.contracts.crds.rules import (
    EPOCH,
    FORBIDDEN,
    REQUIRED,
    Guard,
    Rule,
    only_with,
    required_with,
)
from sluicegate.contracts.stages import MIRRORED_STAGES, Signal, Stage
from sluicegate.contracts.verification.gates import PAIRED, SAFETY


def _words(values: Iterable[str]) -> str:
    """A CEL list of texts."""
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"


_ORDER: Final = _words(stage.value for stage in Stage)
_MIRRORED: Final = _words(stage.value for stage in Stage if stage in MIRRORED_STAGES)
_SAFETY: Final = _words(signal.value for signal in SAFETY)
_STOPS: Final = _words(signal.value for signal in (*SAFETY, Signal.EXTERNAL))
_PAIRED: Final = _words(signal.value for signal in PAIRED)
_OPENAI: Final = "self.protocol == 'OpenAI'"
_HAS_STEPS: Final = "has(self.steps) && self.steps.size() > 0"
_MIRRORS_ARE_OFF: Final = (
    "has(self.rollout) && has(self.rollout.skipStages) && "
    f"{_MIRRORED}.all(stage, stage in self.rollout.skipStages)"
)
_ORDER_OF_STAGES: Final = f"!has(self.stages) || self.stages.map(s, s.name) == {_ORDER}.filter(n, self.stages.exists(s, s.name == n))"
_ORDER_OF_PHASES: Final = (
    "!has(self.steps) || self.steps.filter(s, s.phase == 'InRequest').map(s, s.name) + "
    "self.steps.filter(s, s.phase == 'AfterAnswer').map(s, s.name) == self.steps.map(s, s.name)"
)
_HOST: Final = "isURL(self.url) && url(self.url).getHostname() != ''"
_PORT: Final = (
    "!isURL(self.url) || url(self.url).getPort() == '' || "
    "(url(self.url).getPort().size() <= 5 && int(url(self.url).getPort()) >= 1 && int(url(self.url).getPort()) <= 65535)"
)

_ONE_TOKEN: Final = Rule(
    "has(self.env) != has(self.secretKeyRef)", "needs exactly one place of the token: env or secretKeyRef"
)
_PROVIDER: Final = Guard(
    (
        Rule(f"({_HOST}) && ({_PORT})", "names no host, or a port that there is not", at=".url"),
        Rule(
            "has(self.bad) == has(self.total) && has(self.bad) != has(self.value)",
            "needs two counters, bad and total, or a value",
        ),
        only_with("samples", "has(self.value)", "has a meaning with value only"),
    )
)

NAMED: Final[dict[str, dict[str, Any]]] = {
    "AgentWorkflow": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"}
}
"""What `metadata.name` must be where other objects and labels carry it."""

WORKFLOW: Final[dict[str, Guard]] = {
    "AgentWorkflow": Guard((EPOCH,)),
    "WorkflowSpec": Guard(
        (
            required_with("service", "self.runtime == 'Service'", "is required with runtime Service"),
            only_with("service", "self.runtime == 'Service'", "has a meaning with runtime Service only"),
            Rule(
                "self.runtime != 'Service' || !has(self.components) || self.components.size() == 0",
                "are none of runtime Service: each revision is one opaque service",
                at=".components",
                reason=FORBIDDEN,
            ),
            Rule(
                "self.runtime == 'Service' || (has(self.components) && self.components.size() > 0)",
                "nothing answers the request: at least one component is needed",
                at=".components",
                reason=REQUIRED,
            ),
            Rule(
                f"!has(self.components) || self.components.size() < 2 || ({_HAS_STEPS})",
                "a workflow of several components says in which order they run",
                at=".steps",
                reason=REQUIRED,
            ),
            Rule(
                "!has(self.steps) || !has(self.components) || "
                "self.steps.all(s, self.components.exists(c, c.name == s.component))",
                "a step names a component that is not declared under spec.components",
                at=".steps",
            ),
            Rule(
                f"!({_HAS_STEPS}) || self.steps.exists(s, s.phase == 'InRequest')",
                "no step answers the request, all run after the answer",
                at=".steps",
            ),
            Rule(
                _ORDER_OF_PHASES,
                "a step of phase InRequest stands after one that runs after the answer",
                at=".steps",
            ),
            Rule(
                "!has(self.components) || self.components.all(c, !has(c.onFailure) || !has(c.onFailure.component) || "
                "(c.onFailure.component != c.name && self.components.exists(d, d.name == c.onFailure.component)))",
                "onFailure.component must be another component of this workflow",
                at=".components",
            ),
            Rule(
                "!has(self.retraining) || !has(self.components) || "
                "self.retraining.all(r, self.components.exists(c, c.name == r.component))",
                "names a component that is not declared under spec.components",
                at=".retraining",
            ),
            Rule(
                "!has(self.components) || self.components.all(c, c.sideEffects != 'Live' || has(c.mirrorStub)) || "
                f"({_MIRRORS_ARE_OFF})",
                "a Live component would be called by mirrored runs: give it a mirrorStub, or skip Canary and Shadow",
                at=".components",
                reason=REQUIRED,
            ),
        )
    ),
    "Component": Guard(
        (
            Rule(
                "self.idempotent || !has(self.retry) || self.retry.maxAttempts == 1",
                "only idempotent components may be tried again: write `idempotent: true`, or 1",
                at=".retry.maxAttempts",
                reason=FORBIDDEN,
            ),
        )
    ),
    "Endpoint": Guard(
        (
            Rule("has(self.url) != has(self.serviceRef)", "needs exactly one address: url or serviceRef"),
            Rule(f"!has(self.url) || ({_HOST})", "names no host: http://host:port/path", at=".url"),
            Rule(f"!has(self.url) || {_PORT}", "names a port that there is not: 1 to 65535", at=".url"),
            only_with("model", _OPENAI, "has a meaning with protocol OpenAI only"),
            only_with("prompt", f"self.prompt == '' || {_OPENAI}", "has a meaning with protocol OpenAI only"),
            only_with("promptRef", _OPENAI, "has a meaning with protocol OpenAI only"),
            Rule(
                f"!({_OPENAI}) || (has(self.model) && self.model != '')",
                "is required with protocol OpenAI",
                at=".model",
                reason=REQUIRED,
            ),
            Rule(
                "!has(self.promptRef) || !has(self.prompt) || self.prompt == ''",
                "there are two prompts: prompt or promptRef",
                at=".promptRef",
                reason=FORBIDDEN,
            ),
        )
    ),
    "CredentialRef": Guard((_ONE_TOKEN,)),
    "Backoff": Guard((Rule("self.baseMs <= self.maxMs", "is above maxMs", at=".baseMs"),)),
    "OnFailure": Guard(
        (
            only_with("component", "self.type == 'Component'", "has a meaning with type Component only"),
            required_with("component", "self.type == 'Component'", "is required with type Component"),
        ),
        {
            "allOf": [
                {"anyOf": [{"required": ["value"]}, {"properties": {"type": {"not": {"enum": ["Value"]}}}}]},
                {"anyOf": [{"not": {"required": ["value"]}}, {"properties": {"type": {"enum": ["Value"]}}}]},
            ]
        },
    ),
    "FieldPolicy": Guard(
        shape={
            "allOf": [
                {"anyOf": [{"required": ["value"]}, {"properties": {"policy": {"not": {"enum": ["Map"]}}}}]},
                {"anyOf": [{"not": {"required": ["value"]}}, {"properties": {"policy": {"enum": ["Map"]}}}]},
            ]
        },
    ),
    "MirrorStub": Guard(shape={"oneOf": [{"required": ["value"]}, {"required": ["endpoint"]}]}),
    "SemanticDomain": Guard(
        (
            only_with("mapTo", "self.onUnknown == 'Map'", "has a meaning with onUnknown: Map only"),
            Rule(
                "self.onUnknown != 'Map' || (has(self.mapTo) && self.values.exists(v, v.value == self.mapTo))",
                "onUnknown: Map needs one of the values to map to",
                at=".mapTo",
                reason=REQUIRED,
            ),
        )
    ),
    "Strategy": Guard(
        (
            Rule(_ORDER_OF_STAGES, f"stages are passed in the order {_ORDER}; write them so", at=".stages"),
            Rule(
                "!has(self.skipStages) || !('Full' in self.skipStages)",
                "Full cannot be skipped: it is where a rollout ends",
                at=".skipStages",
                reason=FORBIDDEN,
            ),
            Rule(
                "!has(self.stages) || !has(self.skipStages) || !self.stages.exists(s, s.name in self.skipStages)",
                "a stage is configured and skipped as well",
                at=".stages",
            ),
        )
    ),
    "StageSpec": Guard(
        (
            Rule(
                "!has(self.share) || self.share.numerator > 0",
                "would get no traffic and never end",
                at=".share",
            ),
            Rule(
                "self.name != 'Full' || !has(self.share) || self.share.numerator == self.share.denominator",
                "in Full the candidate answers everybody",
                at=".share",
            ),
            Rule(
                "!has(self.reviewFallbacks) || self.reviewFallbacks == 0 || self.name == 'Controlled'",
                "fallbacks are sampled for review in Controlled only",
                at=".reviewFallbacks",
                reason=FORBIDDEN,
            ),
            *(
                Rule(
                    f"!has(self.{field}) || self.{field}.numerator == 0 || self.name in {_MIRRORED}",
                    "this stage mirrors nothing: in Canary and Shadow only",
                    at=f".{field}",
                    reason=FORBIDDEN,
                )
                for field in ("controlShare", "ablationShare", "versionShare")
            ),
            Rule(
                "!has(self.minDurationSeconds) || !has(self.maxDurationSeconds) || "
                "self.minDurationSeconds <= self.maxDurationSeconds",
                "is below minDurationSeconds",
                at=".maxDurationSeconds",
            ),
            Rule(
                f"!has(self.gates) || self.gates.exists(g, g.required && g.signal in {_STOPS})",
                f"no safety gate, a bad candidate could not be stopped: at least one required gate on {_SAFETY}",
                at=".gates",
                reason=REQUIRED,
            ),
            Rule(
                "!has(self.gates) || self.gates.all(g, g.signal == 'External' || self.gates.exists_one(h, h.signal == g.signal))",
                "there are two gates on one signal",
                at=".gates",
            ),
            Rule(
                f"!has(self.gates) || self.name in {_MIRRORED} || !self.gates.exists(g, g.signal in {_PAIRED})",
                f"each request is seen by one arm here, so answers cannot be compared: {_PAIRED} in {_MIRRORED} only",
                at=".gates",
                reason=FORBIDDEN,
            ),
            Rule(
                "!has(self.gates) || (has(self.ablationShare) && self.ablationShare.numerator > 0) || "
                "!self.gates.exists(g, g.signal == 'RewardShapleyVariance')",
                "contributions are measured by ablation, and this stage has none",
                at=".gates",
                reason=REQUIRED,
            ),
        )
    ),
    "Gate": Guard(
        (
            *(
                Rule(
                    f"!has(self.{field}) || (double(self.{field}) > 0.0 && double(self.{field}) < 1.0)",
                    "must lie above 0 and below 1: no number of runs shows 0, nothing is worse by 1",
                    at=f".{field}",
                )
                for field in ("margin", "delta", "deltaPhi")
            ),
            Rule("has(self.source) == (self.signal == 'External')", "needs exactly one of signal and source"),
            required_with(
                "delta", "self.signal == 'RewardShapleyVariance'", "is required with RewardShapleyVariance"
            ),
        )
    ),
    "Source": Guard(
        (
            Rule(
                "[has(self.prometheus), has(self.web), has(self.job)].filter(given, given).size() == 1",
                "needs exactly one provider: prometheus, web or job",
            ),
            only_with(
                "credentialRef",
                "!has(self.job)",
                "has no meaning with a Job: give it to the Job by env[].secretKeyRef",
            ),
        )
    ),
    "PrometheusSource": _PROVIDER,
    "WebSource": _PROVIDER,
    "JobVariable": Guard(
        (
            Rule("has(self.value) != has(self.secretKeyRef)", "needs exactly one of value and secretKeyRef"),
            Rule(
                "self.name != 'SLUICEGATE_RESULT'",
                "is set already: the file that takes the result",
                at=".name",
                reason=FORBIDDEN,
            ),
        )
    ),
    "SourceCredential": Guard((_ONE_TOKEN,)),
    "Limit": Guard(
        (
            Rule(
                "has(self.min) || has(self.max) || has(self.aboveStable) || has(self.belowStable)",
                "limits nothing: needs min, max, aboveStable or belowStable",
            ),
        )
    ),
    "ErrorBudget": Guard(
        tuple(
            Rule(
                f"double(self.{field}) > 0.0 && double(self.{field}) <= 0.5",
                "must lie above 0, at most 0.5: no test can keep anything else",
                at=f".{field}",
            )
            for field in ("abort", "promote")
        )
    ),
}
