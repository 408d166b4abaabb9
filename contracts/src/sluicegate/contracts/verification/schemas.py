"""Contracts are JSON Schemas, and what stands in for an answer keeps them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sluicegate.contracts.domains import CompiledDomain, compile_domain
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.resources.workflow import FailureStrategy, SemanticDomain
from sluicegate.contracts.runs import Policy
from sluicegate.contracts.schemas import Schema, SchemaCheck, check_schema, compile_schema
from sluicegate.contracts.suggestions import closest, did_you_mean, listed, shown
from sluicegate.contracts.verification import comparing
from sluicegate.contracts.verification.facts import Facts
from sluicegate.contracts.verification.shapes import impossible

_MAX_TOLD = 5


def usable_schemas(facts: Facts) -> Iterator[Problem]:
    """Every contract is a JSON Schema that can be compiled here."""
    for path, schema in _all_schemas(facts):
        yield from check_schema(schema, path)


def _all_schemas(facts: Facts) -> Iterator[tuple[str, Schema]]:
    for number, component in enumerate(facts.spec.components):
        yield f"spec.components[{number}].contract.input", component.contract.input
        yield f"spec.components[{number}].contract.output", component.contract.output
    yield "spec.contract.input", facts.spec.contract.input
    yield "spec.contract.output", facts.spec.contract.output


def stand_ins_keep_contracts(facts: Facts) -> Iterator[Problem]:
    """A declared fallback value or mirror stub is an answer that the component could have given."""
    domains = _domains_by_component(facts)
    for number, component in enumerate(facts.spec.components):
        check = _compiled(component.contract.output)
        path = f"spec.components[{number}]"
        fallback, stub = component.on_failure, component.mirror_stub
        known = domains.get(component.name, ())
        if fallback.type is FailureStrategy.VALUE and fallback.value is not None:
            yield from _broken(f"{path}.onFailure.value", fallback.value, check, known)
        if stub is not None and stub.endpoint is None and stub.value is not None:
            yield from _broken(f"{path}.mirrorStub.value", stub.value, check, known)


def _broken(
    path: str, value: Any, check: SchemaCheck | None, domains: tuple[CompiledDomain, ...]
) -> Iterator[Problem]:
    violations = list(check.violations(value, path)) if check and not check.is_valid(value) else []
    for domain in domains:
        unknown = domain.apply(value)[1]
        violations += [replace(item, path=path) for item in unknown if item.policy is Policy.FAIL]
    for violation in violations[:_MAX_TOLD]:
        yield Problem(
            path=violation.path.replace("/*", "[]").replace("/", "."),
            message=f"breaks the component's own output contract: {violation.message}",
            value=shown(value),
            allowed="a value that fits contract.output and its semantic domains",
            hint="correct the value or the contract",
        )


def _compiled(schema: Schema) -> SchemaCheck | None:
    try:
        return compile_schema(schema)
    except Refused:
        return None


def _domains_by_component(facts: Facts) -> dict[str, tuple[CompiledDomain, ...]]:
    found: dict[str, tuple[CompiledDomain, ...]] = {}
    for domain in facts.spec.contract.semantics:
        try:
            step, compiled = compile_domain(domain)
        except ValueError:
            continue
        component = facts.component_of(step) if step else None
        if component is not None:
            found[component.name] = (*found.get(component.name, ()), compiled)
    return found


def semantic_fields(facts: Facts) -> Iterator[Problem]:
    """A semantic field is a path to something that exists."""
    for number, domain in enumerate(facts.spec.contract.semantics):
        path = f"spec.contract.semantics[{number}]"
        try:
            step, compiled = compile_domain(domain)
        except ValueError as error:
            yield Problem(
                path=f"{path}.field",
                message=str(error),
                value=shown(domain.field),
                allowed="a path into input or steps.<name>",
                hint="steps.plan.intent, for instance",
            )
            continue
        yield from _known_field(facts, f"{path}.field", domain.field, step, compiled)


def _known_field(
    facts: Facts, path: str, field: str, step: str | None, domain: CompiledDomain
) -> Iterator[Problem]:
    if step is not None and step not in facts.position:
        yield Problem(
            path=path,
            message=f"unknown step {step}",
            value=shown(field),
            allowed=listed(facts.position),
            hint=did_you_mean(step, facts.position) or "name a step of this workflow",
        )
        return
    component = facts.component_of(step) if step else None
    contract = facts.spec.contract.input if step is None else component.contract.output if component else True
    below = tuple("[]" if name == "*" else name for name in domain.below)
    missing = impossible(contract, below)
    if missing is not None:
        yield Problem(
            path=path,
            message=f"the contract of {domain.root} has no {missing.name} there",
            value=shown(field),
            allowed=listed(missing.allowed) or missing.is_a,
            hint=did_you_mean(missing.name, missing.allowed) or "correct the path",
        )


def semantic_mapping(facts: Facts) -> Iterator[Problem]:
    """`onUnknown: Map` names one of the values, `Fail` names none."""
    for number, domain in enumerate(facts.spec.contract.semantics):
        yield from _map_to(f"spec.contract.semantics[{number}].mapTo", domain)


def _map_to(path: str, domain: SemanticDomain) -> Iterator[Problem]:
    values = [item.value for item in domain.values]
    if domain.on_unknown == "Map" and domain.map_to not in values:
        near = closest(domain.map_to, values) if domain.map_to else None
        yield Problem(
            path=path,
            message="onUnknown: Map needs one of the values to map to",
            value=shown(domain.map_to) if domain.map_to else "nothing",
            allowed=listed(values),
            hint=f"did you mean {near}?" if near else f"mapTo: {values[-1]}, for instance",
        )
    if domain.on_unknown != "Map" and domain.map_to is not None:
        yield Problem(
            path=path,
            message=f"mapTo has no meaning with onUnknown: {domain.on_unknown}",
            value=shown(domain.map_to),
            allowed="only with `onUnknown: Map`",
            hint="write `onUnknown: Map`, or remove mapTo",
        )


CHECKS = (usable_schemas, *comparing.CHECKS, stand_ins_keep_contracts, semantic_fields, semantic_mapping)
