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
Make = Callable[[RuleSetBody], RuleSet | str | None]
"""The rule set, why it cannot be used, or None: later."""


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
    """All plans of a worker. Runs in flight go on with theirs when one changes.

    served: the versions to acknowledge; is_news: they, or `broken`, are not as they were acknowledged. credentials: folder of
    the files that hold what `secretKeyRef` names; None: there is none. spoilt: rule sets that cannot be used, by workflow and
    name, with the reason: the last good one answers in their place, if there was one. So are drills. waiting: rule sets
    that are not compiled yet; defers: they are left to whoever calls `fill`.
    """

    by_key: dict[WorkflowKey, LivePlan] = field(default_factory=dict)
    by_path: dict[str, LivePlan] = field(default_factory=dict)
    served: dict[WorkflowKey, int] = field(default_factory=dict)
    is_news: bool = True
    spoilt: dict[tuple[WorkflowKey, str], str] = field(default_factory=dict)
    waiting: dict[tuple[WorkflowKey, str], RuleSetBody] = field(default_factory=dict)
    defers: bool = False
    credentials: Path | None = None
    _broken: dict[WorkflowKey, Broken] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[Broken, ...]:
        """Plans that cannot be served; what was served before goes on."""
        return tuple(self._broken.values())

    def update(self, plans: Iterable[RoutePlan]) -> dict[WorkflowKey, int]:
        """Take these plans, and no other. Gives the versions that are now served."""
        plans = tuple(plans)
        kept = {WorkflowKey(plan.namespace, plan.workflow) for plan in plans}
        self.change(plans, (self.by_key.keys() | self._broken.keys()) - kept)
        return self.served

    def change(self, plans: Iterable[RoutePlan], gone: Iterable[WorkflowKey] = ()) -> None:
        """Take these plans and drop those; all others stay, and cost nothing."""
        make = _later if self.defers else Tables().made
        for key in gone:
            self._drop(key)
        for plan in plans:
            key = WorkflowKey(plan.namespace, plan.workflow)
            held = self.by_key.get(key)
            if held is not None and held.plan is plan and key not in self._broken:
                continue
            try:
                self._take(key, plan, held, make)
            except Exception as error:  # noqa: BLE001 - one workflow's plan; the others are served
                reason = str(error) if isinstance(error, Refused | ValidationError) else repr(error)
                self._broken[key], self.is_news = Broken(key, plan.version, reason), True
                self.served.pop(key, None)

    def _take(self, key: WorkflowKey, plan: RoutePlan, held: LivePlan | None, make: Make) -> None:
        live = _live(plan, partial(_program, key, _programs_of(held), self.credentials))
        rules, bad, late = _rules(plan, {} if held is None else held.rules, make)
        drills, why = drills_of(plan)
        bad |= {} if why is None else {DRILL: why}
        self._settle(key, held)
        live = replace(live, rules=rules, drills=drills)
        self.by_key[key] = live
        self.by_path |= dict.fromkeys(_paths(key), live)
        self.spoilt |= {(key, name): why for name, why in bad.items()}
        self.waiting |= {(key, body.name): body for body in late}
        was_broken = self._broken.pop(key, None) is not None
        self.is_news |= was_broken or self.served.get(key) != plan.version
        self.served[key] = plan.version

    def _drop(self, key: WorkflowKey) -> None:
        self._settle(key, self.by_key.pop(key, None))
        for path in _paths(key):
            self.by_path.pop(path, None)
        self.served.pop(key, None)
        self._broken.pop(key, None)
        self.is_news = True

    def _settle(self, key: WorkflowKey, held: LivePlan | None) -> None:
        """What was said of this plan's rule sets and drills holds no more."""
        for name in (DRILL, *(body.name for body in held.plan.rule_sets)) if held is not None else ():
            self.spoilt.pop((key, name), None)
            self.waiting.pop((key, name), None)

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
    plan: RoutePlan, before: Mapping[str, RuleSet], make: Make
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


def _programs_of(live: LivePlan | None) -> dict[str, Program]:
    """By revision."""
    held = () if live is None else (live.stable, live.candidate)
    return {program.body.name: program for program in held if program is not None}


def _program(
    key: WorkflowKey, known: Mapping[str, Program], credentials: Path | None, body: RevisionBody
) -> Program:
    found = known.get(body.name)
    # The digest leaves out what runs do not depend on (redaction, for one), so the whole body is compared.
    if found is None or found.body != body:
        found = compile_program(key.namespace, key.workflow, body, credentials)
    return found
