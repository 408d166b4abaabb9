"""One workflow without a finding, twenty ways to plant one fault in it, and beside each the nearest thing that is none."""

import copy
from dataclasses import dataclass
from typing import Any

import yaml

from sluicegate.contracts.diagnostics import Severity
from sluicegate.contracts.parsing import parse_data
from sluicegate.contracts.resources import AgentWorkflow
from tests.contracts.files import edited

CLEAN: dict[str, Any] = yaml.safe_load("""
apiVersion: sluicegate.io/v1alpha1
kind: AgentWorkflow
metadata: {name: shop}
spec:
  version: 1.0.0
  expectedRunsPerHour: 3600
  routing: {key: input.session}
  components:
  - name: planner
    version: v1
    endpoint: {url: "http://planner"}
    sideEffects: None
    idempotent: true
    contract:
      output:
        type: object
        required: [intent, urgency, sure]
        properties:
          intent: {enum: [track, cancel, other]}
          urgency: {type: integer, minimum: 0, maximum: 10}
          sure: {type: boolean}
    sla: {maxLatencyMs: 200, minSuccessRate: "0.999", maxFallbackRate: "0.01"}
    retry: {maxAttempts: 2}
    cost: {maxPerCall: "0.01"}
    onFailure: {type: Fail}
  - name: orders
    version: v1
    endpoint: {url: "http://orders"}
    sideEffects: Live
    mirrorStub: {value: {status: unknown}}
    contract: {output: {type: object, required: [status], properties: {status: {enum: [shipped, pending, unknown]}}}}
    sla: {maxLatencyMs: 100, minSuccessRate: "0.99", maxFallbackRate: "0.02"}
    onFailure: {type: Value, value: {status: unknown}}
  - name: writer
    version: v1
    endpoint: {url: "http://writer"}
    sideEffects: None
    contract:
      input: {type: object, required: [intent], properties: {status: {type: string}}}
      output: {type: object, required: [text], properties: {text: {type: string}}}
    sla: {maxLatencyMs: 300, minSuccessRate: "0.999", maxFallbackRate: "0.01"}
    cost: {maxPerCall: "0.02"}
    onFailure: {type: Fail}
  steps:
  - {name: plan, component: planner, inputs: {text: input.text}}
  - {name: track, component: orders, when: 'steps.plan.intent == "track"', inputs: {session: input.session}}
  - {name: write, component: writer, inputs: {intent: steps.plan.intent, status: 'has(steps.track) ? steps.track.status : "none"'}}
  output: {text: steps.write.text}
  contract:
    input: {type: object, required: [session, text], properties: {session: {type: string}, text: {type: string}}}
    output: {type: object, required: [text], properties: {text: {type: string}}}
    sla: {maxLatencyMs: 1000, minSuccessRate: "0.99", maxFallbackRate: "0.05", maxCostPerRun: "0.10"}
""")

Edits = tuple[tuple[str, Any], ...]
PLANNER, ORDERS, WRITER, SLA = "components.0", "components.1", "components.2", "contract.sla"
CONDITION = "steps.1.when"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """edits plant it, twin is the near miss. code, witness: what must be found, and nothing else but `also`."""

    edits: Edits
    twin: Edits
    code: str
    severity: Severity
    path: str
    witness: str
    also: tuple[str, ...] = ()


def workflow(edits: Edits) -> AgentWorkflow:
    """The clean one, edited."""
    made = parse_data(edited(CLEAN, *copy.deepcopy(edits)))
    assert isinstance(made, AgentWorkflow)
    return made


def _more(kind: str, **fields: Any) -> list[dict[str, Any]]:
    """The components with one more."""
    made = {"name": kind, "version": "v1", "endpoint": {"url": f"http://{kind}"}, "sideEffects": "None"}
    return [*CLEAN["spec"]["components"], made | fields]


def _steps(place: int, step: dict[str, Any], **write: str) -> list[dict[str, Any]]:
    """The steps with one more before the place; write: more inputs of the last one."""
    steps = list(CLEAN["spec"]["steps"])
    steps[-1] = steps[-1] | {"inputs": steps[-1]["inputs"] | write}
    return [*steps[:place], step, *steps[place:]]


def spare(needs: str) -> Edits:
    """A spare planner that needs this input."""
    contract = {
        "input": {"required": [needs]},
        "output": CLEAN["spec"]["components"][0]["contract"]["output"],
    }
    value = {"intent": "other", "urgency": 0, "sure": False}
    more = _more("spare", contract=contract, onFailure={"type": "Value", "value": value})
    return ("components", more), (f"{PLANNER}.onFailure", {"type": "Component", "component": "spare"})


