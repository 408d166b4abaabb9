"""Names are unique where they are looked up by name."""

import re
from collections.abc import Iterable, Iterator, Sequence

from sluicegate.contracts.domains import normalised
from sluicegate.contracts.errors import Problem
from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.contracts.verification.facts import Facts

_SHORT = re.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def workflow_name(facts: Facts) -> Iterator[Problem]:
    """Revisions, rollouts, plans and labels carry the workflow's name."""
    if not _SHORT.fullmatch(facts.name):
        yield Problem(
            path="metadata.name",
            message="becomes a label and a part of other names",
            value=shown(facts.name),
            allowed="at most 63 lower-case letters, digits and -",
            hint="use - instead of a dot" if "." in facts.name else "shorten it",
        )


def duplicates(facts: Facts) -> Iterator[Problem]:
    """Components, steps, stages, gates and semantic fields are each named once."""
    spec = facts.spec
    yield from _twice([item.name for item in spec.components], "spec.components[{}].name", "component")
    yield from _twice([item.name for item in spec.steps], "spec.steps[{}].name", "step")
    yield from _twice([item.name for item in spec.rollout.stages], "spec.rollout.stages[{}].name", "stage")
    for number, stage in enumerate(spec.rollout.stages):
        form = f"spec.rollout.stages[{number}].gates[{{}}].name"
        yield from _twice([gate.name for gate in stage.gates or ()], form, "gate")
    fields = [domain.field for domain in spec.contract.semantics]
    yield from _twice(fields, "spec.contract.semantics[{}].field", "semantic field")


def _twice(names: Sequence[str], form: str, what: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if first.setdefault(name, number) == number:
            continue
        yield Problem(
            path=form.format(number),
            message=f"another {what} has this name, at {form.format(first[name])}",
            value=shown(name),
            allowed=f"a {what} name that is used once",
            hint="rename or remove one of the two",
        )


def semantic_values(facts: Facts) -> Iterator[Problem]:
    """Within a domain no spelling stands for two values."""
    for number, domain in enumerate(facts.spec.contract.semantics):
        owner: dict[str, str] = {}
        for place, item in enumerate(domain.values):
            path = f"spec.contract.semantics[{number}].values[{place}]"
            for spelling in (item.value, *item.aliases):
                known = owner.setdefault(normalised(spelling), item.value)
                if known != item.value or (
                    spelling is item.value and place > _place_of(domain.values, item.value)
                ):
                    yield Problem(
                        path=path,
                        message=f"a spelling of this value already stands for {known}",
                        value=shown(spelling),
                        allowed="spellings that differ in more than case",
                        hint="remove it from one of the two",
                    )


def _place_of(values: Iterable[object], value: str) -> int:
    return next(place for place, item in enumerate(values) if getattr(item, "value", None) == value)


def retrained_components(facts: Facts) -> Iterator[Problem]:
    """Retraining names a component of this workflow."""
    for number, trigger in enumerate(facts.spec.retraining):
        if trigger.component not in facts.components:
            yield Problem(
                path=f"spec.retraining[{number}].component",
                message="unknown component",
                value=shown(trigger.component),
                allowed=listed(facts.components),
                hint=did_you_mean(trigger.component, facts.components) or "name a component of this workflow",
            )


CHECKS = (workflow_name, duplicates, semantic_values, retrained_components)
