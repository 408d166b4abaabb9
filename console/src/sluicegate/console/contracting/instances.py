"""The values that a document itself gives for an answer, looked at by the second validator too.

The first one looks at them whenever a document is verified; what it refuses comes no further. So whatever disagrees here is stricter.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

from sluicegate.contracts.compiled import answer_contract
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.resources import AgentWorkflow, FallbackRuleSet
from sluicegate.contracts.resources.workflow import FailureStrategy
from sluicegate.contracts.schemas import Schema
from sluicegate.contracts.second_opinion import second_opinion
from sluicegate.contracts.suggestions import shown


class Instance(NamedTuple):
    """A value and the contract that it has to keep, each with its path."""

    path: str
    value: Any
    schema: Schema
    where: str


def is_available() -> bool:
    """Whether there is a second validator: it comes with the extra `ci`."""
    return find_spec("jsonschema") is not None


def of_workflow(workflow: AgentWorkflow) -> Iterator[Diagnostic]:
    """Fallback values, stubs of mirrored runs, the static answer."""
    return _told(_of_workflow(workflow))


def of_rules(rules: FallbackRuleSet) -> Iterator[Diagnostic]:
    """Answers that are written down, and the default."""
    return _told(_of_rules(rules))


def _of_workflow(workflow: AgentWorkflow) -> Iterator[Instance]:
    spec = workflow.spec
    for number, component in enumerate(spec.components):
        path, output = f"spec.components[{number}]", component.contract.output
        instance = partial(Instance, schema=output, where=f"{path}.contract.output")
        fallback, stub = component.on_failure, component.mirror_stub
        if fallback.type is FailureStrategy.VALUE and fallback.value is not None:
            yield instance(f"{path}.onFailure.value", fallback.value)
        if stub is not None and stub.endpoint is None and stub.value is not None:
            yield instance(f"{path}.mirrorStub.value", stub.value)
    fallback_of_all = spec.business_fallback
    if fallback_of_all is not None and fallback_of_all.static_answer is not None:
        value = fallback_of_all.static_answer.value
        yield Instance("spec.businessFallback.staticAnswer.value", value, *answer_contract(spec))


def _of_rules(rules: FallbackRuleSet) -> Iterator[Instance]:
    schema = rules.spec.contract
    for number, rule in enumerate(rules.spec.rules):
        if rule.answer is not None:
            yield Instance(f"spec.rules[{number}].answer", rule.answer, schema, "spec.contract")
    if rules.spec.default is not None:
        yield Instance("spec.default", rules.spec.default, schema, "spec.contract")


def _told(instances: Iterator[Instance]) -> Iterator[Diagnostic]:
    """An error where the second validator refuses the value, a warning where it has no answer; each contract is compiled once."""
    known: dict[str, Any] = {}
    for one in instances:
        if one.where not in known:
            known[one.where] = second_opinion(one.schema, one.where)
        opinion = known[one.where].of(one.value, one.path)
        told = opinion.disagreement
        if told is not None:
            severity = told.severity if opinion.is_valid else Severity.ERROR
            yield replace(told, path=one.path, severity=severity, witness=shown(one.value))
