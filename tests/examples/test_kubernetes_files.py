"""The manifests of examples/kubernetes: the support bot, in a namespace, with a second person who has to agree."""

from pathlib import Path

import pytest
import yaml

from sluicegate.contracts.resources import AgentWorkflow
from tests.support.golden import check

EXAMPLES = Path(__file__).parents[2] / "examples"
KUBERNETES = EXAMPLES / "kubernetes"
BASE = "http://127.0.0.1:9101"

BETTER = (EXAMPLES / "support-bot" / "candidates" / "good.yaml").read_text()
REASON = "the executor answers validly, and helps nobody"


def worse(text: str) -> str:
    """The good candidate with one more change."""
    text = text.replace("2.0.0", "2.1.0").replace("understands more customers, answers faster", REASON)
    before, after = text.split("  - name: executor\n")
    after = after.replace("version: v2", "version: v2-evasive", 1).replace(
        "/executor/v2", "/executor/v2-evasive", 1
    )
    return f"{before}  - name: executor\n{after}"


FILES = {
    "workflow.yaml": (EXAMPLES / "support-bot" / "workflow.yaml").read_text(),
    "good.yaml": BETTER,
    "bad.yaml": worse(BETTER),
}


def in_a_cluster(text: str) -> str:
    """The components behind a Service, and one approval before users meet a candidate."""
    text = text.replace("metadata: {name: support-bot}", "metadata: {name: support-bot, namespace: shop}")
    text = text.replace(BASE, "http://support-bot.shop.svc:9101")
    shadow = "    - name: Shadow  "
    before, after = text.split(shadow)
    line, rest = after.split("\n", 1)
    approvals = (
        "      approvals: {required: 1}                      # by another person than the change's author\n"
    )
    return f"{before}{shadow}{line}\n{approvals}{rest}"


@pytest.mark.parametrize("name", FILES)
def test_a_manifest_is_the_support_bots_with_a_namespace_a_service_and_an_approval(name: str) -> None:
    check(KUBERNETES / name, in_a_cluster(FILES[name]))


def test_the_rule_set_is_the_support_bots_in_the_namespace() -> None:
    name = "metadata: {name: support-fallback"
    text = (EXAMPLES / "support-bot" / "fallback.yaml").read_text()
    check(KUBERNETES / "fallback.yaml", text.replace(name, f"{name}, namespace: shop"))


@pytest.mark.parametrize("name", FILES)
def test_a_manifest_is_valid(name: str) -> None:
    document = yaml.safe_load((KUBERNETES / name).read_text())
    found = AgentWorkflow.model_validate(document)
    assert found.spec.rollout.stages[1].approvals is not None
