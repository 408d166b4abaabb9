"""Every code that a check of contracts may give, with what it means: a closed set, and the text of docs/reference/contract-findings.md."""

from collections.abc import Mapping
from typing import Final

from sluicegate.contracts.diagnostics import Code

_BUDGETS: Final[Mapping[str, Code]] = {
    "RetryAmplification": Code(
        title="retries multiply",
        meaning="One user request may cause this many calls at one destination: attempts of the callers × attempts of the gateway × rounds of the "
        "component's own loop × attempts of its client, stand-ins and other steps with the same destination added. A destination that is in "
        "trouble gets that load on top. Without `sla.maxAmplification`: a warning above 4 calls, an error above 10 for each planned call; with it: an error above it.",
        remedy="Retry in one layer only, the one nearest to the caller that knows whether it helps. Lower `retry.maxAttempts`, `retry.attemptsBelow` or "
        "`sla.callerAttempts`, or state the limit that you want in `sla.maxAmplification`.",
    ),
    "LatencyBudget": Code(
        title="promised latencies add up to more",
        meaning="The promised latencies of the steps that a request waits for add up to more than `sla.maxLatencyMs` of the workflow. Steps that exclude one another are "
        "not added. If each promise is kept by a share q of n calls, the sum is kept by at least 1 - n(1 - q) of the runs (union bound): percentiles do not add, so "
        "the real percentile is most often lower. The worst case has every attempt time out and waits the longest back-off.",
        remedy="Lower what components promise, run a step `AfterAnswer`, or raise the workflow's `maxLatencyMs`.",
    ),
    "DeadRetry": Code(
        title="a retry that never runs",
        meaning="After that many time-outs nothing is left of the run's deadline (four times `sla.maxLatencyMs`, at most ten minutes), so the next attempt cannot begin. "
        "An error when the retry can never run whatever the deadline is: it waits for a time-out only, and one attempt takes all that is left.",
        remedy="Lower `timeoutMs`, so that all attempts fit, or `retry.maxAttempts`.",
    ),
    "AvailabilityBudget": Code(
        title="success rates multiply to less",
        meaning="The success rates that the components promise multiply to less than `sla.minSuccessRate` of the workflow. A retry helps only against failures that are independent: of the "
        "failures a share of 0.2 is taken to have a common cause (an outage, the same prompt) which no retry removes. Both numbers are told. A step that is skipped, or "
        "answers with a value when it fails, does not count.",
        remedy="Give the weakest step a fallback (`onFailure`), let it promise more, or lower the workflow's promise.",
    ),
    "FallbackBudget": Code(
        title="fallbacks add up to more",
        meaning="The fallback rates that the steps of a request allow add up to more than `sla.maxFallbackRate` of the workflow: 1 - (1 - f₁)(1 - f₂)… for independent fallbacks.",
        remedy="Lower `sla.maxFallbackRate` of components, or raise the workflow's.",
    ),
    "CostBudget": Code(
        title="a run may cost more",
        meaning="Calls × `cost.maxPerCall`, added over the steps that may run together, with every retry, round and stand-in, is more than `sla.maxCostPerRun`. Attempts of the callers are runs of their own.",
        remedy="Lower attempts, rounds or `maxPerCall`, or raise `maxCostPerRun`.",
    ),
}

_FALLBACKS: Final[Mapping[str, Code]] = {
    "FallbackUnreachable": Code(
        title="the declared fallback cannot answer",
        meaning="A stand-in is never asked, cannot take what the step sends, has no time left after the attempts before it, or the chain of stand-ins ends in a component that may fail as well.",
        remedy="End the chain with `onFailure: {type: Value}` or `Skip`, keep it at four stand-ins, and let their input contracts take the step's mapping.",
    ),
    "FallbackInvalid": Code(
        title="the fallback value breaks the next step",
        meaning="When the component fails, its declared value goes to a step whose mapping cannot read it, or whose input contract refuses it: the run fails in the next step instead.",
        remedy="Let the value have what the next step needs, or give that step a condition.",
    ),
    "RetryNotIdempotent": Code(
        title="something is done twice",
        meaning="Callers, or the component's own client, try again what changes the world and is not declared `idempotent`.",
        remedy="Make the component idempotent (a key per request) and say so, or take the retries away.",
    ),
    "StandInRepeatsEffect": Code(
        title="the stand-in may do it a second time",
        meaning="A component that changes the world may have done its work when it timed out; the component that stands in for it would do it again.",
        remedy="Make both idempotent under the same key, or answer with a value.",
    ),
    "MirrorReachesLive": Code(
        title="a mirrored run would reach the world",
        meaning="The stub that mirrored runs get instead of a Live component has the address of a Live component.",
        remedy="Give the stub a value, or the address of a sandbox.",
    ),
}

