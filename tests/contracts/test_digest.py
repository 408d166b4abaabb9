"""RFC 8785 and what a revision's digest covers."""

import hashlib
import json
import struct
from random import Random  # noqa: TID251 - the type of what hypothesis gives
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.contracts.digest import canonical, digest_of, revision_digest
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from tests.contracts.files import example, minimal

# RFC 8785, appendix B: IEEE 754 bits -> text.
NUMBERS = {
    "0000000000000000": "0", "8000000000000000": "0", "0000000000000001": "5e-324", "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308", "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992", "c340000000000000": "-9007199254740992", "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22", "44b52d02c7e14af6": "1e+23", "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000", "444b1ae4d6e2ef4f": "999999999999999900000", "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7", "3eb0c6f7a0b5ed8d": "0.000001", "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325", "41b3de4355555555": "333333333.3333333", "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343", "becbf647612f3696": "-0.0000033333333333333333", "43143ff3c1cb0959": "1424953923781206.2",
}  # fmt: skip


@pytest.mark.parametrize("bits", NUMBERS)
def test_numbers_of_the_rfc(bits: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(number) == NUMBERS[bits].encode()


def test_example_of_the_rfc() -> None:
    """RFC 8785, section 3.2.2 and 3.2.3 (figure after sorting)."""
    text = r"""{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "€$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"""
    expected = r"""{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"""
    assert canonical(json.loads(text)) == expected.encode()


def test_names_sort_by_utf16_as_in_the_rfc() -> None:
    """RFC 8785, section 3.2.3."""
    data = {
        "€": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
        "😀": "Emoji: Grinning Face", "\u0080": "Control", "ö": "Latin Small Letter O With Diaeresis",
    }  # fmt: skip
    assert list(json.loads(canonical(data)).values()) == [
        "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign", "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]  # fmt: skip


def test_digest_names_its_algorithm() -> None:
    assert digest_of({"b": 1, "a": []}) == "sha256:" + hashlib.sha256(b'{"a":[],"b":1}').hexdigest()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, -(2**53)])
def test_what_json_cannot_carry_is_an_error(value: float) -> None:
    with pytest.raises(ValueError):
        canonical({"a": value})


def shuffled(value: Any, order: Random) -> Any:
    if isinstance(value, dict):
        items = list(value.items())
        order.shuffle(items)
        return {key: shuffled(item, order) for key, item in items}
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


def digest(data: dict[str, Any]) -> str:
    workflow = parse_data(data)
    assert isinstance(workflow, AgentWorkflow)
    return revision_digest(workflow.spec)


@given(st.randoms(use_true_random=False))
def test_digest_does_not_depend_on_the_order_of_fields(order: Random) -> None:
    assert digest(shuffled(example(), order)) == digest(example())


def test_digest_survives_a_round_trip() -> None:
    assert digest(parse_data(example()).to_json()) == digest(example())


def test_digest_of_a_file_never_changes() -> None:
    """Recorded when the format was made: a revision keeps its digest in every later version of the product."""
    assert digest(minimal()) == "sha256:62c3ffc3137082bfcf75ae494b22afb802c92848ab4dafa90db4288e67746514"


def test_a_default_written_out_digests_as_an_absent_field() -> None:
    assert digest(minimal(runtime="Managed", steps=[], contract={"input": True})) == digest(minimal())


DEPENDS = {
    "the address": ("components.0.endpoint.url", "http://other"),
    "the model": ("components.2.endpoint.model", "writer-v8"),
    "a prompt": ("components.2.endpoint.prompt", "Be kind."),
    "a prompt elsewhere": ("components.2.endpoint.promptRef.configMap", "writer-v8"),
    "a parameter": ("components.2.endpoint.parameters", {"temperature": 0.5}),
    "the protocol": ("components.0.endpoint.protocol", "Http"),
    "a component's version": ("components.0.version", "v2"),
    "side effects": ("components.0.sideEffects", "Sandboxed"),
    "retries": ("components.0.retry.maxAttempts", 3),
    "a breaker": ("components.0.circuitBreaker.minCalls", 21),
    "a timeout": ("components.0.timeoutMs", 100),
    "the fallback": ("components.0.onFailure.value.intent", "cancel_order"),
    "a stub": ("components.1.mirrorStub.value.status", "pending"),
    "a component's contract": ("components.0.contract.output.required", ["intent"]),
    "a condition": ("steps.1.when", "true"),
    "a mapping": ("steps.2.inputs.intent", '"x"'),
    "a phase": ("steps.3.phase", "InRequest"),
    "the output": ("output.confidence", "1.0"),
    "the reward": ("reward", "1.0"),
    "the contract": ("contract.input.required", []),
    "the SLA": ("contract.sla.maxLatencyMs", 1300),
    "a domain": ("contract.semantics.0.onUnknown", "Map"),
    "the fallback rules": ("businessFallback.ruleSet", "other"),
    "null instead of nothing": ("components.1.mirrorStub.value.note", None),
}  # fmt: skip
INDEPENDENT = {
    "the label of the version": ("version", "2.3.2"),
    "the strategy": ("rollout.stages.0.minRuns", 2000),
    "the traffic": ("expectedRunsPerHour", 7200),
    "the routing": ("routing.key", "input.user_query"),
    "what is kept": ("lineage.hotDays", 8),
    "retraining": ("retraining", []),
    "when the fallback is rehearsed": ("businessFallback.drill.schedule", "0 10 1 * *"),
    "the reason": ("changeReason", "because"),
}


@pytest.mark.parametrize("sentence", DEPENDS)
def test_digest_changes_with(sentence: str) -> None:
    assert digest(example(DEPENDS[sentence])) != digest(example())


@pytest.mark.parametrize("sentence", INDEPENDENT)
def test_digest_does_not_change_with(sentence: str) -> None:
    assert digest(example(INDEPENDENT[sentence])) == digest(example())


def test_order_of_steps_is_part_of_the_digest() -> None:
    spec = example()["spec"]
    assert digest(example(("steps", list(reversed(spec["steps"]))))) != digest(example())
