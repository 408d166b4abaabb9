"""Every fault is found, with its code and its witness, and nothing is found in its twin. `verification` lets all of them pass."""

import pytest

from sluicegate.contracts.analysis import analyse
from sluicegate.contracts.analysis.codes import CODES
from sluicegate.contracts.verification import verify
from tests.contracts.analysis.faults import CLEAN, FAULTS, workflow


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
