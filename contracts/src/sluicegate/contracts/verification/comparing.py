"""Hints for the comparison of answers stand where answers are compared, and say something."""

from collections.abc import Iterator

from sluicegate.contracts.comparing import KEYWORD, check_hints, hinted
from sluicegate.contracts.compiled import answer_contract
from sluicegate.contracts.errors import Problem
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.schemas import Schema
from sluicegate.contracts.verification.facts import Facts


def hints(facts: Facts) -> Iterator[Problem]:
    """Each hint is one that is known, and in the contract of the answer."""
    answer, place = answer_contract(facts.spec)
    yield from check_hints(answer, place)
    for path, schema in _contracts(facts.spec):
        for where in hinted(schema, path) if path != place else ():
            yield Problem(
                path=where,
                message="nothing is compared here",
                value=KEYWORD,
                allowed=f"in {place}",
                hint=f"move it to {place}: only the answer that users get is compared",
            )


def _contracts(spec: WorkflowSpec) -> Iterator[tuple[str, Schema]]:
    for number, component in enumerate(spec.components):
        yield f"spec.components[{number}].contract.input", component.contract.input
        yield f"spec.components[{number}].contract.output", component.contract.output
    yield "spec.contract.input", spec.contract.input
    yield "spec.contract.output", spec.contract.output


CHECKS = (hints,)
