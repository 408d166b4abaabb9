"""Personal data is taken out of a run record before it is written anywhere.

Paths as in a workflow's `lineage.redact`:

    input.history[*].phone      output.card      steps.plan.output.email      steps.*.input.token

`steps.<name>.input` is what a component was sent, `steps.<name>.output` (or just `steps.<name>.<field>`) what
it answered; `*` is every step, key or item. A value found by a path is replaced by "[redacted]"; and because
workflows copy their input into requests, answers and messages, its text is replaced everywhere else in the
record too (texts and numbers of at least MIN_COPY characters).
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from sluicegate.contracts.cel_syntax import ANY_INDEX
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.paths import run_path
from sluicegate.contracts.runs import RunRecord, StepRecord

REDACTED: Final = "[redacted]"
MIN_COPY: Final = 4
_ANY: Final = frozenset({"*", ANY_INDEX})

Key = str | int
Path = tuple[Key, ...]


def parse_path(text: str) -> Path:
    """`input.history[*].phone` as ("input", "history", "*", "phone"). Raises Refused."""
    try:
        return run_path(text)
    except ValueError as error:
        problem = Problem(
            path="spec.lineage.redact",
            message=str(error),
            value=text,
            allowed="input.a.b, output.a[*].b, steps.<name>.output.a, steps.*.input.a",
        )
        raise Refused((problem,)) from error


class Redactor:
    """Compiled paths. Raises Refused with every bad path at once."""

    def __init__(self, paths: Iterable[str]) -> None:
        parsed: list[Path] = []
        problems: list[Problem] = []
        for path in paths:
            try:
                parsed.append(parse_path(path))
            except Refused as refused:
                problems.extend(refused.problems)
        if problems:
            raise Refused(tuple(problems))
        self._paths = tuple(parsed)

    def __call__(self, record: RunRecord) -> RunRecord:
        """The record without what the paths name; the same object when there are no paths."""
        return self.redact(record)

    def redact(self, record: RunRecord) -> RunRecord:
        """See __call__."""
        if not self._paths:
            return record
        found: set[str] = set()
        record = self._named(record, found)
        return _without_copies(record, found) if found else record

    def redact_steps(self, steps: tuple[StepRecord, ...], record: RunRecord) -> tuple[StepRecord, ...]:
        """Steps that ran after the answer: by their own paths, and copies of what `record` (before
        redaction) had under its paths.
        """
        whole = self.redact(replace(record, steps=(*record.steps, *steps)))
        return whole.steps[len(record.steps) :]

    def hides(self, reference: Path) -> bool:
        """Whether a path names this value, something in it, or what it is in. reference: of an expression, an index as ``[]``."""
        return any(_overlaps(_plain(path), reference) for path in self._paths)

    def _named(self, record: RunRecord, found: set[str]) -> RunRecord:
        steps = list(record.steps)
        fields: dict[str, Any] = {"input": record.input, "output": record.output}
        business = record.business
        for path in self._paths:
            if path[0] == "output" and business is not None:
                business = replace(business, answer=_replaced(business.answer, path[1:], found))
            if path[0] != "steps":
                fields[str(path[0])] = _replaced(fields[str(path[0])], path[1:], found)
                continue
            steps = [_step(step, path[2:], found) if path[1] in ("*", step.name) else step for step in steps]
        return replace(record, steps=tuple(steps), business=business, **fields)


def _plain(path: Path) -> Path:
    """As expressions say it: the output of a step is the step's value."""
    return (
        (*path[:2], *path[3:]) if path[0] == "steps" and path[2:3] in (("output",), ("response",)) else path
    )


def _overlaps(path: Path, reference: Path) -> bool:
    """Whether one is the beginning of the other; any item is every item."""
    return all(
        mine == theirs or not _ANY.isdisjoint((mine, theirs))
        for mine, theirs in zip(path, reference, strict=False)
    )


def _step(step: StepRecord, path: Path, found: set[str]) -> StepRecord:
    side, rest = ("response", path)
    if path and path[0] in _SIDES:
        side, rest = _SIDES[str(path[0])], path[1:]
    return replace(step, **{side: _replaced(getattr(step, side), rest, found)})


_SIDES: Final = {"input": "request", "request": "request", "output": "response", "response": "response"}


def _replaced(value: Any, path: Path, found: set[str]) -> Any:
    if value is None:
        return None
    if not path:
        _collect(value, found)
        return REDACTED
    key, rest = path[0], path[1:]
    if isinstance(value, dict):
        names = value.keys() if key == "*" else (str(key),)
        return value | {name: _replaced(value[name], rest, found) for name in names if name in value}
    if isinstance(value, list | tuple):
        return [
            _replaced(item, rest, found) if key in ("*", index) else item for index, item in enumerate(value)
        ]
    return value


def _collect(value: Any, found: set[str]) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, found)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        copy = str(value)
        if len(copy.strip()) >= MIN_COPY and copy != REDACTED:
            found.add(copy)


@dataclass(frozen=True, slots=True)
class _Copies:
    """Replaces every occurrence of the found texts, longest first."""

    sub: Callable[[str], str]
    exact: frozenset[str]

    def clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.sub(value)
        if isinstance(value, dict):
            return {self.sub(str(name)): self.clean(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool) and str(value) in self.exact:
            return REDACTED
        return value


def _without_copies(record: RunRecord, found: set[str]) -> RunRecord:
    pattern = re.compile("|".join(re.escape(text) for text in sorted(found, key=len, reverse=True)))
    copies = _Copies(lambda text: pattern.sub(REDACTED, text), frozenset(found))
    comparison = record.comparison
    if comparison is not None:
        comparison = replace(comparison, differences=tuple(map(copies.sub, comparison.differences)))
    business = record.business
    if business is not None:
        business = replace(
            business,
            answer=copies.clean(business.answer),
            values=copies.clean(business.values),
            chain=tuple(replace(link, message=copies.sub(link.message)) for link in business.chain),
        )
    return replace(
        record,
        input=copies.clean(record.input),
        output=copies.clean(record.output),
        error=None if record.error is None else copies.sub(record.error),
        comparison=comparison,
        business=business,
        tags=copies.clean(record.tags),
        violations=tuple(replace(v, message=copies.sub(v.message)) for v in record.violations),
        steps=tuple(_clean_step(step, copies) for step in record.steps),
    )


def _clean_step(step: StepRecord, copies: _Copies) -> StepRecord:
    return replace(
        step,
        request=copies.clean(step.request),
        response=copies.clean(step.response),
        violations=tuple(replace(v, message=copies.sub(v.message)) for v in step.violations),
        attempts=tuple(
            attempt if attempt.message is None else replace(attempt, message=copies.sub(attempt.message))
            for attempt in step.attempts
        ),
    )
