"""What stands behind the workflow keeps its contract."""

from collections.abc import Iterator

from sluicegate.contracts import schedules
from sluicegate.contracts.compiled import answer_contract
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.schemas import compile_schema
from sluicegate.contracts.suggestions import shown
from sluicegate.contracts.verification.facts import Facts

_MAX_TOLD = 5


def static_answer_fits(facts: Facts) -> Iterator[Problem]:
    """The static answer is one that the workflow could have given."""
    fallback = facts.spec.business_fallback
    if fallback is None or fallback.static_answer is None:
        return
    schema, where = answer_contract(facts.spec)
    try:
        check = compile_schema(schema)
    except Refused:
        return
    value = fallback.static_answer.value
    if check.is_valid(value):
        return
    for violation in check.violations(value, "spec.businessFallback.staticAnswer.value")[:_MAX_TOLD]:
        yield Problem(
            path=violation.path.replace("/*", "[]").replace("/", "."),
            message=f"breaks the workflow's output contract: {violation.message}",
            value=shown(value),
            allowed=f"a value that fits {where}",
            hint="correct the value or the contract",
        )


def drill_has_a_schedule(facts: Facts) -> Iterator[Problem]:
    """The drill takes place at times that there are."""
    fallback = facts.spec.business_fallback
    if fallback is not None and fallback.drill is not None:
        yield from schedules.problems(fallback.drill.to_schedule(), "spec.businessFallback.drill")


CHECKS = (static_answer_fits, drill_has_a_schedule)
