"""What fits into a routing plan: on Kubernetes it is one ConfigMap, with up to two revisions and their rule sets, packed."""

import base64
import zlib
from collections.abc import Iterator
from typing import Final

import orjson

from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources.fallback import RuleSetSpec

MAX_RULE_SET: Final = 400 << 10
"""Bytes of a rule set as a plan holds it: two of them, and two revisions of 50 KiB each, are `limits.MAX_PLAN`. Packed, `examples/support-bot` has
3 KiB, and 1024 rules of five columns whose answers are twenty words drawn at random 270 KiB; sentences pack better."""


def packed(text: bytes) -> bytes:
    """As it is stored."""
    return base64.b64encode(zlib.compress(text, 6))


def rule_set_problems(spec: RuleSetSpec) -> Iterator[Problem]:
    """A rule set that no plan could hold beside its workflow would be refused later, with all that serves."""
    text = orjson.dumps(spec.to_json())
    size = len(packed(text)) if len(text) > MAX_RULE_SET // 4 else 0
    if size > MAX_RULE_SET:
        yield Problem(
            path="spec",
            message="the rule set does not fit into a routing plan",
            value=f"{size} bytes packed, {len(text)} as JSON",
            allowed=f"at most {MAX_RULE_SET} bytes packed",
            hint="shorten answers, reasons and examples, or merge rules with the same answer",
        )