_GRAPH: Final[Mapping[str, Code]] = {
    "UnboundedCycle": Code(
        title="the workflow calls itself",
        meaning="A component's address is that of the workflow's own runs: each run begins another one, until something breaks.",
        remedy="Call the component behind it, or split the workflow in two.",
    ),
    "UnreachableStep": Code(
        title="the step can never run",
        meaning="Its condition needs the output of a step that never runs.",
        remedy="Correct the condition of the step that it waits for, or remove both.",
    ),
    "DeadEnd": Code(
        title="nobody uses the output",
        meaning="No later step, no output and no reward reads what the step gives, and its component changes nothing outside: users wait for nothing.",
        remedy="Use it, run it `AfterAnswer`, or remove the step. A guardrail that fails the run has `role: Guardrail` and `onFailure: {type: Fail}`.",
    ),
    "SkippedDependency": Code(
        title="the step before may be absent",
        meaning="An expression reads a step that may have been skipped (a condition, or `onFailure: Skip`) and does not test that with `has()`. It then fails, and with it the step. An error "
        "when that ends the run; a warning when the step has a fallback.",
        remedy="Write `has(steps.x) ? steps.x.y : …`, or give the step the same condition.",
    ),
    "MissingCorrelation": Code(
        title="nothing keeps a session together",
        meaning="A component changes the world, and without `routing.key` the requests of one session go to both versions during a rollout: what one began the other continues.",
        remedy="Set `routing: {key: input.session_id}`, or whatever the callers send.",
    ),
}

_CONDITIONS: Final[Mapping[str, Code]] = {
    "ConditionNotBool": Code(
        title="the condition is no condition",
        meaning="By the contract it gives something else than true or false, so that the step fails in every run.",
        remedy="Compare it with something.",
    ),
    "ConditionNeverTrue": Code(
        title="the condition never holds",
        meaning="No value that the contract and the semantic domain allow makes it true: the step never runs.",
        remedy="Correct the value, or the contract of the step that gives it.",
    ),
    "ConditionAlwaysTrue": Code(
        title="the condition always holds",
        meaning="No value that the contract and the semantic domain allow makes it false: it decides nothing.",
        remedy="Remove it, or correct the value.",
    ),
    "NotExhaustive": Code(
        title="some values have no step",
        meaning="Several steps divide the values of one field between them, and for the values named no one runs.",
        remedy="Add a step for them, or a condition with != that takes the rest.",
    ),
}

_EDGES: Final[Mapping[str, Code]] = {
    "InputNotCovered": Code(
        title="a component may get what it does not take",
        meaning="What the mapping puts into the field, by the contract of who gives it and its semantic domain, is more than the input contract of the component takes; the witness is such a value. An error when both "
        "contracts plainly speak of the matter (types, values, bounds); a warning when only the consumer's does, when a condition of the step may keep the value away, or where a contract is composed (`$ref`, `anyOf`). Nothing is told where the producer's contract says nothing.",
        remedy="Narrow the producer's output contract, widen the consumer's input, or map the value.",
    ),
    "EdgesNotCompared": Code(
        title="too much to compare",
        meaning="Comparing the contracts of one workflow takes at most a number of steps, so that nobody waits for minutes. From the edge at the path on, in the order of the steps, nothing was compared: neither a fault nor a proof.",
        remedy="Make contracts smaller or less nested, or divide the workflow.",
    ),
    "OutputNotCovered": Code(
        title="the answer may break the workflow's contract",
        meaning="What the answer is made of is more than `spec.contract.output` allows; the witness is such a value.",
        remedy="Narrow the contract of the step that gives it, or widen the workflow's.",
    ),
    "StandInNotCovered": Code(
        title="the stand-in does not take what the component took",
        meaning="A component that answers instead of another gets the same input, and its contract refuses some of it.",
        remedy="Let the stand-in take it, or choose another one.",
    ),
}

CODES: Final[Mapping[str, Code]] = {**_EDGES, **_BUDGETS, **_FALLBACKS, **_GRAPH, **_CONDITIONS}
