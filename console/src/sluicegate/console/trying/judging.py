"""What an answer says about the contract. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sluicegate.console.trying.cases import Case
from sluicegate.console.trying.codes import FAILED, MISALIGNED, OUTPUT
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.paths import EACH
from sluicegate.contracts.runs import Failure
from sluicegate.contracts.second_opinion import SecondOpinion
from sluicegate.contracts.suggestions import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came back. failure None: `output` is the answer."""

    output: Any = None
    failure: Failure | None = None
    message: str = ""


def judge(case: Case, told: Told, second: SecondOpinion | None, path: str) -> Iterator[Diagnostic]:
    """The findings of one call; none when the answer is as it should be. path: of the component in the workflow."""
    if told.failure is not None:
        message = f"{case.component.name} gave no answer to a valid {case.origin} input: {told.failure.value}, {told.message}"
        yield _found(FAILED, path, message, case, "look at its log; is it running, and at this address?")
        return
    output, unknown = case.step.normalised(told.output) if case.step else (told.output, ())
    broken = (*case.component.output.violations(output, "output"), *unknown)
    if second is not None:
        opinion = second.of(output, "output")
        broken = (*broken, *(one for one in opinion.violations if one.code == "SecondOpinion"))
        if opinion.disagreement is not None:
            yield opinion.disagreement
    for violation in broken[:3]:
        message = f"{case.component.name} breaks its contract at {violation.path}: {violation.message}"
        yield _found(OUTPUT, f"{path}.contract.output", message, case, "repair the component or its contract")
    if not broken and case.meaning is not None:
        yield from _understood(case, output)


def _understood(case: Case, output: Any) -> Iterator[Diagnostic]:
    meaning = case.meaning
    if meaning is None:
        return
    values = list(_at(output, meaning.domain.below))
    if values and all(value == meaning.value for value in values):
        return
    got = ", ".join(shown(value) for value in values) or "nothing"
    where = ".".join((meaning.domain.root, *meaning.domain.below))
    message = f"{shown(meaning.phrase)} means {meaning.value}, and {case.component.name} understood {got}"
    yield Diagnostic(
        code=MISALIGNED,
        severity=Severity.ERROR,
        path=where,
        message=message,
        witness=meaning.phrase,
        hint="teach the component the phrase, or take it out of the aliases",
    )


def _at(value: Any, below: tuple[str, ...]) -> Iterator[Any]:
    if not below:
        yield value
    elif below[0] == EACH and isinstance(value, list):
        for item in value:
            yield from _at(item, below[1:])
    elif isinstance(value, dict) and below[0] in value:
        yield from _at(value[below[0]], below[1:])


def _found(code: str, path: str, message: str, case: Case, hint: str) -> Diagnostic:
    return Diagnostic(
        code=code,
        severity=Severity.ERROR,
        path=path,
        message=message[:400],
        witness=shown(case.inputs),
        hint=hint,
    )
