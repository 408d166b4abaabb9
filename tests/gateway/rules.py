"""A rule set and a workflow behind which it stands, for tests."""

from typing import Any

from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.contracts.routes import RuleSetBody
from sluicegate.fallback_rules.table import compile_table
from tests.gateway.components import component, spec_of

CONTRACT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
TABLE: dict[str, Any] = {
    "version": "1.2.0",
    "owner": "care",
    "columns": [
        {"name": "topic", "value": "input.topic", "type": "Enum", "values": ["order", "refund", "odd"]},
        {
            "name": "age",
            "value": "input.age",
            "type": "Integer",
            "minimum": "0",
            "maximum": "150",
            "mayBeAbsent": True,
        },
    ],
    "rules": [
        {"id": "r-order", "when": {"topic": {"oneOf": ["order"]}}, "answer": {"text": "we look for it"}},
        {"id": "r-odd", "when": {"topic": {"oneOf": ["odd"]}}, "answer": {"wrong": True}},
    ],
    "default": {"text": "please call us"},
}


def rule_set(**more: Any) -> RuleSetBody:
    """As the control loop puts it into a plan."""
    spec = TABLE | more
    digest = compile_table(RuleSetSpec.model_validate(spec)).digest
    return RuleSetBody(name="care", version=spec["version"], digest=digest, spec=spec)


def guarded(url: str, **more: Any) -> dict[str, Any]:
    """A workflow of one component: rules answer the second failure in a row, and one good probe ends that."""
    fallback = {
        "ruleSet": "care",
        "afterConsecutiveFailures": 2,
        "window": {"failures": 1000},
        "probe": {"everySeconds": 5, "successesToRecover": 1},
    } | more.pop("fallback", {})
    agent = component(url, **more.pop("agent", {}))
    defaults = {
        "contract": {"output": CONTRACT},
        "businessFallback": fallback,
        "routing": {"key": "input.session"},
    }
    return spec_of(agent, **(defaults | more))
