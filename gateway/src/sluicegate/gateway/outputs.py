"""What components gave in the fields that are observed: facts for ComponentDrift."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import orjson

from sluicegate.contracts.adapters.system import seeded
from sluicegate.contracts.evidence import MOST_NUMBERS, MOST_VALUES, OTHER_VALUES, VECTOR
from sluicegate.contracts.observed import NOTHING, Keys, ObservedField
from sluicegate.contracts.paths import EACH
from sluicegate.contracts.runs import RunOutcome, RunRecord, StepOutcome, StepRecord
from sluicegate.gateway.engine.kernel import ArmState
from sluicegate.gateway.engine.steps import REPORTED

_LONGEST: Final = 64
_LARGEST: Final = 1e30
"""Of a vector: what is larger has no distances."""


def given(state: ArmState) -> tuple[dict[str, dict[str, float]], dict[str, tuple[float, ...]]]:
    """`choices` and `numbers` of ArmFacts. Steps that were skipped or failed, stubs and fallbacks give nothing."""
    fields = state.program.observed
    own = [step for step in _visible(state) if _answered(step)] if fields else []
    choices: dict[str, dict[str, float]] = {}
    numbers: dict[str, tuple[float, ...]] = {}
    for field in fields:
        outputs = [step.response for step in own if step.component == field.component]
        if not outputs:
            continue
        if field.numeric:
            numbers[field.key] = _numbers(outputs, field)
        else:
            choices[field.key] = shares_of([value for output in outputs for value in _values(output, field)])
    return choices, {key: found for key, found in numbers.items() if found}


def _visible(state: ArmState) -> Iterable[StepRecord]:
    """The steps as the run document shows them, so that no value that is redacted there stands in the evidence."""
    redactor = state.program.redactor
    if redactor is None:
        return state.steps
    record = RunRecord(
        run_id=state.run_id,
        arm=state.arm,
        serving=not state.mirrored,
        namespace="",
        workflow="",
        revision="",
        version="",
        components={},
        started_at="",
        latency_ms=0.0,
        outcome=RunOutcome.SUCCEEDED,
        unit="",
        input=state.input,
        output=state.output,
        steps=tuple(state.steps),
    )
    return redactor(record).steps


def _answered(step: StepRecord) -> bool:
    """The component itself gave this output. It may have said that it degraded."""
    is_own = step.outcome is StepOutcome.OK or (
        step.outcome is StepOutcome.FALLBACK
        and step.fallback is not None
        and step.fallback.strategy == REPORTED
    )
    return is_own and not step.stubbed


def _values(output: Any, field: ObservedField) -> list[str]:
    found = [_text(value) for keys in field.keys for value in _at(output, keys)]
    return [value for value in found if value is not None] or [NOTHING]


def _text(value: Any) -> str | None:
    """Texts as they are, other scalars as JSON."""
    if isinstance(value, str):
        return value[:_LONGEST]
    return orjson.dumps(value).decode() if value is None or isinstance(value, int | float) else None


def shares_of(values: list[str]) -> dict[str, float]:
    """Of one run; beyond 32 values the rarest are one."""
    counted = Counter(values)
    common = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    if len(common) > MOST_VALUES:
        kept = common[: MOST_VALUES - 1]
        common = [*kept, (OTHER_VALUES, len(values) - sum(count for _, count in kept))]
    return {value: count / len(values) for value, count in common}


def _numbers(outputs: Iterable[Any], field: ObservedField) -> tuple[float, ...]:
    if field.length:
        return _projected(outputs, field)
    found = (value for output in outputs for keys in field.keys for value in _at(output, keys))
    usable = (
        float(value)
        for value in found
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
    )
    return tuple(islice(usable, MOST_NUMBERS))


def _projected(outputs: Iterable[Any], field: ObservedField) -> tuple[float, ...]:
    """Whole vectors, one after the other; lists of another length or with anything but finite numbers are none."""
    found: list[float] = []
    for vector in (value for output in outputs for keys in field.keys for value in _at(output, keys)):
        is_whole = isinstance(vector, list | tuple) and len(vector) == field.length
        if is_whole and all(_is_finite(value) for value in vector):
            found += projected(vector)
        if len(found) >= MOST_NUMBERS:
            break
    return tuple(found)[:MOST_NUMBERS]


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST


def projected(vector: Sequence[float]) -> list[float]:
    """VECTOR numbers: the vector itself and zeros, or of a longer one sums with signs by a fixed draw, to six digits.

    Such sums keep squared distances on average (count sketch: Charikar, Chen and Farach-Colton 2002), and cost one
    addition for each number.
    """
    if len(vector) <= VECTOR:
        return [*map(float, vector), *[0.0] * (VECTOR - len(vector))]
    found = [0.0] * VECTOR
    for value, (place, sign) in zip(vector, _places(len(vector)), strict=True):
        found[place] += sign * value
    return [float(f"{value:.6g}") for value in found]


@lru_cache(maxsize=16)
def _places(length: int) -> tuple[tuple[int, float], ...]:
    generator = seeded("projection", length)
    return tuple((generator.randrange(VECTOR), generator.choice((-1.0, 1.0))) for _ in range(length))


def _at(value: Any, keys: Keys) -> Iterator[Any]:
    """Every value behind the keys."""
    if not keys:
        yield value
    elif keys[0] == EACH:
        for item in value if isinstance(value, list | tuple) else ():
            yield from _at(item, keys[1:])
    elif isinstance(value, dict) and keys[0] in value:
        yield from _at(value[keys[0]], keys[1:])
