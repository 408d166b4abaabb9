"""The plans in force: compiled once per revision, found by the path of a request."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.routes import RevisionBody, RoutePlan, TrafficMode
from sluicegate.gateway.ablation import players_of, version_players_of
from sluicegate.gateway.business import RuleSet, rule_set_of
from sluicegate.gateway.engine.program import Program, compile_program
from sluicegate.gateway.plan_table import Broken, WorkflowKey

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePlan:
    """A plan and its programs. lease_until_ms: Unix milliseconds; infinite for a plan without a lease.

    players: the candidate's components that can be ablated; changed: those that can take stable's version. rules: by name.
    """

    plan: RoutePlan
    stable: Program
    candidate: Program | None
    lease_until_ms: float
    players: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    rules: Mapping[str, RuleSet] = field(default_factory=dict)

    def is_leased(self, now_ms: float) -> bool:
        """Whether the candidate may still get traffic."""
        return now_ms < self.lease_until_ms


@dataclass(slots=True)
class PlanBook:
    """All plans of a worker. `update` replaces them at once; runs in flight go on with theirs.

    credentials: folder of the files that hold what `secretKeyRef` names; None: there is none. spoilt: rule sets that cannot
    be used, by workflow and name, with the reason: the last good one answers in their place, if there was one.
    """

    by_key: dict[WorkflowKey, LivePlan] = field(default_factory=dict)
    by_path: dict[str, LivePlan] = field(default_factory=dict)
    broken: tuple[Broken, ...] = ()
    spoilt: Mapping[tuple[WorkflowKey, str], str] = field(default_factory=dict)
    credentials: Path | None = None
    _programs: dict[tuple[WorkflowKey, str], Program] = field(default_factory=dict)

    def update(self, plans: Iterable[RoutePlan]) -> dict[WorkflowKey, int]:
        """Take these plans, and no other. Gives the versions that are now served, for the acknowledgement."""
        old, programs = self.by_key, self._programs
        by_key: dict[WorkflowKey, LivePlan] = {}
        fresh: dict[tuple[WorkflowKey, str], Program] = {}
        broken: list[Broken] = []
        served: dict[WorkflowKey, int] = {}
        spoilt: dict[tuple[WorkflowKey, str], str] = {}
        for plan in plans:
            key = WorkflowKey(plan.namespace, plan.workflow)
            held = old.get(key)
            if held is not None and held.plan is plan:
                by_key[key], served[key] = held, plan.version
                _keep(key, held, fresh)
                spoilt |= {name: why for name, why in self.spoilt.items() if name[0] == key}
                continue
            try:
                live = _live(plan, partial(_program, key, programs, fresh, self.credentials))
                rules, bad = _rules(plan, {} if held is None else held.rules)
                by_key[key], served[key] = replace(live, rules=rules), plan.version
                spoilt |= {(key, name): why for name, why in bad.items()}
            except Exception as error:  # noqa: BLE001 - one workflow's plan; the others are served
                reason = str(error) if isinstance(error, Refused | ValidationError) else repr(error)
                broken.append(Broken(key, plan.version, reason))
                if key in old:
                    by_key[key] = old[key]
                    _keep(key, old[key], fresh)
        self.by_key, self._programs, self.broken, self.spoilt = by_key, fresh, tuple(broken), spoilt
        self.by_path = {path: live for key, live in by_key.items() for path in _paths(key)}
        return served


@lru_cache(maxsize=16_384)
def _paths(key: WorkflowKey) -> tuple[str, ...]:
    return paths_of(key)


def paths_of(key: WorkflowKey) -> tuple[str, ...]:
    """Request paths of a workflow."""
    workflow = quote(key.workflow, safe="")
    full = f"/v1/namespaces/{quote(key.namespace, safe='')}/workflows/{workflow}/runs"
    return (full, f"/v1/workflows/{workflow}/runs") if key.namespace == DEFAULT_NAMESPACE else (full,)


def _live(plan: RoutePlan, program: Callable[[RevisionBody], Program]) -> LivePlan:
    stable = program(plan.stable)
    candidate = program(plan.candidate) if plan.candidate is not None else None
    if plan.mode is TrafficMode.STABLE_ONLY:
        return LivePlan(plan=plan, stable=stable, candidate=candidate, lease_until_ms=float("inf"))
    return LivePlan(
        plan=plan,
        stable=stable,
        candidate=candidate,
        lease_until_ms=_milliseconds(plan.lease_until),
        players=_players(plan, candidate, stable),
        changed=()
        if candidate is None or not plan.versions.numerator
        else version_players_of(candidate, stable),
    )


def _rules(plan: RoutePlan, before: Mapping[str, RuleSet]) -> tuple[dict[str, RuleSet], dict[str, str]]:
    """The plan's rule sets, and why some cannot be used: then the one of that name from `before` goes on."""
    found: dict[str, RuleSet] = {}
    spoilt: dict[str, str] = {}
    for body in plan.rule_sets:
        known = before.get(body.name)
        made = known if known is not None and known.body == body else rule_set_of(body)
        if isinstance(made, RuleSet):
            found[body.name] = made
            continue
        spoilt[body.name] = made
        if known is not None:
            found[body.name] = known
    return found, spoilt


def _players(plan: RoutePlan, candidate: Program | None, stable: Program) -> tuple[str, ...]:
    if candidate is None or not plan.ablation.numerator:
        return ()
    return players_of(candidate, stable, both=plan.ablates_stable)


def _milliseconds(at: datetime | None) -> float:
    return float("inf") if at is None else at.timestamp() * 1000.0


def _program(
    key: WorkflowKey,
    known: dict[tuple[WorkflowKey, str], Program],
    fresh: dict[tuple[WorkflowKey, str], Program],
    credentials: Path | None,
    body: RevisionBody,
) -> Program:
    name = (key, body.name)
    found = known.get(name)
    # The digest leaves out what runs do not depend on (redaction, for one), so the whole body is compared.
    if found is None or found.body != body:
        found = compile_program(key.namespace, key.workflow, body, credentials)
    fresh[name] = found
    return found


def _keep(key: WorkflowKey, live: LivePlan, fresh: dict[tuple[WorkflowKey, str], Program]) -> None:
    for program in (live.stable, live.candidate):
        if program is not None:
            fresh[(key, program.body.name)] = program
