"""Every fault is found, with its code and its witness, and nothing is found in its twin. `verification` lets all of them pass."""

from pathlib import Path

import pytest
import yaml

from sluicegate.contracts.analysis import analyse
from sluicegate.contracts.analysis.codes import CODES
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.verification import verify
from tests.contracts.analysis.faults import CLEAN, CONDITION, FAULTS, Edits, spare, workflow
from tests.contracts.files import example

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("sentence", FAULTS)
def test_the_fault_is_found(sentence: str) -> None:
    fault = FAULTS[sentence]
    broken = workflow(fault.edits)
    assert verify(broken) == ()
    found = {item.code: item for item in analyse(broken)}
    assert set(found) == {fault.code, *fault.also}
    finding = found[fault.code]
    assert (finding.severity, finding.path, finding.witness) == (fault.severity, fault.path, fault.witness)
    assert finding.hint
    assert finding.subject == "AgentWorkflow/shop"


@pytest.mark.parametrize("sentence", FAULTS)
def test_nothing_is_found_in_the_twin(sentence: str) -> None:
    twin = workflow(FAULTS[sentence].twin)
    assert verify(twin) == ()
    assert analyse(twin) == ()


def test_the_workflow_without_edits_is_clean() -> None:
    assert analyse(workflow(())) == ()
    assert CLEAN["metadata"]["name"] == "shop"


def test_each_code_of_the_checks_has_a_fault() -> None:
    """Those of comparisons of versions and of mappings are shown by their own tests."""
    shown = {fault.code for fault in FAULTS.values()}
    assert shown <= set(CODES)
    assert len(shown) >= 20


def test_nothing_is_found_in_the_example_of_the_design() -> None:
    made = parse_data(example())
    assert isinstance(made, AgentWorkflow)
    assert analyse(made) == ()


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: str(path.relative_to(EXAMPLES))
)
def test_nothing_is_found_in_the_examples(path: Path) -> None:
    """Of support-bot and kubernetes; those of CI are made to be found."""
    for data in yaml.safe_load_all(path.read_text()):
        if isinstance(data, dict) and data.get("kind") == "AgentWorkflow" and "ci" not in path.parts:
            made = parse_data(data)
            assert isinstance(made, AgentWorkflow)
            assert analyse(made) == ()


NO_LONGER_CERTAIN: dict[str, Edits] = {
    "a word outside an enumeration that is not enforced": (
        ("components.0.contract.enforcement", [{"field": "output.intent", "policy": "Warn"}]),
        (CONDITION, 'steps.plan.intent == "trakc"'),
    ),
    "a word outside a domain that only warns": (
        ("components.0.contract.output.properties.intent", {"type": "string"}),
        (
            "contract.semantics",
            [{"field": "steps.plan.intent", "values": [{"value": "track"}], "onUnknown": "Warn"}],
        ),
        (CONDITION, 'steps.plan.intent == "trakc"'),
    ),
    "a word that a stand-in may give": (
        *spare("text"),
        ("components.3.contract.output.properties.intent", {"type": "string"}),
        (CONDITION, 'steps.plan.intent == "trakc"'),
    ),
    "a word of stable's version": (
        ("components.0.onFailure", {"type": "StableVersion"}),
        (CONDITION, 'steps.plan.intent == "trakc"'),
    ),
}


@pytest.mark.parametrize("sentence", NO_LONGER_CERTAIN)
def test_what_the_gateway_does_not_hold_is_not_taken_for_certain(sentence: str) -> None:
    assert "ConditionNeverTrue" not in {item.code for item in analyse(workflow(NO_LONGER_CERTAIN[sentence]))}


def test_a_word_outside_a_domain_that_fails_is_found() -> None:
    domain = {"field": "steps.plan.intent", "values": [{"value": "track"}]}
    edits: Edits = (
        ("components.0.contract.output.properties.intent", {"type": "string"}),
        ("contract.semantics", [domain]),
        (CONDITION, 'steps.plan.intent == "cancel"'),
    )
    (finding,) = analyse(workflow(edits))
    assert (finding.code, finding.witness) == (
        "ConditionNeverTrue",
        'steps.plan.intent is "track"; needed == "cancel"',
    )
