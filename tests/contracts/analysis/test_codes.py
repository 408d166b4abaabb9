"""The set of codes is closed, and nothing that can be read makes the checks raise."""

import ast
from pathlib import Path

import pytest

from sluicegate.contracts import analysis
from sluicegate.contracts.analysis import CHECKS, analyse
from sluicegate.contracts.analysis.codes import CODES
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from tests.contracts.analysis.faults import FAULTS
from tests.contracts.test_broken_files import RESOURCES


def given_codes() -> set[str]:
    """Those that the checks write into a Diagnostic."""
    folder = Path(analysis.__file__).parent
    calls = (node for path in folder.glob("*.py") for node in ast.walk(ast.parse(path.read_text())))
    return {
        keyword.value.value
        for call in calls
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Diagnostic"
        for keyword in call.keywords
        if keyword.arg == "code"
        and isinstance(keyword.value, ast.Constant)
        and isinstance(keyword.value.value, str)
    }  # fmt: skip


def test_every_code_that_a_check_gives_is_explained() -> None:
    assert given_codes() <= set(CODES)
    assert {fault.code for fault in FAULTS.values()} <= given_codes()
    assert all(code.title and code.meaning and code.remedy for code in CODES.values())


def test_every_check_says_what_it_promises() -> None:
    assert all(check.__doc__ for check in CHECKS)
    assert len(set(CHECKS)) == len(CHECKS)


@pytest.mark.parametrize("sentence", RESOURCES)
def test_what_verification_refuses_is_looked_at_without_an_exception(sentence: str) -> None:
    try:
        broken = parse_data(RESOURCES[sentence][0])
    except Refused:
        return
    if isinstance(broken, AgentWorkflow):
        assert all(finding.code in CODES for finding in analyse(broken))
