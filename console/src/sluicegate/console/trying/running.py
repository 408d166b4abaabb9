"""From options to a plan, and from answers to a subject of the report."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sluicegate.console.contracting import samples
from sluicegate.console.contracting.report import Finding, Subject
from sluicegate.console.contracting.samples import Sample
from sluicegate.console.trying import calling
from sluicegate.console.trying.cases import ALIAS, MADE, RECORDED, Case, Wanted, cases
from sluicegate.console.trying.codes import NOTHING
from sluicegate.console.trying.judging import Told, judge
from sluicegate.contracts.compiled import compile_workflow
from sluicegate.contracts.diagnostics import Diagnostic, Severity
from sluicegate.contracts.errors import Problem, Refused
from sluicegate.contracts.resources import AgentWorkflow
from sluicegate.contracts.resources.workflow import Component, SideEffects
from sluicegate.contracts.second_opinion import SecondOpinion, second_opinion
from sluicegate.contracts.suggestions import did_you_mean, listed, shown
from sluicegate.gateway.protocols.base import ComponentProtocol

CHECK = "calls"
_MOST_TOLD = 20
"""Findings of one code and component."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """As given. urls: ``COMPONENT=URL``."""

    components: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    recorded: tuple[Path, ...] = ()
    most: int = 20
    ask: str | None = None
    live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is sent. before: findings that need no call."""

    workflow: AgentWorkflow
    cases: tuple[Case, ...]
    protocols: Mapping[str, ComponentProtocol]
    before: tuple[Diagnostic, ...]
    notes: tuple[str, ...]

    @property
    def counts(self) -> tuple[tuple[str, int], ...]:
        """Calls by where their input comes from."""
        return tuple(
            (origin, sum(one.origin == origin for one in self.cases)) for origin in (RECORDED, MADE, ALIAS)
        )


def plan(workflow: AgentWorkflow, options: Options) -> Plan:
    """Raises Refused with everything that is wrong with the options, the workflow and the files."""
    components = {one.name: one for one in workflow.spec.components}
    problems = list(_unknown(options.components, components, "--component"))
    urls = dict(_urls(options.urls, components, problems))
    recorded = _recorded(options.recorded, problems)
    if problems:
        raise Refused(tuple(problems))
    chosen = {
        name: one for name, one in components.items() if not options.components or name in options.components
    }
    kept = {
        name: one for name, one in chosen.items() if options.live or one.side_effects is not SideEffects.LIVE
    }
    left = sorted(chosen.keys() - kept.keys())
    wanted = Wanted(components=tuple(kept), most=options.most, ask=options.ask)
    found, before = cases(compile_workflow(workflow.spec), recorded, wanted) if kept else ((), ())
    said = f"{listed(left)}: not called, sideEffects are Live; --live calls them"
    if not found and not before:
        before = (
            Diagnostic(
                code=NOTHING, severity=Severity.ERROR, path="spec.components", message=said, hint="--live"
            ),
        )
    return Plan(
        workflow=workflow,
        cases=found,
        protocols=calling.protocols_of(kept, urls),
        before=before,
        notes=(said,) if left else (),
    )


def subject(plan: Plan, told: Sequence[Told], source: str) -> Subject:
    """All findings of the workflow, each once."""
    places = {one.name: number for number, one in enumerate(plan.workflow.spec.components)}
    seconds = _seconds(plan.workflow)
    name = f"AgentWorkflow/{plan.workflow.metadata.name}"
    found = dict.fromkeys(plan.before)
    counted: dict[tuple[str, str], int] = {}
    for case, answer in zip(plan.cases, told, strict=True):
        path = f"spec.components[{places[case.component.name]}]"
        for diagnostic in judge(case, answer, seconds.get(case.component.name), path):
            key = (diagnostic.code, case.component.name)
            counted[key] = counted.get(key, 0) + 1
            if counted[key] <= _MOST_TOLD:
                found.setdefault(diagnostic)
    return Subject(
        name=name,
        source=source,
        checks=(CHECK,),
        findings=tuple(
            Finding(diagnostic=replace(one, subject=name, source=one.source or source), check=CHECK)
            for one in found
        ),
        facts={"calls": dict(plan.counts), "validators": 2 if seconds else 1},
    )


def _seconds(workflow: AgentWorkflow) -> dict[str, SecondOpinion]:
    """By component; none without the extra `ci`."""
    if importlib.util.find_spec("jsonschema") is None:
        return {}
    return {
        one.name: second_opinion(one.contract.output, f"spec.components[{number}].contract.output")
        for number, one in enumerate(workflow.spec.components)
    }


def _unknown(names: Sequence[str], components: Mapping[str, Component], option: str) -> Iterator[Problem]:
    for name in names:
        if name not in components:
            yield Problem(
                path=option,
                message="there is no such component",
                value=shown(name),
                allowed=listed(components),
                hint=did_you_mean(name, components),
            )


def _urls(
    given: Sequence[str], components: Mapping[str, Component], problems: list[Problem]
) -> Iterator[tuple[str, str]]:
    for text in given:
        name, sign, url = text.partition("=")
        if not sign or not url.startswith(("http://", "https://")):
            problems.append(
                Problem(
                    path="--url",
                    message="is not COMPONENT=URL",
                    value=shown(text),
                    hint="planner=http://127.0.0.1:9000",
                )
            )
            continue
        problems += _unknown((name,), components, "--url")
        yield name, url


def _recorded(paths: Sequence[Path], problems: list[Problem]) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for path in paths:
        try:
            for sample in samples.read(path):
                found.setdefault(sample.component, []).append(sample)
        except Refused as error:
            problems += error.problems
    return found
