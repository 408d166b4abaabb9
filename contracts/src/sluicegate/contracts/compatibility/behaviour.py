"""What the workflow does otherwise: steps, mappings, conditions, failures, effects, rule sets. Told, never breaking by itself."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from sluicegate.contracts.compatibility.comparison import Change
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.paths import child
from sluicegate.contracts.resources.workflow import Step
from sluicegate.contracts.resources.workflow_component import Component
from sluicegate.contracts.suggestions import closest
from sluicegate.contracts.verification.facts import Facts

_STRONGER: Final = {"None": 0, "Sandboxed": 1, "Live": 2}
Read = Callable[[Component], Any]

_OF_COMPONENTS: Final[tuple[tuple[str, str, Read, Callable[[Any, Any], Severity]], ...]] = (
    ("EffectsChanged", "sideEffects", lambda one: one.side_effects.value, lambda was, now: Severity.WARNING if _STRONGER[now] > _STRONGER[was] else Severity.INFO),
    ("IdempotenceChanged", "idempotent", lambda one: one.idempotent, lambda was, _now: Severity.WARNING if was else Severity.INFO),
    ("FailureChanged", "onFailure", lambda one: one.on_failure.model_dump(mode="json", by_alias=True, exclude_defaults=True), lambda _was, _now: Severity.WARNING),
    ("RetryChanged", "retry", lambda one: one.retry.model_dump(mode="json", by_alias=True, exclude_defaults=True), lambda _was, _now: Severity.INFO),
)  # fmt: skip
"""Code, field, how it is read, and how bad a change is."""


def changes(old: Facts, new: Facts) -> Iterator[Change]:
    """In the order of the file."""
    yield from _components(old, new)
    yield from _steps(old, new)
    for name in _changed(old.spec.output, new.spec.output):
        yield _told(
            "MappingChanged",
            Severity.WARNING,
            child("spec.output", name),
            (old.spec.output or {}).get(name),
            (new.spec.output or {}).get(name),
        )
    if old.spec.reward != new.spec.reward:
        yield _told("RewardChanged", Severity.WARNING, "spec.reward", old.spec.reward, new.spec.reward)
    was, now = (one.spec.business_fallback for one in (old, new))
    if was != now:
        names = [
            one and f"{one.rule_set} after {one.after_consecutive_failures} failures" for one in (was, now)
        ]
        yield _told("RuleSetChanged", Severity.WARNING, "spec.businessFallback", *names)


def _components(old: Facts, new: Facts) -> Iterator[Change]:
    for number, component in enumerate(new.spec.components):
        before = old.components.get(component.name)
        if before is None:
            continue
        for code, field, read, severity in _OF_COMPONENTS:
            was, now = read(before), read(component)
            if was != now:
                yield _told(code, severity(was, now), f"spec.components[{number}].{field}", was, now)
    for name in old.components:
        if name not in new.components:
            near = closest(name, [item for item in new.components if item not in old.components])
            yield _told("ComponentRemoved", Severity.INFO, "spec.components", name, near)


def _steps(old: Facts, new: Facts) -> Iterator[Change]:
    before = {step.name: step for step in old.steps}
    for number, step in enumerate(new.steps):
        was = before.pop(step.name, None)
        path = f"spec.steps[{number}]"
        if was is None:
            yield _told("StepAdded", Severity.INFO, path, None, step.name)
        else:
            yield from _step(was, step, path)
    for name in before:
        near = closest(name, [step.name for step in new.steps if step.name not in old.position])
        yield _told("StepRemoved", Severity.WARNING, "spec.steps", name, near)


def _step(old: Step, new: Step, path: str) -> Iterator[Change]:
    if old.component != new.component:
        yield _told("StepChanged", Severity.WARNING, f"{path}.component", old.component, new.component)
    if old.when != new.when:
        yield _told("ConditionChanged", Severity.WARNING, f"{path}.when", old.when, new.when)
    if old.phase != new.phase:
        yield _told("StepChanged", Severity.WARNING, f"{path}.phase", old.phase.value, new.phase.value)
    for name in _changed(old.inputs, new.inputs):
        yield _told(
            "MappingChanged",
            Severity.WARNING,
            child(f"{path}.inputs", name),
            (old.inputs or {}).get(name),
            (new.inputs or {}).get(name),
        )


def _changed(old: dict[str, str] | None, new: dict[str, str] | None) -> list[str]:
    was, now = old or {}, new or {}
    return [name for name in dict.fromkeys((*now, *was)) if was.get(name) != now.get(name)]


def _told(code: str, severity: Severity, path: str, was: Any, now: Any) -> Change:
    told = f"{'nothing' if was is None else was} → {'nothing' if now is None else now}"[:300]
    return Change(
        diagnostic=Diagnostic(
            code=code, severity=severity, path=path, message=f"is another one: {told}", witness=told
        )
    )
