"""A workflow with rules for two topics, rehearsed all the time on every run; people alone lead it from stage to stage."""

from datetime import timedelta
from typing import Any

from sluicegate.contracts.adapters.system import SystemClock
from sluicegate.contracts.resources.base import API_VERSION
from tests.e2e import life
from tests.operator.samples import staged

Json = dict[str, Any]
RULES: Json = {
    "apiVersion": API_VERSION,
    "kind": "FallbackRuleSet",
    "metadata": {"name": "refunds", "namespace": "default"},
    "spec": {
        "version": "1.0.0",
        "owner": "support-team",
        "columns": [
            {"name": "topic", "value": "input.topic", "type": "Enum", "values": ["refund", "order"]},
        ],
        "rules": [
            {"id": topic, "when": {"topic": {"oneOf": [topic]}}, "answer": {"path": "none"}}
            for topic in ("refund", "order")
        ],
    },
}
ALWAYS: Json = {
    "schedule": f"{SystemClock().now() - timedelta(hours=12):%M %H} * * *",
    "durationSeconds": 86_400,
    "share": {"numerator": 100},
    "overdueAfterSeconds": 86_400,
    "blocksPromotion": True,
}
SECONDS = 150.0
"""A drill is looked at once a minute, and this machine may be busy."""


def workflow(version: str, url: str, name: str, **drill: Any) -> Json:
    """Its stages wait for people."""
    made = staged(version, url, name=name, needs=life.LONG)
    made["spec"]["businessFallback"] = {"ruleSet": "refunds", "drill": ALWAYS | drill}
    return made


def condition(item: Json | None, kind: str) -> tuple[str, ...]:
    """Its status and reason; empty while nothing is said."""
    held = ((item or {}).get("status") or {}).get("conditions", ())
    return next(((one["status"], one["reason"]) for one in held if one["type"] == kind), ())
