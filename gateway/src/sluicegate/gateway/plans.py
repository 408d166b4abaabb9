"""The plans in force: compiled once per revision, found by the path of a request."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from urllib.parse import quote

from pydantic import ValidationError

from sluicegate.contracts.errors import Refused
from sluicegate.contracts.routes import RevisionBody, RoutePlan, RuleSetBody, TrafficMode
from sluicegate.gateway.ablation import players_of, version_players_of
from sluicegate.gateway.business import RuleSet, rule_set_of
from sluicegate.gateway.drills import Drills, drills_of
from sluicegate.gateway.engine.program import Program, compile_program
from sluicegate.gateway.plan_table import Broken, WorkflowKey

DEFAULT_NAMESPACE = "default"
DRILL = "(drill)"
"""No rule set has this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LivePlan:
    """A plan and its programs. lease_until_ms: Unix milliseconds; infinite for a plan without a lease.

    players: the candidate's components that can be ablated; changed: those that can take stable's version. rules: by name. drills: of them.
    """

    plan: RoutePlan
    stable: Program
    candidate: Program | None
    lease_until_ms: float
    players: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    rules: Mapping[str, RuleSet] = field(default_factory=dict)
    drills: Drills | None = None

    def is_leased(self, now_ms: float) -> bool:
        """Whether the candidate may still get traffic."""
        return now_ms < self.lease_until_ms


@dataclass(slots=True)
class PlanBook:
    """All plans of a worker. `update` replaces them at once; runs in flight go on with theirs.

    credentials: folder of the files that hold what `secretKeyRef` names; None: there is none. spoilt: rule sets that cannot
    be used, by workflow and name, with the reason: the last good one answers in their place, if there was one. So are drills.
    waiting: rule sets that are not compiled yet; defers: `update` leaves them to whoever calls `fill`.
    """

    by_key: dict[WorkflowKey, LivePlan] = field(default_factory=dict)
    by_path: dict[str, LivePlan] = field(default_factory=dict)
    broken: tuple[Broken, ...] = ()
    spoilt: dict[tuple[WorkflowKey, str], str] = field(default_factory=dict)
    waiting: dict[tuple[WorkflowKey, str], RuleSetBody] = field(default_factory=dict)
    defers: bool = False
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
        waiting: dict[tuple[WorkflowKey, str], RuleSetBody] = {}
        make = _later if self.defers else Tables().made
        for plan in plans:
            key = WorkflowKey(plan.namespace, plan.workflow)
            held = old.get(key)
            if held is not None and held.plan is plan:
                by_key[key], served[key] = held, plan.version
                _keep(key, held, fresh)
                spoilt |= {name: why for name, why in self.spoilt.items() if name[0] == key}
                waiting |= {name: body for name, body in self.waiting.items() if name[0] == key}
                continue
            try:
                live = _live(plan, partial(_program, key, programs, fresh, self.credentials))
                rules, bad, late = _rules(plan, {} if held is None else held.rules, make)
                drills, why = drills_of(plan)
                bad |= {} if why is None else {DRILL: why}
                by_key[key], served[key] = replace(live, rules=rules, drills=drills), plan.version
                spoilt |= {(key, name): why for name, why in bad.items()}
                waiting |= {(key, body.name): body for body in late}
            except Exception as error:  # noqa: BLE001 - one workflow's plan; the others are served
                reason = str(error) if isinstance(error, Refused | ValidationError) else repr(error)
                broken.append(Broken(key, plan.version, reason))
                if key in old:
                    by_key[key] = old[key]
                    _keep(key, old[key], fresh)
                    waiting |= {name: body for name, body in self.waiting.items() if name[0] == key}
        self.by_key, self._programs, self.broken = by_key, fresh, tuple(broken)
        self.spoilt, self.waiting = spoilt, waiting
        self.by_path = {path: live for key, live in by_key.items() for path in _paths(key)}
        return served

    def fill(self, wanted: RuleSetBody, made: RuleSet | str) -> None:
        """What one of `waiting` came to, for each plan that waits for the same table."""
        for (key, name), body in list(self.waiting.items()):
            if table_of(body) != table_of(wanted):
                continue
            del self.waiting[key, name]
            if isinstance(made, str):
                self.spoilt[key, name] = made
                continue
            live = self.by_key[key]
            live = replace(live, rules={**live.rules, name: replace(made, body=body)})
            self.by_key[key] = live
            self.by_path |= dict.fromkeys(_paths(key), live)


@dataclass(slots=True)
class Tables:
    """Compiles each table once, however many plans name it."""

    _made: dict[tuple[str, str, str], RuleSet | str] = field(default_factory=dict)

    def made(self, body: RuleSetBody) -> RuleSet | str:
        """The rule set, or why it cannot be used."""
        table = table_of(body)
        if table not in self._made:
            self._made[table] = compiled(body)
        found = self._made[table]
        return found if isinstance(found, str) else replace(found, body=body)


def table_of(body: RuleSetBody) -> tuple[str, str, str]:
    """What tells tables apart: the digest is of all that an answer depends on."""
    return body.name, body.version, body.digest


def compiled(body: RuleSetBody) -> RuleSet | str:
    """The rule set, or why it cannot be used. Never raises; tens of milliseconds for a large table."""
    try:
        return rule_set_of(body)
    except Exception as error:  # noqa: BLE001 - one rule set; its workflow is served without it
        return repr(error)


def _later(_body: RuleSetBody) -> None:
    """Whoever gave the plans compiles it, in a thread, and calls `fill`."""


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


def _rules(
    plan: RoutePlan, before: Mapping[str, RuleSet], make: Callable[[RuleSetBody], RuleSet | str | None]
) -> tuple[dict[str, RuleSet], dict[str, str], list[RuleSetBody]]:
    """The plan's rule sets, why some cannot be used, and which are still to be made: for both the one of that name from
    `before` goes on.
    """
    found: dict[str, RuleSet] = {}
    spoilt: dict[str, str] = {}
    late: list[RuleSetBody] = []
    for body in plan.rule_sets:
        known = before.get(body.name)
        is_known = known is not None and table_of(known.body) == table_of(body)
        made = replace(known, body=body) if known is not None and is_known else make(body)
        if isinstance(made, RuleSet):
            found[body.name] = made
        elif known is not None:
            found[body.name] = known
        if made is None:
            late.append(body)
        elif isinstance(made, str):
            spoilt[body.name] = made
    return found, spoilt, late


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
