"""What a comparison of two versions may say, for the reference page."""

from collections.abc import Mapping
from typing import Final

from sluicegate.contracts.diagnostics import Code

_MESSAGES: Final[Mapping[str, Code]] = {
    "InputNarrowed": Code(
        title="callers' input is refused",
        meaning="The new input contract does not take everything that the old one took; the witness is an input that callers may send today.",
        remedy="Only widen: make a new field optional, keep old values, raise bounds.",
    ),
    "OutputWidened": Code(
        title="callers get what they do not know",
        meaning="The new output contract allows answers that the old one did not; the witness is one.",
        remedy="Only narrow: keep required fields, give no new values of an enum.",
    ),
    "OutputFieldRemoved": Code(
        title="a field of the answer is gone",
        meaning="The mapping of the answer gave it, the new one does not, whatever the contract says.",
        remedy="Give the old and the new name until nobody reads the old one.",
    ),
    "ComponentInputNarrowed": Code(
        title="a component takes less",
        meaning="Its new input contract refuses what the old one took. A warning when every edge of the new workflow is known; an error for steps whose mapping has no type that could be checked.",
        remedy="Let it take what it took, or change the steps that call it.",
    ),
    "ComponentOutputWidened": Code(
        title="a component gives more",
        meaning="Its new output contract allows what the old one did not. A warning when every edge of the new workflow is known; an error for readers whose mapping has no type that could be checked.",
        remedy="Let the steps that read it take what is new.",
    ),
}
_PROMISES: Final[Mapping[str, Code]] = {
    "PromiseLoosened": Code(
        title="less is promised",
        meaning="A later latency, a lower success rate, more fallbacks, or no promise any more. An error towards callers, a warning of a component.",
        remedy="Keep the promise until callers have agreed to less.",
    ),
    "PromiseTightened": Code(
        title="more is promised",
        meaning="Nobody is hurt; the gates will judge by it.",
        remedy="See that it can be kept.",
    ),
    "DomainRemoved": Code(
        title="values have no meaning any more",
        meaning="The semantic domain of a field is gone: its values are no longer normalised or checked.",
        remedy="Keep the domain, or see that every reader takes any value.",
    ),
    "MeaningRemoved": Code(
        title="a known word is unknown",
        meaning="A value or an alias of a semantic domain is gone.",
        remedy="Keep it as an alias of what it means now.",
    ),
    "MeaningChanged": Code(
        title="a word means something else",
        meaning="A spelling became an alias of another value.",
        remedy="Take a new spelling for a new meaning.",
    ),
    "MeaningAdded": Code(
        title="a new word",
        meaning="A semantic domain has a value more.",
        remedy="See that who reads the field knows it.",
    ),
    "UnknownValuesChanged": Code(
        title="unknown values are treated in another way",
        meaning="`onUnknown` or `mapTo` changed. An error when what was taken is now refused.",
        remedy="Tell who sends them.",
    ),
}
_BEHAVIOUR: Final[Mapping[str, Code]] = {
    "MappingChanged": Code(
        title="a field is filled otherwise",
        meaning="The expression of a mapping is another one; whether its value still fits is checked, whether it means the same is not.",
        remedy="Look at it; compare answers in the Shadow stage.",
    ),
    "ConditionChanged": Code(
        title="a step runs on another condition",
        meaning="`when` is another expression.",
        remedy="Look at which inputs now take another way.",
    ),
    "StepAdded": Code(title="a step more", meaning="The workflow has a new step.", remedy="Nothing."),
    "StepRemoved": Code(
        title="a step less",
        meaning="The workflow lost a step; the witness names a new one that sounds like it.",
        remedy="See that nobody watches it by name (alerts, dashboards).",
    ),
    "StepChanged": Code(
        title="a step does something else",
        meaning="It calls another component, or runs before or after the answer now.",
        remedy="Look at it.",
    ),
    "ComponentRemoved": Code(
        title="a component less",
        meaning="No step can call it any more.",
        remedy="Retire it when no version uses it.",
    ),
    "EffectsChanged": Code(
        title="other side effects",
        meaning="`sideEffects` changed. A warning when there are more.",
        remedy="See what mirrored runs get instead (`mirrorStub`).",
    ),
    "IdempotenceChanged": Code(
        title="may be retried, or not any more",
        meaning="`idempotent` changed; retries count only where it is true.",
        remedy="See that retries are still meant.",
    ),
    "FailureChanged": Code(
        title="failures end otherwise",
        meaning="`onFailure` changed: other values or components stand in.",
        remedy="See that the steps behind it take them.",
    ),
    "RetryChanged": Code(
        title="other retries",
        meaning="`retry` changed.",
        remedy="See the findings RetryAmplification and LatencyBudget.",
    ),
    "RewardChanged": Code(
        title="another reward",
        meaning="Rewards of the two versions are not comparable.",
        remedy="Roll it out by itself, before a change that the reward should judge.",
    ),
    "RuleSetChanged": Code(
        title="other business rules",
        meaning="Another rule set answers after failures, or after another number of them.",
        remedy="See that the rule set is deployed and its answers fit the output contract.",
    ),
}

CODES: Final[Mapping[str, Code]] = {**_MESSAGES, **_PROMISES, **_BEHAVIOUR}
