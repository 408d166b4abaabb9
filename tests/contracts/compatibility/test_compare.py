"""Two versions of a workflow: what breaks whom, and how bad it is."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from sluicegate.contracts.compatibility import Level, Verdict, compare
from sluicegate.contracts.compatibility.codes import CODES
from sluicegate.contracts.diagnostics import Severity
from sluicegate.contracts.resources.workflow import AgentWorkflow
from tests.contracts import files

Spec = dict[str, Any]
OLD = AgentWorkflow.model_validate(files.example())


def changed(change: Callable[[Spec], Any]) -> AgentWorkflow:
    data = copy.deepcopy(files.example())
    change(data["spec"])
    return AgentWorkflow.model_validate(data)


def component(spec: Spec, name: str) -> Spec:
    return next(item for item in spec["components"] if item["name"] == name)


def query(spec: Spec) -> Spec:
    found: Spec = spec["contract"]["input"]["properties"]["user_query"]
    return found


def rename_answer(spec: Spec) -> None:
    output = spec["contract"]["output"]
    output["properties"]["respnse"] = output["properties"].pop("response")
    output["required"] = ["respnse"]
    spec["output"]["respnse"] = spec["output"].pop("response")


def values(spec: Spec) -> list[Any]:
    found: list[Any] = spec["contract"]["semantics"][0]["values"]
    return found


def move_alias(spec: Spec) -> None:
    values(spec)[1]["aliases"] = [values(spec)[0]["aliases"].pop()]


BREAKING: dict[str, tuple[Callable[[Spec], Any], str, str, str, str | None]] = {
    "a shorter text": (
        lambda s: query(s).update(maxLength=3), "InputNarrowed", "spec.contract.input", "callers", '{"user_query": "aaaa"}'
    ),
    "a new required field": (
        lambda s: s["contract"]["input"]["required"].append("tier"), "InputNarrowed", "spec.contract.input", "callers",
        '{"user_query": "a"}',
    ),
    "a renamed field of the answer": (rename_answer, "OutputWidened", "spec.contract.output", "callers", '{"respnse": ""}'),
    "a field of the answer that is gone": (
        lambda s: s["output"].pop("confidence"), "OutputFieldRemoved", "spec.output", "callers", "confidence"
    ),
    "a wider range that the answer's contract refuses": (
        lambda s: component(s, "writer")["contract"]["output"]["properties"]["confidence"].update(maximum=100),
        "OutputNotCovered", "spec.output.confidence", "callers", "100",
    ),
    "a step that takes fewer intents than the planner gives": (
        lambda s: component(s, "writer")["contract"]["input"].update(properties={"intent": {"enum": ["track_order", "other"]}}),
        "InputNotCovered", "spec.steps[2].inputs.intent", "steps.answer", '"cancel_order"',
    ),
    "a later answer": (
        lambda s: s["contract"]["sla"].update(maxLatencyMs=2000), "PromiseLoosened", "spec.contract.sla.maxLatencyMs",
        "callers", "1200 → 2000",
    ),
    "fewer successes": (
        lambda s: s["contract"]["sla"].update(minSuccessRate="0.9"), "PromiseLoosened",
        "spec.contract.sla.minSuccessRate", "callers", "0.97 → 0.9",
    ),
    "a promise that is withdrawn": (
        lambda s: s["contract"]["sla"].pop("maxFallbackRate"), "PromiseLoosened", "spec.contract.sla.maxFallbackRate",
        "callers", "0.05 → nothing",
    ),
    "a word less": (
        lambda s: values(s).pop(1), "MeaningRemoved", "spec.contract.semantics[0].values", "steps.answer", "cancel_order"
    ),
    "an alias that moved": (
        move_alias, "MeaningChanged", "spec.contract.semantics[0].values", "steps.answer", "where is my parcel"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BREAKING)
def test_breaks_with_a_witness(what: str) -> None:
    change, code, path, consumer, witness = BREAKING[what]
    found = compare(OLD, changed(change))
    assert found.verdict is Verdict.BREAKING
    errors = [item for item in found.errors if item.code == code]
    assert [(item.path, item.witness) for item in errors] == [(path, witness)]
    verdicts = {one.name: one for one in found.consumers}
    assert verdicts[consumer].verdict is Verdict.BREAKING
    assert code in verdicts[consumer].reasons


def drop_step(spec: Spec) -> None:
    del spec["steps"][3]
    del spec["reward"]


def narrow_answer(spec: Spec) -> None:
    for contract in (spec["contract"], component(spec, "writer")["contract"]):
        contract["output"]["properties"]["confidence"]["minimum"] = 0.5


HARMLESS: dict[str, tuple[Callable[[Spec], Any], str | None, Severity]] = {
    "nothing": (lambda s: None, None, Severity.INFO),
    "a longer text": (lambda s: query(s).update(maxLength=9999), None, Severity.INFO),
    "a new optional field": (
        lambda s: s["contract"]["input"]["properties"].update(tier={"enum": ["gold"]}), None, Severity.INFO
    ),
    "a narrower answer, from a component that keeps to it": (narrow_answer, None, Severity.INFO),
    "a faster answer": (
        lambda s: s["contract"]["sla"].update(maxLatencyMs=900), "PromiseTightened", Severity.INFO
    ),
    "a component that promises less": (
        lambda s: component(s, "judge")["sla"].update(maxLatencyMs=9000), "PromiseLoosened", Severity.WARNING
    ),
    "a word more": (lambda s: values(s).append({"value": "praise"}), "MeaningAdded", Severity.INFO),
    "another condition": (lambda s: s["steps"][1].update(when="true"), "ConditionChanged", Severity.WARNING),
    "another mapping": (
        lambda s: s["steps"][0]["inputs"].update(user_query="input.user_query + ''"), "MappingChanged", Severity.WARNING
    ),
    "a step less": (drop_step, "StepRemoved", Severity.WARNING),
    "no side effects any more": (
        lambda s: component(s, "orders").update(sideEffects="None"), "EffectsChanged", Severity.INFO
    ),
    "not idempotent any more": (
        lambda s: component(s, "planner").update(idempotent=False), "IdempotenceChanged", Severity.WARNING
    ),
    "another rule set": (lambda s: s["businessFallback"].update(ruleSet="other"), "RuleSetChanged", Severity.WARNING),
    "fewer attempts": (lambda s: component(s, "planner")["retry"].update(maxAttempts=1), "RetryChanged", Severity.INFO),
}  # fmt: skip


@pytest.mark.parametrize("what", HARMLESS)
def test_is_told_and_breaks_nobody(what: str) -> None:
    change, code, severity = HARMLESS[what]
    found = compare(OLD, changed(change))
    assert found.verdict is Verdict.COMPATIBLE
    assert all(one.verdict is Verdict.COMPATIBLE for one in found.consumers)
    told = {item.code: item.severity for item in found.diagnostics}
    assert told.get(code or "") is (severity if code else None)
    assert code is not None or not told


def test_an_output_that_grows_unread_is_a_warning() -> None:
    """Nobody reads the status of an order in a typed field; the writer takes any object."""
    found = compare(
        OLD,
        changed(
            lambda s: component(s, "orders")["contract"]["output"]["properties"]["status"]["enum"].append(
                "lost"
            )
        ),
    )
    assert found.verdict is Verdict.COMPATIBLE
    assert [(item.code, item.witness) for item in found.diagnostics] == [
        ("ComponentOutputWidened", '{"status": "lost"}')
    ]


def test_a_renamed_field_is_guessed() -> None:
    found = compare(OLD, changed(rename_answer))
    assert (
        found.errors[0].hint
        == "did response become respnse? Keep the old name beside the new one until nobody uses it"
    )


def test_what_is_not_proven_is_unknown() -> None:
    """Two recursive patterns: nobody knows which texts both match."""
    old = changed(lambda s: query(s).update(pattern="^(abab)*$"))
    found = compare(old, changed(lambda s: query(s).update(pattern="^(ab)*$")))
    assert found.verdict is Verdict.UNKNOWN
    assert [(item.code, item.severity) for item in found.errors] == [("NotProven", Severity.ERROR)]


def test_levels_say_what_counts() -> None:
    narrower, later = (
        changed(lambda s: query(s).update(maxLength=3)),
        changed(lambda s: s["contract"]["sla"].update(maxLatencyMs=2000)),
    )
    typed = changed(lambda s: query(s).update(type="integer"))
    verdicts = {
        level: [
            compare(OLD, new, level=level).verdict is Verdict.BREAKING for new in (typed, narrower, later)
        ]
        for level in Level
    }
    assert verdicts == {
        Level.WIRE: [True, False, False],
        Level.SCHEMA: [True, True, False],
        Level.SEMANTIC: [True, True, True],
    }


def test_the_same_two_versions_give_the_same_comparison() -> None:
    new = changed(rename_answer)
    assert compare(OLD, new) == compare(OLD, new)


def test_every_code_is_explained() -> None:
    told = {code for _, code, *_ in BREAKING.values()} | {code for _, code, _ in HARMLESS.values() if code}
    assert told - {"InputNotCovered", "OutputNotCovered"} <= set(CODES)
