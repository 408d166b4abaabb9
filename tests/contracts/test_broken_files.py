"""Every broken file is refused with path, value and hint; never a hang, never a crash.

Each file is given to one long-lived process; a file that kills or hangs it fails, and so do those after it.
"""

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contracts.files import EXAMPLE, as_file, component, example, minimal

SECONDS = 20.0

SERVER = """
import json, sys
from dataclasses import asdict
from sluicegate.contracts.documents import load
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.parsing import parse
from sluicegate.contracts.verification import verify
while size := sys.stdin.buffer.readline():
    content = sys.stdin.buffer.read(int(size))
    try:
        problems = [p for d in load(content, source="wf.yaml") for p in verify(parse(d))]
    except Refused as refused:
        problems = refused.problems
    print(json.dumps([asdict(p) | {"text": str(p)} for p in problems]), flush=True)
"""


class Reader:
    """The process that reads the files."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False
        )

    def problems(self, content: bytes) -> list[dict[str, Any]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{len(content)}\n".encode() + content)
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        assert ready, "the reader hangs"
        line = self.process.stdout.readline()
        assert line, f"the reader died with {self.process.wait()}"
        found: list[dict[str, Any]] = json.loads(line)
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.close()


def bomb(levels: int, width: int) -> bytes:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines).encode()


def nested_schema(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def stage(name: str = "Shadow", **fields: Any) -> dict[str, Any]:
    return {"stages": [{"name": name} | fields]}


def steps(*found: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"component": "agent"} | step for step in found]


def gate(signal: str = "WorkflowSuccessRate", **fields: Any) -> dict[str, Any]:
    return {"name": signal.lower()[:20], "signal": signal} | fields


SAFE = gate(margin="0.02")

# sentence -> (content, path of the problem, part of its text)
TEXTS: dict[str, tuple[bytes, str, str]] = {
    "a file of 20 MB": (b"a: " + b"x" * 20_000_000, "", "20000003 bytes"),
    "lists nested 10,000 deep": (b"[" * 10_000 + b"]" * 10_000, "", "nested too deep"),
    "lists nested 500,000 deep, never closed": (b"[" * 500_000, "", "nested too deep"),
    "objects nested 10,000 deep in JSON with tabs": (b'\t{"a":' * 10_000, "", "nested too deep"),
    "block sequences nested 100,000 deep": (b"- " * 100_000, "[0]" * 63, "nested too deep"),
    "indentation nested 1,000 deep": (
        "".join(" " * n + "a:\n" for n in range(1000)).encode(), ".".join("a" * 63), "nested too deep",
    ),
    "a YAML bomb of a billion values": (bomb(10, 10), "a5", "aliases counted in full"),
    "a YAML bomb that doubles": (bomb(40, 2), "a15", "aliases counted in full"),
    "an alias inside its own anchor": (b"a: &a [*a]", "a[0]", "inside the value that it names"),
    "an alias that nothing defines": (b"a: *b", "a", "unknown alias"),
    "a merge key": (b"b: &b {x: 1}\na:\n  <<: *b\n", 'a["<<"]', "merge keys are not read"),
    "100,000 values in a flat file": (b"[" + b"1," * 120_000 + b"]", "", "too many values"),
    "a NUL byte": (b"kind: Agent\x00Workflow", "", "NUL"),
    "a control character": (b"kind: Agent\x07", "", "control characters"),
    "bytes that are not UTF-8": (b"kind: \xff\xfe", "", "byte 0xff"),
    "UTF-16": ("kind: x".encode("utf-16"), "", "UTF-16"),
    "tabs as indentation": (b"spec:\n\tversion: 1", "", "spaces, not tabs"),
    "an unclosed quote": (b'kind: "Agent', "", "not valid YAML"),
    "an unclosed bracket in JSON": (b'{"kind": "AgentWorkflow"', "", "not valid"),
    "a mapping in a mapping on one line": (b"kind: a: b", "", "not valid YAML"),
    "an empty file": (b"", "", "empty"),
    "comments only": (b"# nothing\n---\n# at all\n", "", "empty"),
    "a list where a resource belongs": (b"- kind: AgentWorkflow", "", "not an object"),
    "a text where a resource belongs": (b"AgentWorkflow", "", "not an object"),
    "a field given twice": (b"kind: AgentWorkflow\nkind: Decision\n", "kind", "given twice"),
    "a field given twice in JSON with tabs": (b'{\t"kind": 1, "kind": 2}', "kind", "given twice"),
    "not a number": (b"kind: .nan", "kind", "finite"),
    "an infinite number": (b"kind: 1e999", "kind", "finite"),
    "NaN in JSON": (b'{\t"a": {"b": NaN}}', "a.b", "finite"),
    "a whole number beyond 2^53": (b"kind: 90071992547409931", "kind", "too large"),
    "a number of 10,000 digits": (b"kind: " + b"9" * 10_000, "kind", "too large"),
    "a Python object": (b"kind: !!python/object/apply:os.system [ls]", "kind", "tags are not read"),
    "a list as a field name": (b"? [a]\n: 1", "", "field name must be a text"),
    "an unfilled template": (b"metadata:\n  name: {{ name }}\n", "metadata.name", "template"),
    "half a surrogate pair in JSON": (b'{\t"kind": "\\ud800"}', "", "surrogate"),
    "no kind": (b"apiVersion: sluicegate.io/v1alpha1\nspec: {}\n", "kind", "add `kind: AgentWorkflow`"),
    "an unknown kind": (b"apiVersion: sluicegate.io/v1alpha1\nkind: AgentWorkflo\n", "kind", "did you mean AgentWorkflow?"),
    "an unknown version of the API": (b"apiVersion: sluicegate.io/v1\nkind: AgentWorkflow\n", "apiVersion", "v1alpha1"),
    "a resource of Kubernetes": (b"apiVersion: apps/v1\nkind: Deployment\n", "kind", "unknown kind"),
}  # fmt: skip

# sentence -> (resource, path of the problem, part of its text)
RESOURCES: dict[str, tuple[dict[str, Any], str, str]] = {
    # shapes
    "an unknown field": (example(("stepz", [])), "spec.stepz", "did you mean steps?"),
    "an unknown field deep down": (
        example(("components.0.sla.maxLatency", 5)), "spec.components[0].sla.maxLatency", "did you mean maxLatencyMs?",
    ),
    "a required field is missing": (example(("components.0.sideEffects", ...)), "spec.components[0].sideEffects", "Sandboxed"),
    "no components": (minimal(components=[]), "spec.components", "at least 1"),
    "a spec that is a list": (minimal() | {"spec": []}, "spec", "an object"),
    "a text where a number belongs": (
        example(("components.0.sla.maxLatencyMs", "250")), "spec.components[0].sla.maxLatencyMs", "remove the quotes",
    ),
    "a number where a text belongs": (minimal(version=2.3), "spec.version", 'quote it: "2.3"'),
    "a float as a share": (
        minimal(rollout=stage(share=0.05)), "spec.rollout.stages[0].share", "{numerator: 5, denominator: 100}",
    ),
    "a percentage as a share": (
        minimal(rollout=stage(share="12.5%")), "spec.rollout.stages[0].share", "{numerator: 1, denominator: 8}",
    ),
    "a share above 1": (
        minimal(rollout=stage(share={"numerator": 5, "denominator": 4})), "spec.rollout.stages[0].share", "5/4 is above 1",
    ),
    "a share of nothing": (
        minimal(rollout=stage(share={"numerator": 1, "denominator": 0})),
        "spec.rollout.stages[0].share.denominator", "at least 1",
    ),
    "a float as a rate": (
        example(("components.0.sla.minSuccessRate", 0.99)), "spec.components[0].sla.minSuccessRate", 'quote it: "0.99"',
    ),
    "a rate above 1": (
        example(("components.0.sla.minSuccessRate", "1.5")), "spec.components[0].sla.minSuccessRate", "[0, 1]",
    ),
    "a percentage as a rate": (
        example(("components.0.sla.minSuccessRate", "99%")), "spec.components[0].sla.minSuccessRate", 'write "0.99"',
    ),
    "an unknown word": (
        example(("components.0.endpoint.protocol", "native")), "spec.components[0].endpoint.protocol", "did you mean Native?",
    ),
    "an unknown stage": (minimal(rollout=stage("Shadows")), "spec.rollout.stages[0].name", "did you mean Shadow?"),
    "yes where true belongs": (example(("components.0.idempotent", "yes")), "spec.components[0].idempotent", "true or false"),
    "a schema that is a number": (minimal(contract={"input": 5}), "spec.contract.input", "an object or true or false"),
    "capital letters in a name": (minimal() | {"metadata": {"name": "My_Agent"}}, "metadata.name", "my-agent, for instance"),
    "a URL without a scheme": (
        minimal(components=[component(endpoint={"url": "localhost:9000"})]),
        "spec.components[0].endpoint.url", "http://localhost:9000",
    ),
    "a step with a dash in its name": (minimal(steps=steps({"name": "my-step"})), "spec.steps[0].name", "my_step"),
    "a list where an object belongs": (minimal(steps=steps({"name": "a", "inputs": []})), "spec.steps[0].inputs", "an object"),
    "an object where a list belongs": (minimal(steps={"a": "b"}), "spec.steps", "a list"),
    "too many retries": (minimal(components=[component(retry={"maxAttempts": 11})]), "spec.components[0].retry.maxAttempts", "at most 10"),
    "an expression of 5,000 characters": (minimal(reward="1 + " * 1250 + "1"), "spec.reward", "at most 4096"),
    # names
    "a dot in a workflow's name": (minimal() | {"metadata": {"name": "my.agent"}}, "metadata.name", "instead of a dot"),
    "a workflow's name of 64 letters": (minimal() | {"metadata": {"name": "a" * 64}}, "metadata.name", "shorten it"),
    "two components of one name": (minimal(components=[component(), component()], steps=steps({"name": "a"})), "spec.components[1].name", "another component"),
    "two steps of one name": (minimal(steps=steps({"name": "a"}, {"name": "a"})), "spec.steps[1].name", "another step"),
    "two stages of one name": (minimal(rollout={"stages": [{"name": "Shadow"}, {"name": "Shadow"}]}), "spec.rollout.stages[1].name", "another stage"),
    "two gates of one name": (
        minimal(rollout=stage(gates=[SAFE | {"name": "x"}, gate("WorkflowP95Latency", name="x")])),
        "spec.rollout.stages[0].gates[1].name", "another gate",
    ),
    "two domains of one field": (
        minimal(contract={"semantics": [{"field": "input.a", "values": [{"value": "x"}]}] * 2}),
        "spec.contract.semantics[1].field", "another semantic field",
    ),
    "one alias for two values": (
        minimal(contract={"semantics": [{"field": "input.a", "values": [{"value": "x", "aliases": ["Y"]}, {"value": "y"}]}]}),
        "spec.contract.semantics[0].values[1]", "already stands for x",
    ),
    # graph
    "a step of an unknown component": (minimal(steps=[{"name": "a", "component": "agnet"}]), "spec.steps[0].component", "did you mean agent?"),
    "several components without steps": (minimal(components=[component(), component("b")]), "spec.steps", "in which order"),
    "only steps after the answer": (minimal(steps=steps({"name": "a", "phase": "AfterAnswer"})), "spec.steps", "no step answers"),
    "a request step after one that runs after the answer": (
        minimal(steps=steps({"name": "a", "phase": "AfterAnswer"}, {"name": "b"})), "spec.steps[1].phase", "move b before a",
    ),
    "a component that no step calls": (
        minimal(components=[component(), component("spare")], steps=steps({"name": "a"})), "spec.components[1]", "unreachable",
    ),
    "a condition that is false": (minimal(steps=steps({"name": "a"}, {"name": "b", "when": "1 > 2"})), "spec.steps[1].when", "unreachable"),
    "a fallback to an unknown component": (
        minimal(components=[component(onFailure={"type": "Component", "component": "agnet"})]),
        "spec.components[0].onFailure.component", "did you mean agent?",
    ),
    "two components that replace each other": (
        minimal(
            components=[
                component("a", onFailure={"type": "Component", "component": "b"}),
                component("b", onFailure={"type": "Component", "component": "a"}),
            ],
            steps=[{"name": "x", "component": "a"}],
        ),
        "spec.components[0].onFailure.component", "a → b → a",
    ),
    "a fallback value without a value": (minimal(components=[component(onFailure={"type": "Value"})]), "spec.components[0].onFailure.value", "is required"),
    "a fallback value with another type": (
        minimal(components=[component(onFailure={"type": "Skip", "value": 1})]), "spec.components[0].onFailure.value", "no meaning",
    ),
    # expressions
    "a step that needs itself": (minimal(steps=steps({"name": "a", "inputs": {"x": "steps.a.x"}})), "spec.steps[0].inputs.x", "cycle: a → a"),
    "two steps that need each other": (
        minimal(steps=steps({"name": "a", "when": "steps.b.ok == true"}, {"name": "b", "inputs": {"x": "steps.a.x"}})),
        "spec.steps[0].when", "cycle: a → b → a",
    ),
    "a step that needs a later one": (
        minimal(steps=steps({"name": "a", "inputs": {"x": "steps.b.x"}}, {"name": "b"})), "spec.steps[0].inputs.x", "move b before a",
    ),
    "bad CEL": (minimal(steps=steps({"name": "a", "when": "input.x =="})), "spec.steps[0].when", "column 11"),
    "CEL of an unknown function": (minimal(steps=steps({"name": "a", "when": "sise(input.x) > 1"})), "spec.steps[0].when", "sise"),
    "CEL nested 500 deep": (minimal(reward="(" * 500 + "1" + ")" * 500), "spec.reward", "recursion"),
    "an unknown name": (minimal(steps=steps({"name": "a", "inputs": {"x": "inptu.x"}})), "spec.steps[0].inputs.x", "did you mean input?"),
    "an unknown step": (minimal(steps=steps({"name": "plan"}), output={"x": "steps.plna.x"}), "spec.output.x", "did you mean plan?"),
    "a condition that is a text": (minimal(steps=steps({"name": "a", "when": '"yes"'})), "spec.steps[0].when", "true or false"),
    "headers in a step": (minimal(steps=steps({"name": "a", "inputs": {"x": "headers.x"}})), "spec.steps[0].inputs.x", "pass it in the input"),
    "a step in the routing key": (minimal(routing={"key": "steps.agent.x"}), "spec.routing.key", "cannot be used here"),
    "a condition on the stage": (minimal(steps=steps({"name": "a", "when": 'run.stage == "Shadow"'})), "spec.steps[0].when", "run has no stage"),
    "an answer that waits for the evaluator": (example(("output.response", "steps.judge.reward")), "spec.output.response", "runs after the answer"),
    "an answer from a step that may be skipped": (example(("output.response", "steps.execute.status")), "spec.output.response", "has(steps.execute)"),
    "a field that a closed contract has not": (
        example(("components.2.contract.output.additionalProperties", False), ("output.response", "steps.answer.drafts")),
        "spec.output.response", "did you mean draft?",
    ),
    "a field of a text": (example(("output.response", "steps.answer.draft.text")), "spec.output.response", "is string, it has no text"),
    "an input that the component requires is not mapped": (example(("steps.0.inputs", {"history": "[]"})), "spec.steps[0].inputs.user_query", "requires user_query"),
    "an input that the component does not take": (
        example(("components.2.contract.input", {"type": "object", "properties": {"intent": {}}, "additionalProperties": False})),
        "spec.steps[2].inputs.order", "takes no order",
    ),
    "an output that the contract promises is not mapped": (example(("output", {"confidence": "1.0"})), "spec.output.response", "requires response"),
    # schemas
    "a bad JSON Schema": (example(("contract.input.properties.user_query.type", "strin")), "spec.contract.input.properties.user_query.type", "did you mean string?"),
    "a schema with a misspelled keyword": (example(("contract.input.requird", ["a"])), "spec.contract.input.requird", "did you mean required?"),
    "a schema with look-around": (example(("contract.input.properties.user_query.pattern", "(?=a)b")), "spec.contract.input.properties.user_query.pattern", "look-around"),
    "a schema from elsewhere": (example(("contract.input", {"$ref": "http://127.0.0.1:1/x.json"})), "spec.contract.input.$ref", "not fetched"),
    "a schema from a file": (example(("contract.input", {"$ref": "file:///etc/passwd"})), "spec.contract.input.$ref", "not fetched"),
    "a reference to nothing": (example(("contract.input", {"$ref": "#/$defs/x"})), "spec.contract.input.$ref", "points to nothing"),
    "a pattern that explodes": (example(("contract.input.properties.user_query.pattern", "((a{100}){100}){100}")), "spec.contract.input.properties.user_query.pattern", "moderate size"),
    "a schema nested 100 deep": (minimal(contract={"input": nested_schema(100)}), ("spec.contract.input" + ".properties.a" * 30)[:200], "nested too deep"),
    "a fallback value that breaks the contract": (example(("components.1.onFailure.value", {"status": "lost"})), "spec.components[1].onFailure.value.status", "own output contract"),
    "a stub that breaks the contract": (example(("components.1.mirrorStub.value", {})), "spec.components[1].mirrorStub.value.status", "own output contract"),
    "a fallback value outside its domain": (example(("components.0.onFailure.value.intent", "greet")), "spec.components[0].onFailure.value", "own output contract"),
    "a domain of no field": (example(("contract.semantics.0.field", "plan intent")), "spec.contract.semantics[0].field", "not a path"),
    "a domain of an unknown step": (example(("contract.semantics.0.field", "steps.plna.intent")), "spec.contract.semantics[0].field", "did you mean plan?"),
    "a domain that maps to nothing": (example(("contract.semantics.0.onUnknown", "Map")), "spec.contract.semantics[0].mapTo", "track_order"),
    "a domain that maps to no value": (
        example(("contract.semantics.0.onUnknown", "Map"), ("contract.semantics.0.mapTo", "othr")),
        "spec.contract.semantics[0].mapTo", "did you mean other?",
    ),
    # components
    "no address": (minimal(components=[component(endpoint={})]), "spec.components[0].endpoint", "exactly one address"),
    "two addresses": (minimal(components=[component(endpoint={"url": "http://a", "serviceRef": {"name": "a"}})]), "spec.components[0].endpoint", "url and serviceRef"),
    "a port that there is not": (minimal(components=[component(endpoint={"url": "http://a:129001/"})]), "spec.components[0].endpoint.url", "1 to 65535"),
    "a port that is a word": (minimal(components=[component(endpoint={"url": "http://a:http/"})]), "spec.components[0].endpoint.url", "1 to 65535"),
    "an address without a host": (minimal(components=[component(endpoint={"url": "http://:9000/"})]), "spec.components[0].endpoint.url", "names no host"),
    "OpenAI without a model": (
        minimal(components=[component(endpoint={"protocol": "OpenAI", "url": "http://a"})]), "spec.components[0].endpoint.model", "is required",
    ),
    "a prompt for plain HTTP": (
        minimal(components=[component(endpoint={"url": "http://a", "prompt": "hi"})]), "spec.components[0].endpoint.prompt", "protocol: OpenAI",
    ),
    "retries of what may not be repeated": (minimal(components=[component(retry={"maxAttempts": 3})]), "spec.components[0].retry.maxAttempts", "idempotent: true"),
    "a back-off that shrinks": (
        minimal(components=[component(retry={"backoff": {"baseMs": 500, "maxMs": 50}})]), "spec.components[0].retry.backoff.baseMs", "above maxMs (50)",
    ),
    "a step slower than the workflow": (
        example(("components.0.sla.maxLatencyMs", 5000)), "spec.components[0].sla.maxLatencyMs", "maxLatencyMs: 1200",
    ),
    "a Live component in a mirrored stage": (example(("components.1.mirrorStub", ...)), "spec.components[1].mirrorStub", "orders is Live"),
    "a stub that is null": (example(("components.1.mirrorStub", {"value": None})), "spec.components[1].mirrorStub", "not null"),
    "a fallback value that is null": (
        minimal(components=[component(onFailure={"type": "Value", "value": None})]), "spec.components[0].onFailure.value", "not null",
    ),
    "an empty stub": (example(("components.1.mirrorStub", {})), "spec.components[1].mirrorStub", "exactly one stand-in"),
    "a redaction that is no path": (example(("lineage.redact", ["input..phone"])), "spec.lineage.redact[0]", "not a path"),
    "a redaction of no step in particular": (example(("lineage.redact", ["steps"])), "spec.lineage.redact[0]", "which step"),
    "a redaction of a step by number": (example(("lineage.redact", ["steps[0].output"])), "spec.lineage.redact[0]", "which step"),
    "a redaction of an unknown step": (example(("lineage.redact", ["steps.plna.output.x"])), "spec.lineage.redact[0]", "did you mean plan?"),
    "retraining of an unknown component": (
        example(("retraining.0.component", "planer")), "spec.retraining[0].component", "did you mean planner?",
    ),
    # rollout
    "a stage that is configured and skipped": (
        minimal(rollout=stage() | {"skipStages": ["Shadow"]}), "spec.rollout.stages[0].name", "skipped as well",
    ),
    "Full skipped": (minimal(rollout={"skipStages": ["Full"]}), "spec.rollout.skipStages[0]", "cannot be skipped"),
    "stages out of order": (minimal(rollout={"stages": [{"name": "Shadow"}, {"name": "Canary"}]}), "spec.rollout.stages[1].name", "precedes"),
    "reviews where nobody's fallbacks are sampled": (minimal(rollout=stage("Canary", reviewFallbacks=5)), "spec.rollout.stages[0].reviewFallbacks", "Controlled only"),
    "a second stable where nothing is mirrored": (minimal(rollout=stage("Full", controlShare={"numerator": 1})), "spec.rollout.stages[0].controlShare", "mirrors nothing"),
    "a split stage with share 0": (minimal(rollout=stage("Controlled", share={"numerator": 0})), "spec.rollout.stages[0].share", "no traffic"),
    "half of Full": (minimal(rollout=stage("Full", share={"numerator": 50})), "spec.rollout.stages[0].share", "everybody"),
    "a stage that must end before it may": (
        minimal(rollout=stage("Controlled", maxDurationSeconds=3600)), "spec.rollout.stages[0].maxDurationSeconds", "172800",
    ),
    "a deadline before the samples": (
        minimal(expectedRunsPerHour=10, rollout=stage("Shadow", maxDurationSeconds=7200) | {"skipStages": ["Canary", "Controlled"]}),
        "spec.rollout.stages[0].minRuns", "Shadow needs 1000 runs",
    ),
    "a stage without a safety gate": (minimal(rollout=stage(gates=[gate("ResponseDisagreement")])), "spec.rollout.stages[0].gates", "no safety gate"),
    "a stage without gates": (minimal(rollout=stage(gates=[])), "spec.rollout.stages[0].gates", "no safety gate"),
    "two gates on one signal": (
        minimal(rollout=stage(gates=[SAFE, SAFE | {"name": "again"}])), "spec.rollout.stages[0].gates[1].signal", "already has a gate",
    ),
    "a gate with margin 0": (minimal(rollout=stage(gates=[SAFE | {"margin": "0"}])), "spec.rollout.stages[0].gates[0].margin", "never pass"),
    "a gate with margin 1": (minimal(rollout=stage(gates=[SAFE | {"margin": "1.0"}])), "spec.rollout.stages[0].gates[0].margin", "never fail"),
    "a delta of a rate": (minimal(rollout=stage(gates=[SAFE | {"delta": "0.1"}])), "spec.rollout.stages[0].gates[0].delta", "no meaning with WorkflowSuccessRate"),
    "a deltaPhi of a rate": (minimal(rollout=stage(gates=[SAFE | {"deltaPhi": "0.1"}])), "spec.rollout.stages[0].gates[0].deltaPhi", "no meaning with WorkflowSuccessRate"),
    "a margin of contributions": (
        example(("rollout.stages.0.gates.1.margin", "0.1")), "spec.rollout.stages[0].gates[1].margin", "no meaning with RewardShapleyVariance",
    ),
    "a float as a margin": (minimal(rollout=stage(gates=[SAFE | {"margin": 0.02}])), "spec.rollout.stages[0].gates[0].margin", 'quote it: "0.02"'),
    "a reward gate without a reward": (
        minimal(rollout=stage(gates=[SAFE, gate("WorkflowReward")])), "spec.rollout.stages[0].gates[1].signal", "no reward",
    ),
    "a Shapley gate without ablation": (
        example(("rollout.stages.0.ablationShare", ...)), "spec.rollout.stages[0].gates[1].signal", "ablationShare",
    ),
    "a Shapley gate without a reward": (
        minimal(rollout=stage("Shadow", ablationShare={"numerator": 1}, gates=[SAFE, gate("RewardShapleyVariance") | {"delta": "0.01"}])),
        "spec.rollout.stages[0].gates[1].signal", "no reward to share out",
    ),
    "a Shapley gate where every component is needed": (
        minimal(rollout=stage("Shadow", ablationShare={"numerator": 1}, gates=[SAFE, gate("RewardShapleyVariance") | {"delta": "0.01"}])),
        "spec.rollout.stages[0].gates[1].signal", "no component can be left out",
    ),
    "versions mixed in Controlled": (
        minimal(rollout=stage("Controlled", versionShare={"numerator": 1})), "spec.rollout.stages[0].versionShare", "mirrors nothing",
    ),
    "a disagreement gate where nothing is compared": (
        minimal(rollout=stage("Controlled", gates=[SAFE, gate("ResponseDisagreement")])),
        "spec.rollout.stages[0].gates[1].signal", "one arm",
    ),
    "an error budget of 0": (minimal(rollout={"errorBudget": {"abort": "0"}}), "spec.rollout.errorBudget.abort", "no test can keep"),
}  # fmt: skip


@pytest.mark.parametrize("sentence", TEXTS)
def test_broken_text_is_refused(reader: Reader, sentence: str) -> None:
    content, path, words = TEXTS[sentence]
    expect(reader.problems(content), path, words)


@pytest.mark.parametrize("sentence", RESOURCES)
def test_broken_resource_is_refused(reader: Reader, sentence: str) -> None:
    data, path, words = RESOURCES[sentence]
    expect(reader.problems(as_file(data)), path, words)


def expect(problems: list[dict[str, Any]], path: str, words: str) -> None:
    assert problems, "nothing was found"
    for problem in problems:
        assert problem["value"], problem
        assert problem["hint"], problem
        assert len(problem["text"]) < 2000
    assert any(item["path"] == path and words in item["text"] for item in problems), "\n".join(
        item["text"] for item in problems
    )


SLOW = {
    "flow openers": "[" * 1_000_000,
    "anchors": "".join(f"a{number}: &x{number} 1\n" for number in range(40_000)),
    "document markers": "---\n" * 250_000,
    "a quoted text of 1 MB": '"' + "x\\\n" * 340_000,
    "folded lines": ">\n" + " x\n" * 340_000,
    "comments": "#\n" * 500_000,
    "question marks": "? " * 500_000,
    "aliases of one anchor": "a: &a x\nb: [" + "*a," * 300_000 + "]",
    "wide keys": "a: {" + ",".join(f"k{number}: 1" for number in range(60_000)) + "}",
}


@pytest.mark.parametrize("name", SLOW)
def test_a_megabyte_of_anything_does_not_hang(reader: Reader, name: str) -> None:
    reader.problems(SLOW[name][: 1024 * 1024].encode())


def test_reader_is_still_alive_and_accepts_the_example(reader: Reader) -> None:
    assert reader.problems(EXAMPLE.encode()) == []


def test_unchanged_example_and_minimal_workflow_have_no_finding(reader: Reader) -> None:
    """What the table breaks is whole."""
    assert reader.problems(as_file(example())) == []
    assert reader.problems(as_file(minimal())) == []


def test_all_mistakes_are_told_at_once(reader: Reader) -> None:
    data = example(
        ("components.0.sla.minSuccessRate", 0.99),
        ("stepz", []),
        ("components.1.sideEffects", "live"),
        ("version", 2),
    )
    paths = {problem["path"] for problem in reader.problems(as_file(data))}
    assert paths == {
        "spec.components[0].sla.minSuccessRate",
        "spec.stepz",
        "spec.components[1].sideEffects",
        "spec.version",
    }