def _backup(effects: str) -> Edits:
    """Somebody who takes orders when `orders` does not."""
    contract = CLEAN["spec"]["components"][1]["contract"]
    value = {"status": "unknown"}
    more = _more(
        "backup",
        sideEffects=effects,
        mirrorStub={"value": value},
        contract=contract,
        onFailure={"type": "Value", "value": value},
    )
    return ("components", more), (f"{ORDERS}.onFailure", {"type": "Component", "component": "backup"})


def _cancel(condition: str) -> Edits:
    step = {
        "name": "cancel",
        "component": "orders",
        "when": condition,
        "inputs": {"session": "input.session"},
    }
    return (("steps", _steps(2, step, more="has(steps.cancel) ? steps.cancel.status : ''")),)


def _audited(condition: str) -> Edits:
    """Another step that runs only after the one with that condition."""
    step = {"name": "audit", "component": "writer", "when": "has(steps.track) && steps.track.status == 'shipped'",
            "inputs": {"intent": "steps.plan.intent"}}  # fmt: skip
    return ("steps", _steps(2, step, more="has(steps.audit) ? steps.audit.text : ''")), (CONDITION, condition)


def _note(**write: str) -> Edits:
    step = {"name": "note", "component": "notes", "inputs": {"text": "input.text"}}
    return ("components", _more("notes")), ("steps", _steps(1, step, **write))


