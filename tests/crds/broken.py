"""For every CEL rule an object that breaks it: sentence -> (object, field, reason, words of the message)."""

from typing import Any

from tests.contracts import files, kinds
from tests.contracts.files import component, example, minimal

Json = dict[str, Any]
Case = tuple[Json, str, str, str]

INVALID, FORBIDDEN, REQUIRED = "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"


def edited(kind: str, *edits: tuple[str, Any]) -> Json:
    """The full object of a kind, edited as files are."""
    return files.edited(kinds.of(kind), *edits)


def agent(**fields: Any) -> Json:
    return minimal(components=[component(**fields)])


def stage(name: str, **fields: Any) -> Json:
    return minimal(rollout={"stages": [{"name": name} | fields]})


def sourced(source: Json) -> Json:
    """A second gate in Shadow, with a source."""
    return stage("Shadow", gates=[*gates("WorkflowSuccessRate"), {"name": "outside", "source": source}])


def gates(*signals: str, **fields: Any) -> list[Json]:
    return [{"name": f"g{place}", "signal": signal} | fields for place, signal in enumerate(signals)]


_SUCCESS = "WorkflowSuccessRate"
_GATE = "spec.rollout.stages[0].gates[1]"
_WEB = {"url": "http://a/{{arm}}", "value": "v"}
_SOURCE: Json = {"prometheus": {"url": "http://a", "bad": "b", "total": "t"}}
_SERVICE = {"route": {"name": "r"}, "backend": {"name": "b", "port": 80}}
_STEPS = [{"name": "a", "component": "agent"}]
_AFTER = {"name": "after", "component": "agent", "phase": "AfterAnswer"}
_CELL = "spec.rules[0].when"

