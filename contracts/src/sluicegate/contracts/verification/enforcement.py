"""Policies of fields name fields that exist, and what they put in their place fits."""

from collections.abc import Iterator
from typing import Any

from sluicegate.contracts.compiled import answer_contract
from sluicegate.contracts.enforcing import FieldRule, Side, field_rule, side_of
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.paths import EACH
from sluicegate.contracts.references import resolved
from sluicegate.contracts.resources.enforcement import Enforcement, FieldPolicy
from sluicegate.contracts.runs import Policy
from sluicegate.contracts.schemas import Schema, compile_schema
from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.contracts.verification.facts import Facts
from sluicegate.contracts.verification.shapes import impossible, required_names

_MAX_TOLD = 3


def known_fields(facts: Facts) -> Iterator[Problem]:
    """Every policy of a field can be followed."""
    for number, component in enumerate(facts.spec.components):
        contract, path = component.contract, f"spec.components[{number}].contract"
        schemas = {"input": contract.input, "output": contract.output}
        yield from _policies(contract.enforcement, path, schemas)
    whole = facts.spec.contract
    schemas = {"input": whole.input, "output": answer_contract(facts.spec)[0]}
    yield from _policies(whole.enforcement, "spec.contract", schemas)


def _policies(items: Enforcement, path: str, schemas: dict[str, Schema]) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        where = f"{path}.enforcement[{number}]"
        try:
            rule = field_rule(item)
        except ValueError as error:
            yield Problem(
                path=f"{where}.field",
                message=str(error),
                value=shown(item.field),
                allowed="a path into input or output",
                hint="output.user.phone, for instance",
            )
            continue
        first = seen.setdefault(item.field, number)
        if first != number:
            yield Problem(
                path=f"{where}.field",
                message=f"another policy is for this field, at {path}.enforcement[{first}]",
                value=shown(item.field),
                allowed="one policy for each field",
                hint="remove one of the two",
            )
        yield from _policy(item, rule, where, schemas[rule.side])


def _policy(item: FieldPolicy, rule: FieldRule, path: str, schema: Schema) -> Iterator[Problem]:
    missing = impossible(schema, tuple("[]" if name == EACH else name for name in rule.below))
    is_extra = missing is not None and rule.policy is Policy.REDACT and missing.depth == len(rule.below) - 1
    if missing is not None and not (is_extra and missing.is_a is None):
        yield Problem(
            path=f"{path}.field",
            message=f"the contract of the {rule.side} has no {missing.name} there",
            value=shown(item.field),
            allowed=listed(missing.allowed) or missing.is_a,
            hint=did_you_mean(missing.name, missing.allowed) or "correct the path",
        )
        return
    yield from _value(item, rule, path, schema)
    if rule.policy is Policy.REDACT:
        yield from _redacted(rule, path, schema)


def _value(item: FieldPolicy, rule: FieldRule, path: str, schema: Schema) -> Iterator[Problem]:
    is_given = item.value is not None
    if is_given is not (rule.policy is Policy.MAP):
        yield Problem(
            path=f"{path}.value",
            message="is required with policy Map"
            if rule.policy is Policy.MAP
            else f"value has no meaning with policy {rule.policy}",
            value=shown(item.value) if is_given else "nothing",
            allowed="a value that fits the contract, with `policy: Map` only",
            hint="add value" if rule.policy is Policy.MAP else "write `policy: Map`, or remove value",
        )
        return
    side = _compiled(schema, rule.below)
    if not is_given or side is None or side.is_valid(item.value):
        return
    for violation in side.violations(item.value, "value")[:_MAX_TOLD]:
        yield Problem(
            path=f"{path}.{violation.path.replace('/*', '[]').replace('/', '.')}",
            message=f"breaks the contract that it mends: {violation.message}",
            value=shown(item.value),
            allowed=f"a value that fits the contract of {item.field}",
            hint="correct the value or the contract",
        )


def _redacted(rule: FieldRule, path: str, schema: Schema) -> Iterator[Problem]:
    parent = _at(schema, rule.below[:-1]) if rule.below else None
    if rule.below and rule.below[-1] not in required_names(parent if isinstance(parent, dict) else True):
        return
    yield Problem(
        path=f"{path}.policy",
        message="the contract requires this field, so that leaving it out breaks it again",
        value=shown(rule.policy.value),
        allowed="a field that may be absent, or policy Map with a value",
        hint="write `policy: Map` and `value: …`, or take the field out of `required`",
    )


def _compiled(schema: Schema, below: tuple[str, ...]) -> Side | None:
    """The check of a part; None when it is not known."""
    part = _at(schema, below)
    if not isinstance(part, dict) or not isinstance(schema, dict):
        return None
    known: dict[str, Any] = {
        name: schema[name] for name in ("$schema", "$defs", "definitions") if name in schema
    }
    try:
        return side_of(compile_schema(known | part))
    except Refused:
        return None


def _at(schema: Any, below: tuple[str, ...]) -> Any:
    """The schema of a part as far as `properties` and `items` lead there; True where they do not."""
    root, schema = schema, resolved(schema, schema)
    for name in below:
        if not isinstance(schema, dict):
            return True
        places = schema.get("properties")
        part = (
            schema.get("items", True)
            if name == EACH
            else places.get(name, True)
            if isinstance(places, dict)
            else True
        )
        schema = resolved(part, root)
    return schema


CHECKS = (known_fields,)
