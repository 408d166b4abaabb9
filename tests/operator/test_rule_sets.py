"""Rule sets on their way to the gateways: proved by the control loop, part of the plan, never a reason to stop."""

from typing import Any

from sluicegate.operator.ports import Json
from sluicegate.rollout.model import Ref
from tests.gateway.rules import TABLE
from tests.operator.samples import staged
from tests.operator.world import World

BOT = Ref("AgentWorkflow", "default", "echo")
CARE = Ref("FallbackRuleSet", "default", "care")
GOOD: dict[str, Any] = TABLE | {"rules": TABLE["rules"][:1]}


def rule_set(**spec: Any) -> Json:
    return {
        "apiVersion": "sluicegate.io/v1alpha1",
        "kind": "FallbackRuleSet",
        "metadata": {"name": "care", "namespace": "default"},
        "spec": GOOD | spec,
    }


async def looked(world: World) -> tuple[list[str], tuple[str, str], int]:
    """Versions of the plan's rule sets, the condition, and the plan's version, after a few looks."""
    for _ in range(3):
        await world.round()
    plan = world.gateways.plans[("default", "echo")]
    workflow = await world.memory.get(BOT)
    (found,) = [one for one in workflow["status"]["conditions"] if one["type"] == "FallbackReady"]
    return [one.version for one in plan.rule_sets], (found["status"], found["reason"]), plan.version


async def test_the_plan_follows_the_rule_set_and_keeps_the_last_good_one() -> None:
    world = World()
    wanted = staged("1.0.0", "http://127.0.0.1:9")
    wanted["spec"]["businessFallback"] = {"ruleSet": "care"}
    await world.memory.create(wanted)
    assert await looked(world) == ([], ("False", "RuleSetMissing"), 1)
    held = await world.memory.create(rule_set())
    assert await looked(world) == (["1.2.0"], ("True", "RuleSetReady"), 2)
    assert await looked(world) == (["1.2.0"], ("True", "RuleSetReady"), 2)  # nothing new, nothing written
    held = await world.memory.update(rule_set(version="2.0.0", default=None) | {"metadata": held["metadata"]})
    assert await looked(world) == (["1.2.0"], ("False", "RuleSetInvalid"), 2)  # it has a gap
    await world.memory.update(rule_set(version="2.0.1") | {"metadata": held["metadata"]})
    assert await looked(world) == (["2.0.1"], ("True", "RuleSetReady"), 3)
    await world.memory.delete(CARE)
    assert await looked(world) == (["2.0.1"], ("False", "RuleSetMissing"), 3)