WORKFLOWS: dict[str, Case] = {
    "runtime Service without a service": (minimal(runtime="Service", components=[]), "spec.service", REQUIRED, "is required with runtime Service"),
    "a service of runtime Managed": (minimal(service=_SERVICE), "spec.service", FORBIDDEN, "has a meaning with runtime Service only"),
    "components of runtime Service": (minimal(runtime="Service", service=_SERVICE), "spec.components", FORBIDDEN, "are none of runtime Service"),
    "no components": (minimal(components=[]), "spec.components", REQUIRED, "nothing answers the request"),
    "components without an order": (minimal(components=[component(), component("b")]), "spec.steps", REQUIRED, "in which order"),
    "a step of an unknown component": (minimal(steps=[{"name": "a", "component": "b"}]), "spec.steps", INVALID, "not declared under spec.components"),
    "only steps after the answer": (minimal(steps=[_AFTER]), "spec.steps", INVALID, "no step answers the request"),
    "a request step after the answer": (minimal(steps=[*_STEPS, _AFTER, {"name": "b", "component": "agent"}]), "spec.steps", INVALID, "stands after one"),
    "a fallback to an unknown component": (agent(onFailure={"type": "Component", "component": "b"}), "spec.components", INVALID, "must be another component"),
    "a fallback to itself": (agent(onFailure={"type": "Component", "component": "agent"}), "spec.components", INVALID, "must be another component"),
    "retraining of an unknown component": (
        minimal(retraining=[{"component": "b", "when": {}, "backend": {}}]), "spec.retraining", INVALID, "names a component that is not declared",
    ),
    "a Live component that mirrors would call": (agent(sideEffects="Live"), "spec.components", REQUIRED, "a Live component would be called"),
    "retries of what may not be repeated": (agent(retry={"maxAttempts": 2}), "spec.components[0].retry.maxAttempts", FORBIDDEN, "only idempotent components"),
    "no address": (agent(endpoint={}), "spec.components[0].endpoint", INVALID, "needs exactly one address"),
    "two addresses": (agent(endpoint={"url": "http://a", "serviceRef": {"name": "a", "port": 80}}), "spec.components[0].endpoint", INVALID, "needs exactly one address"),
    "two addresses of a stub": (
        agent(mirrorStub={"endpoint": {"url": "http://a", "serviceRef": {"name": "a", "port": 80}}}), "spec.components[0].mirrorStub.endpoint", INVALID, "needs exactly one address",
    ),
    "an address without a host": (agent(endpoint={"url": "http://:80/"}), "spec.components[0].endpoint.url", INVALID, "names no host"),
    "port 0": (agent(endpoint={"url": "http://a:0/"}), "spec.components[0].endpoint.url", INVALID, "a port that there is not"),
    "port 65536": (agent(endpoint={"url": "http://a:65536/"}), "spec.components[0].endpoint.url", INVALID, "a port that there is not"),
    "a port of a hundred digits": (agent(endpoint={"url": "http://a:" + "9" * 100}), "spec.components[0].endpoint.url", INVALID, "a port that there is not"),
    "a model of plain HTTP": (agent(endpoint={"url": "http://a", "model": "m"}), "spec.components[0].endpoint.model", FORBIDDEN, "has a meaning with protocol OpenAI only"),
    "a prompt of plain HTTP": (agent(endpoint={"url": "http://a", "prompt": "p"}), "spec.components[0].endpoint.prompt", FORBIDDEN, "has a meaning with protocol OpenAI only"),
    "a prompt elsewhere of plain HTTP": (
        agent(endpoint={"url": "http://a", "promptRef": {"configMap": "c"}}), "spec.components[0].endpoint.promptRef", FORBIDDEN, "has a meaning with protocol OpenAI only",
    ),
    "OpenAI without a model": (agent(endpoint={"url": "http://a", "protocol": "OpenAI"}), "spec.components[0].endpoint.model", REQUIRED, "is required with protocol OpenAI"),
    "two prompts": (
        agent(endpoint={"url": "http://a", "protocol": "OpenAI", "model": "m", "prompt": "p", "promptRef": {"configMap": "c"}}),
        "spec.components[0].endpoint.promptRef", FORBIDDEN, "there are two prompts",
    ),
    "two tokens": (
        agent(endpoint={"url": "http://a", "credentialRef": {"env": "A", "secretKeyRef": {"name": "s", "key": "k"}}}),
        "spec.components[0].endpoint.credentialRef", INVALID, "needs exactly one place of the token",
    ),
    "no token": (agent(endpoint={"url": "http://a", "credentialRef": {}}), "spec.components[0].endpoint.credentialRef", INVALID, "needs exactly one place of the token"),
    "a back-off that shrinks": (agent(retry={"backoff": {"baseMs": 50, "maxMs": 5}}), "spec.components[0].retry.backoff.baseMs", INVALID, "is above maxMs"),
    "a fallback component of another type": (
        agent(onFailure={"type": "Skip", "component": "b"}), "spec.components[0].onFailure.component", FORBIDDEN, "has a meaning with type Component only",
    ),
    "a fallback without its component": (agent(onFailure={"type": "Component"}), "spec.components[0].onFailure.component", REQUIRED, "is required with type Component"),
    "a domain that fails and maps": (example(("contract.semantics.0.mapTo", "other")), "spec.contract.semantics[0].mapTo", FORBIDDEN, "has a meaning with onUnknown: Map only"),
    "a domain that maps to nothing": (
        example(("contract.semantics.0.onUnknown", "Map")), "spec.contract.semantics[0].mapTo", REQUIRED, "needs one of the values to map to",
    ),
    "stages out of order": (minimal(rollout={"stages": [{"name": "Full"}, {"name": "Canary"}]}), "spec.rollout.stages", INVALID, "stages are passed in the order"),
    "Full skipped": (minimal(rollout={"skipStages": ["Full"]}), "spec.rollout.skipStages", FORBIDDEN, "Full cannot be skipped"),
    "a stage configured and skipped": (
        minimal(rollout={"stages": [{"name": "Shadow"}], "skipStages": ["Shadow"]}), "spec.rollout.stages", INVALID, "is configured and skipped as well",
    ),
    "a stage without traffic": (stage("Canary", share={"numerator": 0}), "spec.rollout.stages[0].share", INVALID, "would get no traffic"),
    "half of Full": (stage("Full", share={"numerator": 50}), "spec.rollout.stages[0].share", INVALID, "answers everybody"),
    "a share above 1": (stage("Canary", share={"numerator": 101}), "spec.rollout.stages[0].share.numerator", INVALID, "is above the denominator"),
    "reviews in Canary": (stage("Canary", reviewFallbacks=1), "spec.rollout.stages[0].reviewFallbacks", FORBIDDEN, "in Controlled only"),
    "a second stable in Full": (stage("Full", controlShare={"numerator": 1}), "spec.rollout.stages[0].controlShare", FORBIDDEN, "mirrors nothing"),
    "ablation in Controlled": (stage("Controlled", ablationShare={"numerator": 1}), "spec.rollout.stages[0].ablationShare", FORBIDDEN, "mirrors nothing"),
    "a stage that must end before it may": (
        stage("Canary", minDurationSeconds=9, maxDurationSeconds=8), "spec.rollout.stages[0].maxDurationSeconds", INVALID, "is below minDurationSeconds",
    ),
    "no safety gate": (stage("Shadow", gates=gates("ResponseDisagreement")), "spec.rollout.stages[0].gates", REQUIRED, "no safety gate"),
    "a safety gate that is not required": (stage("Shadow", gates=gates(_SUCCESS, required=False)), "spec.rollout.stages[0].gates", REQUIRED, "no safety gate"),
    "two gates on one signal": (stage("Shadow", gates=gates(_SUCCESS, _SUCCESS)), "spec.rollout.stages[0].gates", INVALID, "two gates on one signal"),
    "disagreement in Controlled": (
        stage("Controlled", gates=gates(_SUCCESS, "ResponseDisagreement")), "spec.rollout.stages[0].gates", FORBIDDEN, "each request is seen by one arm",
    ),
    "versions mixed in Controlled": (stage("Controlled", versionShare={"numerator": 1}), "spec.rollout.stages[0].versionShare", FORBIDDEN, "mirrors nothing"),
    "contributions without ablation": (
        stage("Shadow", gates=gates(_SUCCESS, "RewardShapleyVariance", delta="0.01")), "spec.rollout.stages[0].gates", REQUIRED, "measured by ablation",
    ),
    "contributions without a delta": (
        stage("Shadow", ablationShare={"numerator": 1}, gates=gates(_SUCCESS, "RewardShapleyVariance")),
        "spec.rollout.stages[0].gates[1].delta", REQUIRED, "is required with RewardShapleyVariance",
    ),
    "a deltaPhi of 1": (
        stage("Shadow", ablationShare={"numerator": 1}, gates=gates(_SUCCESS, "RewardShapleyVariance", delta="0.01", deltaPhi="1.0")),
        "spec.rollout.stages[0].gates[1].deltaPhi", INVALID, "above 0 and below 1",
    ),
    "a delta of 0": (
        stage("Shadow", ablationShare={"numerator": 1}, gates=gates(_SUCCESS, "RewardShapleyVariance", delta="0.0")),
        "spec.rollout.stages[0].gates[1].delta", INVALID, "above 0 and below 1",
    ),
    "a margin of 0": (stage("Shadow", gates=gates(_SUCCESS, margin="0.00")), "spec.rollout.stages[0].gates[0].margin", INVALID, "above 0 and below 1"),
    "a margin of 1": (stage("Shadow", gates=gates(_SUCCESS, margin="1.0")), "spec.rollout.stages[0].gates[0].margin", INVALID, "above 0 and below 1"),
    "neither signal nor source": (stage("Shadow", gates=[*gates(_SUCCESS), {"name": "x"}]), "spec.rollout.stages[0].gates[1]", INVALID, "exactly one of signal and source"),
    "signal and source": (stage("Shadow", gates=gates(_SUCCESS, source=_SOURCE)), "spec.rollout.stages[0].gates[0]", INVALID, "exactly one of signal and source"),
    "a source without a provider": (sourced({}), f"{_GATE}.source", INVALID, "exactly one provider"),
    "a source with two providers": (sourced(_SOURCE | {"web": _WEB}), f"{_GATE}.source", INVALID, "exactly one provider"),
    "a source with a query and a Job": (sourced(_SOURCE | {"job": {"image": "a"}}), f"{_GATE}.source", INVALID, "exactly one provider"),
    "a token of a Job": (
        sourced({"job": {"image": "a"}, "credentialRef": {"env": "SLUICEGATE_SOURCE_A"}}), f"{_GATE}.source.credentialRef", FORBIDDEN, "no meaning with a Job",
    ),
    "a variable of a Job without a value": (
        sourced({"job": {"image": "a", "env": [{"name": "A"}]}}), f"{_GATE}.source.job.env[0]", INVALID, "exactly one of value and secretKeyRef",
    ),
    "a variable of a Job that is set already": (
        sourced({"job": {"image": "a", "env": [{"name": "SLUICEGATE_RESULT", "value": "x"}]}}), f"{_GATE}.source.job.env[0].name", FORBIDDEN, "is set already",
    ),
    "a query and nothing to compare": (sourced({"web": {"url": "http://a"}}), f"{_GATE}.source.web", INVALID, "two counters, bad and total, or a value"),
    "a counter without its total": (sourced({"web": {"url": "http://a", "bad": "b"}}), f"{_GATE}.source.web", INVALID, "two counters, bad and total, or a value"),
    "a Prometheus query and nothing to compare": (
        sourced({"prometheus": {"url": "http://a"}}), f"{_GATE}.source.prometheus", INVALID, "two counters, bad and total, or a value",
    ),
    "samples of Prometheus counters": (
        sourced({"prometheus": _SOURCE["prometheus"] | {"samples": "s"}}), f"{_GATE}.source.prometheus.samples", FORBIDDEN, "with value only",
    ),
    "counters and a value": (sourced({"web": _WEB | {"bad": "b", "total": "t"}}), f"{_GATE}.source.web", INVALID, "two counters, bad and total, or a value"),
    "samples of counters": (
        sourced({"web": {"url": "http://a", "bad": "b", "total": "t", "samples": "s"}}), f"{_GATE}.source.web.samples", FORBIDDEN, "with value only",
    ),
    "a source without a host": (sourced({"web": _WEB | {"url": "http://:80/"}}), f"{_GATE}.source.web.url", INVALID, "names no host"),
    "a Prometheus without a host": (
        sourced({"prometheus": _SOURCE["prometheus"] | {"url": "http://:80/"}}), f"{_GATE}.source.prometheus.url", INVALID, "names no host",
    ),
    "a source with two tokens": (
        sourced(_SOURCE | {"credentialRef": {"env": "SLUICEGATE_SOURCE_A", "secretKeyRef": {"name": "s", "key": "k"}}}),
        f"{_GATE}.source.credentialRef", INVALID, "needs exactly one place of the token",
    ),
    "a limit of nothing": (sourced(_SOURCE | {"limit": {}}), f"{_GATE}.source.limit", INVALID, "limits nothing"),
    "an error budget of 0": (minimal(rollout={"errorBudget": {"abort": "0"}}), "spec.rollout.errorBudget.abort", INVALID, "at most 0.5"),
    "an error budget of a coin": (minimal(rollout={"errorBudget": {"promote": "0.51"}}), "spec.rollout.errorBudget.promote", INVALID, "at most 0.5"),
}  # fmt: skip

