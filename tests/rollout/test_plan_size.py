"""A rule set that no routing plan could hold is refused when it is written, not when it should answer."""

import hashlib
from typing import Any

import pytest

from sluicegate.contracts.limits import MAX_PLAN
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources.base import API_VERSION
from sluicegate.rollout.admission import admit
from sluicegate.rollout.model import AdmissionContext
from sluicegate.rollout.plan_size import MAX_RULE_SET, rule_set_problems
from tests.gateway.rules import TABLE
from tests.rollout.samples import T0


def noise(size: int) -> str:
    """Hexadecimal digits: each has four bits at least, which packing cannot shorten; base64 writes six bits in a byte."""
    blocks = (hashlib.sha256(str(number).encode()).hexdigest() for number in range(size // 64 + 1))
    return "".join(blocks)[:size]


def rule_set(answer: str) -> Any:
    return parse_data(
        {
            "apiVersion": API_VERSION,
            "kind": "FallbackRuleSet",
            "metadata": {"name": "care"},
            "spec": TABLE | {"default": {"answer": answer}},
        }
    )


@pytest.mark.parametrize(("share", "is_refused"), [(0.8, False), (1.1, True)])
def test_a_rule_set_fits_or_is_refused(share: float, is_refused: bool) -> None:
    item = rule_set(noise(int(share * MAX_RULE_SET * 6 / 4)))
    found = tuple(rule_set_problems(item.spec))
    assert bool(found) is is_refused
    for problem in found:
        assert problem.path == "spec"
        assert str(MAX_RULE_SET) in (problem.allowed or "")


def test_admission_says_so_beside_other_mistakes() -> None:
    item = rule_set(noise(2 * MAX_RULE_SET))
    problems = admit(None, item, "ada", AdmissionContext(now=T0)).problems
    assert "the rule set does not fit into a routing plan" in {one.message for one in problems}


def test_what_compresses_well_may_be_long() -> None:
    assert not tuple(rule_set_problems(rule_set("we call you back " * 40_000).spec))


def test_two_rule_sets_and_two_revisions_fit_into_a_plan() -> None:
    assert 2 * MAX_RULE_SET + 2 * (50 << 10) <= MAX_PLAN
