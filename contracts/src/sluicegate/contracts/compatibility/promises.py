"""What is promised: SLAs and the meaning of values."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final

from sluicegate.contracts.compatibility.comparison import CALLERS, Change
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.domains import normalised
from sluicegate.contracts.resources.workflow import SemanticDomain, Sla
from sluicegate.contracts.suggestions import closest
from sluicegate.contracts.verification.facts import Facts

_LOOSER: Final[dict[str, tuple[str, Callable[[Decimal, Decimal], bool]]]] = {
    "max_latency_ms": ("maxLatencyMs", lambda was, now: now > was),
    "latency_quantile": ("latencyQuantile", lambda was, now: now < was),
    "min_success_rate": ("minSuccessRate", lambda was, now: now < was),
    "max_fallback_rate": ("maxFallbackRate", lambda was, now: now > was),
}
"""Field -> its name, and when the new promise is less."""


def changes(old: Facts, new: Facts) -> Iterator[Change]:
    """Of the workflow to its callers, of components to the workflow, of words."""
    yield from _sla(old.spec.contract.sla, new.spec.contract.sla, "spec.contract.sla", (CALLERS,))
    for number, component in enumerate(new.spec.components):
        before = old.components.get(component.name)
        if before is not None:
            yield from _sla(before.sla, component.sla, f"spec.components[{number}].sla", ())
    yield from _domains(old, new)


def _sla(old: Sla, new: Sla, path: str, consumers: tuple[str, ...]) -> Iterator[Change]:
    for field, (name, is_looser) in _LOOSER.items():
        was, now = getattr(old, field, None), getattr(new, field, None)
        if was == now:
            continue
        less = was is not None and (now is None or is_looser(Decimal(str(was)), Decimal(str(now))))
        severity = Severity.INFO if not less else Severity.ERROR if consumers else Severity.WARNING
        told = "nothing" if now is None else str(now)
        before = "nothing" if was is None else str(was)
        yield Change(
            diagnostic=Diagnostic(
                code="PromiseLoosened" if less else "PromiseTightened",
                severity=severity,
                path=f"{path}.{name}",
                message=f"{'promises less' if less else 'promises more'}: {before} → {told}",
                witness=f"{before} → {told}",
                hint="keep the promise until callers agreed to less"
                if less
                else "see that it can be kept before it is made",
            ),
            consumers=consumers if less else (),
        )


def _domains(old: Facts, new: Facts) -> Iterator[Change]:
    before = {domain.field: domain for domain in old.spec.contract.semantics}
    for number, domain in enumerate(new.spec.contract.semantics):
        was = before.pop(domain.field, None)
        if was is not None:
            yield from _domain(was, domain, f"spec.contract.semantics[{number}]", _users(new, domain.field))
    for field in before:
        yield _change(
            "DomainRemoved",
            Severity.WARNING,
            "spec.contract.semantics",
            f"nothing is said of the values of {field} any more",
            field,
        )


def _users(facts: Facts, field: str) -> tuple[str, ...]:
    """Who is touched: callers where it is their word, and the steps that read the field."""
    path = tuple(field.replace("[*]", "").split("."))
    found = [CALLERS] if path[0] == "input" else []
    readers = [
        use
        for use in facts.uses
        if use.compiled and any(_overlap(one, path) for one in use.compiled.references)
    ]
    found += [CALLERS if use.step is None else f"steps.{facts.steps[use.step].name}" for use in readers]
    return tuple(dict.fromkeys(found))


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one path leads to or through the other."""
    return all(left == right for left, right in zip(one, other, strict=False))


def _domain(old: SemanticDomain, new: SemanticDomain, path: str, users: tuple[str, ...]) -> Iterator[Change]:
    was, now = _spellings(old), _spellings(new)
    words = [item.value for item in new.values]
    for spelling, value in was.items():
        if spelling not in now:
            near = closest(spelling, [word for word in words if normalised(word) not in was])
            yield _change(
                "MeaningRemoved", Severity.ERROR, f"{path}.values", f'"{spelling}" is no known value any more (it meant {value})', spelling,
                f"did it become {near}? Keep the old spelling as an alias" if near else "keep it as an alias of what it means now", users,
            )  # fmt: skip
        elif now[spelling] != value:
            moved = value in words
            yield _change(
                "MeaningChanged", Severity.ERROR, f"{path}.values", f'"{spelling}" meant {value} and means {now[spelling]} now', spelling,
                "take a new spelling for a new meaning" if moved else f"let {value} stay a value until nobody reads it", users,
            )  # fmt: skip
    for word in words:
        if normalised(word) not in was:
            yield _change(
                "MeaningAdded",
                Severity.INFO,
                f"{path}.values",
                f"{word} is new: who reads the field must know it",
                word,
            )
    if (old.on_unknown, old.map_to) != (new.on_unknown, new.map_to):
        stricter = new.on_unknown == "Fail" and old.on_unknown != "Fail"
        told = f"{_unknown(old)} → {_unknown(new)}"
        yield _change(
            "UnknownValuesChanged", Severity.ERROR if stricter else Severity.WARNING, f"{path}.onUnknown",
            f"unknown values are treated in another way: {told}", told, "callers and steps see other answers for them", users if stricter else (),
        )  # fmt: skip


def _spellings(domain: SemanticDomain) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in domain.values:
        for spelling in (item.value, *item.aliases):
            found.setdefault(normalised(spelling), item.value)
    return found


def _unknown(domain: SemanticDomain) -> str:
    return f"{domain.on_unknown} to {domain.map_to}" if domain.map_to else str(domain.on_unknown)


def _change(  # noqa: PLR0913, PLR0917 - a row of a table
    code: str,
    severity: Severity,
    path: str,
    message: str,
    witness: Any,
    hint: str | None = None,
    consumers: tuple[str, ...] = (),
) -> Change:
    return Change(
        diagnostic=Diagnostic(
            code=code, severity=severity, path=path, message=message, witness=str(witness), hint=hint
        ),
        consumers=consumers,
    )