OTHERS: dict[str, Case] = {
    "an override without a reason": (edited("Decision", ("action", "Override"), ("reason", " ")), "spec.reason", REQUIRED, "is needed by Override"),
    "a full promote without a reason": (edited("Decision", ("full", True), ("reason", ...)), "spec.reason", REQUIRED, "is needed by Override"),
    "a full abort": (edited("Decision", ("action", "Abort"), ("full", True)), "spec.full", FORBIDDEN, "only of a Promote"),
    "a review of nothing": (edited("Decision", ("action", "Review")), "spec.review", REQUIRED, "a Review needs"),
    "a promote of any candidate": (edited("Decision", ("expected.candidate", ...)), "spec.expected.candidate", REQUIRED, "must be said by Promote"),
    "an approval of any attempt": (edited("Decision", ("action", "Approve"), ("expected", ...)), "spec.expected.attempt", REQUIRED, "must be said by Promote"),
    "an option that there is not": (edited("ChangeProposal", ("recommended", "never")), "spec.recommended", INVALID, "must be one of the options"),
    "half an interval": (edited("ChangeProposal", ("options.0.evidence.0.low", ...)), "spec.options[0].evidence[0]", INVALID, "has both ends"),
    "an interval upside down": (edited("ChangeProposal", ("options.0.evidence.0.low", "1")), "spec.options[0].evidence[0].low", INVALID, "is above high"),
    "an enum without values": (edited("FallbackRuleSet", ("columns.0.values", [])), "spec.columns[0].values", REQUIRED, "are required with type Enum"),
    "values of a number": (edited("FallbackRuleSet", ("columns.1.values", ["1"])), "spec.columns[1].values", FORBIDDEN, "have a meaning with type Enum only"),
    "a smallest enum": (edited("FallbackRuleSet", ("columns.0.minimum", "1")), "spec.columns[0].minimum", FORBIDDEN, "type Integer and Number only"),
    "a largest enum": (edited("FallbackRuleSet", ("columns.0.maximum", "1")), "spec.columns[0].maximum", FORBIDDEN, "type Integer and Number only"),
    "no numbers at all": (edited("FallbackRuleSet", ("columns.1.minimum", "2000")), "spec.columns[1].minimum", INVALID, "is above maximum"),
    "an empty cell": (edited("FallbackRuleSet", ("rules.0.when.intent", {})), f"{_CELL}[intent]", INVALID, "needs exactly one of oneOf"),
    "a set and a range": (edited("FallbackRuleSet", ("rules.0.when.intent.below", "9")), f"{_CELL}[intent]", INVALID, "needs exactly one of oneOf"),
    "runs of no time": (edited("RetrainingRun", ("data.until", "2025-01-01T00:00:00Z")), "spec.data.fromTime", INVALID, "must lie before until"),
    "fewer runs than needed": (edited("RetrainingRun", ("data.maxRuns", 9)), "spec.data.maxRuns", INVALID, "is below minRuns"),
    "by hand, and nobody's": (edited("RetrainingRun", ("trigger.requestedBy", ...)), "spec.trigger.requestedBy", REQUIRED, "is required with type Manual"),
    "the same version again": (edited("RetrainingRun", ("components.0.version", "v1")), "spec.components[0].version", INVALID, "is the version that it starts from"),
    "a quorum of nobody": (edited("GovernancePolicy", ("roles.0.name", "other"), ("breakGlass.roles", ["other"])), "spec.rules", INVALID, "a quorum names a role"),
    "a glass that nobody breaks": (edited("GovernancePolicy", ("breakGlass.roles", ["other"])), "spec.breakGlass.roles", INVALID, "names a role that is not declared"),
    "an exception to nothing": (edited("GovernancePolicy", ("exceptions.0.rules", ["other"])), "spec.exceptions", INVALID, "an exception names a rule"),
    "a freeze without an end": (edited("GovernancePolicy", ("freezes.0.endsAt", ...)), "spec.freezes[0]", INVALID, "needs startsAt and endsAt"),
    "a freeze that recurs for no time": (edited("GovernancePolicy", ("freezes.1.durationSeconds", ...)), "spec.freezes[1].durationSeconds", INVALID, "belongs to a schedule"),
    "a freeze that ends first": (edited("GovernancePolicy", ("freezes.0.endsAt", "2026-01-01T00:00:00Z")), "spec.freezes[0].endsAt", INVALID, "must lie after startsAt"),
}  # fmt: skip

# sentence -> (what is stored, what it becomes, field, words); the reason of all is FORBIDDEN
CHANGES: dict[str, tuple[Json, tuple[str, Any], str, str]] = {
    "another reason of a decision": (kinds.of("Decision"), ("reason", "other"), "spec", "is immutable"),
    "another salt of a rollout": (kinds.of("WorkflowRollout"), ("salt", "other"), "spec", "is immutable"),
    "another number of a revision": (kinds.of("WorkflowRevision"), ("number", 2), "spec", "is immutable"),
    "another schema in a revision": (
        kinds.of("WorkflowRevision"), ("body.components.0.contract.output.required", ["intent"]), "spec", "is immutable",
    ),
    "another value of a stub in a revision": (
        kinds.of("WorkflowRevision"), ("body.components.1.mirrorStub.value.status", "lost"), "spec", "is immutable",
    ),
    "another order to train": (kinds.of("RetrainingRun"), ("backend.parameters.beta", 0.2), "spec", "is immutable"),
    "another proposer": (kinds.of("ChangeProposal"), ("proposedBy", "bob"), "spec.proposedBy", "stays who it was"),
}  # fmt: skip