ONCE = (f"{ORDERS}.idempotent", True)
FAULTS: dict[str, Fault] = {
    "retries in three layers": Fault(  # 2 × 3 × 3
        edits=((f"{SLA}.callerAttempts", 2), (f"{PLANNER}.retry", {"maxAttempts": 3, "attemptsBelow": 3}), (f"{SLA}.maxCostPerRun", "1"), ONCE),
        twin=((f"{SLA}.callerAttempts", 2), (f"{PLANNER}.retry", {"maxAttempts": 2}), (f"{SLA}.maxCostPerRun", "1"), ONCE),
        code="RetryAmplification", severity=Severity.ERROR, path="spec.components[0].retry",
        witness="callers 2 × planner retry 3 × planner client 3 = 18",
    ),
    "promised latencies above the workflow's": Fault(  # 200 + 100 + 300
        edits=((f"{SLA}.maxLatencyMs", 599),), twin=((f"{SLA}.maxLatencyMs", 600),),
        code="LatencyBudget", severity=Severity.WARNING, path="spec.contract.sla.maxLatencyMs",
        witness="plan 200 + track 100 + write 300 = 600 ms",
    ),
    "a time-out that takes the whole deadline": Fault(  # four times 1000 ms
        edits=((f"{PLANNER}.timeoutMs", 4000),), twin=((f"{PLANNER}.timeoutMs", 3999),),
        code="DeadRetry", severity=Severity.WARNING, path="spec.components[0].retry.maxAttempts",
        witness="1 × 4000 ms ≥ 4000 ms - 0 ms before it",
    ),
    "success rates that multiply to less": Fault(  # 0.02 × (0.2 + 0.8 × 0.02) = 0.00432
        edits=((f"{PLANNER}.sla.minSuccessRate", "0.98"), (f"{WRITER}.sla.minSuccessRate", "0.99")),
        twin=((f"{PLANNER}.sla.minSuccessRate", "0.98"), (f"{WRITER}.sla.minSuccessRate", "0.999")),
        code="AvailabilityBudget", severity=Severity.WARNING, path="spec.contract.sla.minSuccessRate",
        witness="plan 0.99568 × write 0.99000 = 0.98572",
    ),
    "fallbacks that add up": Fault(  # 1 - 0.99 × 0.96 × 0.99
        edits=((f"{ORDERS}.sla.maxFallbackRate", "0.04"),), twin=((f"{ORDERS}.sla.maxFallbackRate", "0.03"),),
        code="FallbackBudget", severity=Severity.WARNING, path="spec.contract.sla.maxFallbackRate",
        witness="1 - (1 - plan 0.01) × (1 - track 0.04) × (1 - write 0.01) = 0.0591",
    ),
    "a stand-in that needs what is not sent": Fault(
        edits=spare("tenant"), twin=spare("text"),
        code="FallbackUnreachable", severity=Severity.ERROR, path="spec.steps[0].inputs", witness="inputs: text",
    ),
    "a fallback value that the next step refuses": Fault(
        edits=((f"{WRITER}.contract.input.properties.status", {"enum": ["shipped", "pending", "none"]}),),
        twin=((f"{WRITER}.contract.input.properties.status", {"enum": ["shipped", "pending", "none", "unknown"]}),),
        code="FallbackInvalid", severity=Severity.ERROR, path="spec.steps[2].inputs.status", witness="steps.track = an object with status",
    ),
    "a skipped step that is read untested": Fault(
        edits=(("steps.2.inputs.status", "steps.track.status"),), twin=(("steps.2.inputs.status", "has(steps.track) ? steps.track.status : ''"),),
        code="SkippedDependency", severity=Severity.ERROR, path="spec.steps[2].inputs.status",
        witness="track skipped → steps.track.status cannot be read",
    ),
    "a word that no plan has": Fault(
        edits=((CONDITION, 'steps.plan.intent == "trakc"'),), twin=((CONDITION, 'steps.plan.intent == "track"'),),
        code="ConditionNeverTrue", severity=Severity.ERROR, path="spec.steps[1].when",
        witness='steps.plan.intent is one of "track", "cancel", "other"; needed == "trakc"',
    ),
    "a bound that every number keeps": Fault(
        edits=((CONDITION, "steps.plan.urgency <= 10"),), twin=((CONDITION, "steps.plan.urgency < 10"),),
        code="ConditionAlwaysTrue", severity=Severity.WARNING, path="spec.steps[1].when", witness="steps.plan.urgency is a whole number from 0 to 10",
    ),
    "a text as a condition": Fault(
        edits=((CONDITION, "steps.plan.intent"),), twin=((CONDITION, "steps.plan.sure"),),
        code="ConditionNotBool", severity=Severity.ERROR, path="spec.steps[1].when", witness='steps.plan.intent is one of "track", "cancel", "other"',
    ),
    "a value without a step": Fault(
        edits=_cancel('steps.plan.intent == "cancel"'), twin=_cancel('steps.plan.intent in ["cancel", "other"]'),
        code="NotExhaustive", severity=Severity.WARNING, path="spec.steps[2].when", witness='steps.plan.intent = "other"',
    ),
    "a step behind one that never runs": Fault(
        edits=_audited("steps.plan.urgency > 10"), twin=_audited("steps.plan.urgency > 9"),
        code="UnreachableStep", severity=Severity.ERROR, path="spec.steps[2].when", witness="track → audit", also=("ConditionNeverTrue",),
    ),
    "an output that nobody reads": Fault(
        edits=_note(), twin=_note(note="steps.note"),
        code="DeadEnd", severity=Severity.WARNING, path="spec.steps[1]", witness="steps.note",
    ),
    "a Live component and no routing key": Fault(
        edits=(("routing", ...),), twin=(("routing", ...), (f"{ORDERS}.sideEffects", "Sandboxed")),
        code="MissingCorrelation", severity=Severity.WARNING, path="spec.routing", witness="orders: sideEffects Live; routing.key is not set",
    ),
    "a component that is the workflow itself": Fault(
        edits=((f"{PLANNER}.endpoint.url", "http://gateway:8080/v1/workflows/shop/runs"),),
        twin=((f"{PLANNER}.endpoint.url", "http://gateway:8080/v1/namespaces/shop/workflows/shop/runs"),),
        code="UnboundedCycle", severity=Severity.WARNING, path="spec.components[0].endpoint.url", witness="shop → planner → shop",
    ),
    "callers that repeat an order": Fault(
        edits=((f"{SLA}.callerAttempts", 2),), twin=((f"{SLA}.callerAttempts", 2), ONCE),
        code="RetryNotIdempotent", severity=Severity.WARNING, path="spec.contract.sla.callerAttempts",
        witness="callers 2 × orders (Live, not idempotent)",
    ),
    "a stand-in that orders again": Fault(
        edits=_backup("Live"), twin=_backup("Sandboxed"),
        code="StandInRepeatsEffect", severity=Severity.WARNING, path="spec.components[1].onFailure",
        witness="orders (Live, not idempotent) → backup (Live)",
    ),
    "a stub that is the real thing": Fault(
        edits=((f"{ORDERS}.mirrorStub", {"endpoint": {"url": "http://orders"}}),),
        twin=((f"{ORDERS}.mirrorStub", {"endpoint": {"url": "http://sandbox"}}),),
        code="MirrorReachesLive", severity=Severity.ERROR, path="spec.components[1].mirrorStub.endpoint",
        witness="orders → http://orders = orders",
    ),
    "a run that may cost more": Fault(  # 2 × 0.01 + 0.02
        edits=((f"{SLA}.maxCostPerRun", "0.039"),), twin=((f"{SLA}.maxCostPerRun", "0.04"),),
        code="CostBudget", severity=Severity.ERROR, path="spec.contract.sla.maxCostPerRun",
        witness="planner retry 2 × 0.01 + writer 1 × 0.02 = 0.04",
    ),
}  # fmt: skip
"""Sentence -> fault."""
