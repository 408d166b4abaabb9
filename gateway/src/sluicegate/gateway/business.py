"""The end of the chain: rules of business, then the static answer, each held to the workflow's output contract."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

import orjson
from pydantic import ValidationError

from sluicegate.contracts.compiled import answer_contract
from sluicegate.contracts.errors import Refused
from sluicegate.contracts.resources.escalation import BusinessFallback
from sluicegate.contracts.resources.fallback import RuleSetSpec
from sluicegate.contracts.resources.workflow import WorkflowSpec
from sluicegate.contracts.routes import RuleSetBody
from sluicegate.contracts.runs import BusinessAnswer, ChainLink, Link, LinkOutcome, Trigger
from sluicegate.contracts.schemas import SchemaCheck, compile_schema
from sluicegate.fallback_rules.table import Answered, Cause, Table, compile_table
from sluicegate.gateway.escalation import Settings, settings_of
from sluicegate.gateway.problems import Headers, Response
from sluicegate.lineage.redaction import REDACTED, Redactor

HEADER: Final = b"sluicegate-fallback"
HAND_OFF_HEADER: Final = b"sluicegate-hand-off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """What a revision says of its end of the chain. scope: of its tracks. fits: the workflow's output contract."""

    spec: BusinessFallback
    settings: Settings
    scope: str
    fits: SchemaCheck


def escalation_of(spec: WorkflowSpec, scope: str) -> Escalation | None:
    """None: the error is the answer. Raises Refused for a contract that cannot be compiled."""
    wanted = spec.business_fallback
    if wanted is None:
        return None
    fits = compile_schema(answer_contract(spec)[0])
    return Escalation(spec=wanted, settings=settings_of(wanted), scope=scope, fits=fits)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """A rule set that answers."""

    body: RuleSetBody
    table: Table


def rule_set_of(body: RuleSetBody) -> RuleSet | str:
    """The rule set, or why it cannot be used."""
    try:
        return RuleSet(body=body, table=compile_table(RuleSetSpec.model_validate(body.spec)))
    except (Refused, ValidationError) as error:
        return str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the end of the chain is asked. context: input, steps and run, as expressions see them. chain: who was asked before."""

    trigger: Trigger
    context: Mapping[str, Any]
    chain: tuple[ChainLink, ...]
    probe: bool = False


def ask(
    escalation: Escalation, rules: RuleSet | None, asked: Asked, redactor: Redactor | None
) -> BusinessAnswer:
    """The answer that fits the contract, of the first link that has one; `answered_by` None: nobody has. Never raises."""
    name = escalation.spec.rule_set
    answer = BusinessAnswer(trigger=asked.trigger, rule_set=name, probe=asked.probe, chain=asked.chain)
    if rules is None:
        link = ChainLink(link=Link.RULES, outcome=LinkOutcome.ABSENT, message=f"rule set {name} is not there")
        return _static(escalation, replace(answer, chain=(*answer.chain, link)))
    answer = replace(answer, version=rules.body.version, digest=rules.body.digest)
    found = rules.table.answer(asked.context)
    answer = replace(answer, values=_shown(rules.table, found, redactor))
    link = _judged(found, escalation.fits)
    answer = replace(answer, chain=(*answer.chain, link))
    if link.outcome is not LinkOutcome.ANSWERED:
        return _static(escalation, answer)
    return replace(answer, answered_by=Link.RULES, rule=found.rule, answer=found.answer)


def _judged(found: Answered, fits: SchemaCheck) -> ChainLink:
    """To its own contract the table holds every answer: static ones when it is compiled, computed ones when they are given."""
    if found.problem is not None:
        is_unlawful = found.cause is Cause.CONTRACT
        outcome = LinkOutcome.INVALID if is_unlawful else LinkOutcome.NO_RULE
        return ChainLink(link=Link.RULES, outcome=outcome, message=found.problem)
    said = "the default" if found.rule is None else f"rule {found.rule}"
    broken = _broken(found.answer, fits)
    if broken is not None:
        return ChainLink(link=Link.RULES, outcome=LinkOutcome.INVALID, message=f"{said}: {broken}")
    return ChainLink(link=Link.RULES, outcome=LinkOutcome.ANSWERED, message=said)


def _static(escalation: Escalation, answer: BusinessAnswer) -> BusinessAnswer:
    static = escalation.spec.static_answer
    if static is None:
        return answer
    broken = _broken(static.value, escalation.fits)
    outcome = LinkOutcome.ANSWERED if broken is None else LinkOutcome.INVALID
    link = ChainLink(link=Link.STATIC, outcome=outcome, message=broken or "")
    answer = replace(answer, chain=(*answer.chain, link))
    if broken is not None:
        return answer
    return replace(answer, answered_by=Link.STATIC, answer=static.value, hand_off=static.hand_off)


def _broken(answer: Any, fits: SchemaCheck) -> str | None:
    """Why an answer must not go out; None when it may."""
    try:
        if fits.is_valid(answer):
            orjson.dumps(answer)
            return None
    except (orjson.JSONEncodeError, ValueError) as error:
        return f"cannot be said in JSON: {error}"
    violations = fits.violations(answer, "output")[:3]
    return "; ".join(f"{item.kind}: {item.message}" for item in violations)


def _shown(table: Table, found: Answered, redactor: Redactor | None) -> dict[str, Any]:
    """What the rules saw, but for what the workflow hides in its records."""
    values = dict(found.values)
    if redactor is not None:
        for column in table.columns:
            if column.name in values and any(redactor.hides(path) for path in column.value.references):
                values[column.name] = REDACTED
    return values


def response_of(answer: BusinessAnswer, headers: Headers) -> Response:
    """200 with the answer. headers: of every answer of the revision."""
    told = [(HEADER, "; ".join(_told(answer)).encode())]
    if answer.hand_off is not None:
        told.append((HAND_OFF_HEADER, quote(answer.hand_off, safe=" ").encode()))
    return Response(200, orjson.dumps(answer.answer), [*headers, *told])


def _told(answer: BusinessAnswer) -> Iterator[str]:
    """``business; rule=r7; rule-set=support-fallback@1.2.0``, ``business; default; …``, ``business; …; drill`` or ``static``."""
    if answer.answered_by is Link.STATIC:
        yield "static"
        return
    yield "business"
    yield "default" if answer.rule is None else f"rule={answer.rule}"
    yield f"rule-set={answer.rule_set}@{answer.version}"
    if answer.trigger is Trigger.DRILL:
        yield "drill"
