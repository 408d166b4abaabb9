"""Workflows and findings for these tests."""

from pathlib import Path
from typing import Any

import yaml

from sluicegate.console.contracting.report import Finding, Report, Standing, Subject
from sluicegate.console.contracting.waivers import Waiver
from sluicegate.contracts.diagnostics import Diagnostic, Severity

CLEAN = """\
apiVersion: sluicegate.io/v1alpha1
kind: AgentWorkflow
metadata: {name: my-agent}
spec:
  version: 1.0.0
  components:
  - name: agent
    version: v1
    endpoint: {url: "http://127.0.0.1:9000"}
    sideEffects: None
    idempotent: true
    timeoutMs: 100
    contract:
      input: {type: object, required: [question], properties: {question: {type: string, maxLength: 500}}}
      output: {type: object, required: [intent], properties: {intent: {enum: [track, cancel]}}}
  contract:
    input: {type: object, required: [question], properties: {question: {type: string, maxLength: 500}}}
    output: {type: object, required: [intent], properties: {intent: {enum: [track, cancel]}}}
"""
RETRIES = CLEAN.replace("    timeoutMs: 100\n", "    timeoutMs: 100\n    retry: {maxAttempts: 5}\n") + (
    "    sla: {callerAttempts: 4}\n"
)
"""One error: 4 × 5 calls, and more than 10 are an error (contracts.analysis.amplification)."""
RULES = """\
apiVersion: sluicegate.io/v1alpha1
kind: FallbackRuleSet
metadata: {name: refunds}
spec:
  version: "1"
  owner: support
  columns:
  - {name: intent, value: input.intent, type: Enum, values: [refund, track]}
  rules:
  - {id: pay, when: {intent: {oneOf: [refund]}}, answer: {text: we pay}}
"""
"""One error: nothing answers track."""
REFUSED = CLEAN.replace("sideEffects: None", "sideEffects: Nothing")


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def changed(text: str, **spec: Any) -> str:
    document = yaml.safe_load(text)
    document["spec"] |= spec
    return str(yaml.safe_dump(document, sort_keys=False))


def diagnostic(code: str = "RetryAmplification", **facts: Any) -> Diagnostic:
    given: dict[str, Any] = {
        "code": code,
        "severity": Severity.ERROR,
        "path": "spec.components[0].retry",
        "message": "20 calls, the limit is 10",
        "witness": "callers 4 × agent retry 5 = 20",
        "hint": "retry in one layer",
        "subject": "AgentWorkflow/my-agent",
        "source": "flows/a b.yaml",
        "line": 12,
        "column": 5,
    }
    return Diagnostic(**(given | facts))


def finding(standing: Standing = Standing.NEW, *, refused: bool = False, **facts: Any) -> Finding:
    waiver = None
    if standing is Standing.WAIVED:
        waiver = Waiver.model_validate(
            {
                "fingerprint": "0" * 16,
                "owner": "team-a",
                "reason": "until <the> move",
                "expires": "2027-01-31",
            }
        )
    return Finding(
        diagnostic=diagnostic(**facts), check="analysis", standing=standing, waiver=waiver, refused=refused
    )


def report(*findings: Finding, **facts: Any) -> Report:
    subject = Subject(
        name="AgentWorkflow/my-agent",
        source="flows/a b.yaml",
        checks=("parsing", "verification", "analysis"),
        findings=findings,
        remarks=("1.0.0 → 1.1.0: Breaking",),
        facts={"verdict": "Breaking"},
    )
    return Report(tool="contract check", subjects=(subject,), **facts)
